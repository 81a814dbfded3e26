"""Task sets by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from rla_envs.errors import TaskUnavailable
from rla_envs.types import Task

_LOADERS: Mapping[str, str] = {
    "alfworld/generated": "rla_task_sets.alfworld.generated:generate",
    "alfworld/official": "rla_task_sets.alfworld.official:load_official",
    "coding/apps": "rla_task_sets.coding.contests:load_apps",
    "coding/codecontests": "rla_task_sets.coding.contests:load_codecontests",
    "coding/generated": "rla_task_sets.coding.generated:generate",
    "coding/humaneval": "rla_task_sets.coding.functions:load_humaneval",
    "coding/livebench": "rla_task_sets.coding.contests:load_livebench",
    "coding/livecodebench": "rla_task_sets.coding.contests:load_livecodebench",
    "coding/local": "rla_task_sets.coding.writing:load_problems",
    "coding/mbpp": "rla_task_sets.coding.functions:load_mbpp",
    "coding/quixbugs": "rla_task_sets.coding.functions:load_quixbugs",
    "osworld/generated": "rla_task_sets.osworld.generated:generate",
    "osworld/official": "rla_task_sets.osworld.official:load_official",
}
"""Name -> "module:function", imported when first asked for."""


def names() -> list[str]:
    """Return the names of all task sets."""
    return sorted(_LOADERS)


def load(name: str, **options: Any) -> Sequence[Task]:
    """Return a task set.

    Args:
        name: One of ``names()``.
        **options: Those of the set: "alfworld/generated" takes n, seed, split, size and task_types
            (see ``alfworld.generate``), "alfworld/official" takes root and split (see
            ``alfworld.OfficialTasks``), "coding/generated" takes n, seed, split, size and kinds
            (see ``coding.generated.generate``), the other coding sets take root and split.

    Raises:
        TaskUnavailable: there is no such set, or its data cannot be found.
        ConfigError: an option is out of range.
    """
    if name not in _LOADERS:
        raise TaskUnavailable(f"no task set {name!r}; there are {', '.join(names())}")
    module, _, function = _LOADERS[name].partition(":")
    loader: Callable[..., Sequence[Task]] = getattr(import_module(module), function)
    return loader(**options)
