"""OSWorld's own task files, loaded unchanged."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, cast

from rla_verifiers.osworld import unsupported

from rla_envs.errors import ConfigError, TaskError, TaskUnavailable
from rla_envs.types import Task

MANIFEST = "MANIFEST.json"

STEPS = frozenset(
    {
        "download",
        "launch",
        "open",
        "execute",
        "execute_with_verification",
        "command",
        "activate_window",
        "close_window",
        "chrome_open_tabs",
        "sleep",
        "write_file",
    }
)
"""Setup steps that can be carried out without accounts on the internet."""


def load_official(
    *,
    root: str | os.PathLike[str] | None = None,
    apps: Collection[str] | None = None,
    tiers: Collection[str] | None = None,
    split: str = "test",
) -> list[Task]:
    """Return OSWorld's tasks, sorted by application and id.

    Args:
        root: Folder with one folder an application and one JSON file a task (OSWorld's
            ``evaluation_examples/examples``); ``$OSWORLD_DATA`` when None.
        apps: Only these applications (folder names); all when None.
        tiers: Only tasks of these tiers, where the folder has a MANIFEST.json that gives tiers.
        split: OSWorld has one, "test".

    Raises:
        TaskUnavailable: there is no such folder or no task in it.
        TaskError: a file is malformed.
        ConfigError: tiers are asked for and there is no manifest, or there is no such split.
    """
    if split != "test":
        raise ConfigError(f'OSWorld has the split "test" only, got {split!r}')
    given = root if root is not None else os.environ.get("OSWORLD_DATA")
    if not given:
        raise TaskUnavailable(
            "no folder of OSWorld's task files: give root= (or set OSWORLD_DATA) to its "
            "evaluation_examples/examples"
        )
    folder = Path(given).expanduser()
    wanted = None if tiers is None else _of_tiers(folder, tiers)
    paths = [
        path
        for path in sorted(folder.glob("*/*.json"))
        if (apps is None or path.parent.name in apps) and (wanted is None or path.stem in wanted)
    ]
    if not paths:
        raise TaskUnavailable(f"no task files <application>/<id>.json below {folder}")
    return [read_task(path) for path in paths]


def read_task(path: Path) -> Task:
    """Return the task in one of OSWorld's files; its payload is the file's content.

    Raises:
        TaskError: the file is no task.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        instruction, evaluator = data["instruction"], data["evaluator"]
        evaluator["func"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TaskError(f"{path} is no task of OSWorld: {type(error).__name__} {error}") from error
    return Task(
        id=f"{path.parent.name}/{data.get('id', path.stem)}",
        domain="osworld",
        instruction=instruction,
        payload={"config": [], **data},
    )


def missing_parts(task: Task) -> list[str]:
    """Return what of a task cannot be set up or scored here, e.g. ["step login"]."""
    steps = [*task.payload["config"], *postconfig(task)]
    unknown = [f"step {step['type']}" for step in steps if step["type"] not in STEPS]
    return list(dict.fromkeys([*unknown, *unsupported(task.payload["evaluator"])]))


def postconfig(task: Task) -> Sequence[dict[str, Any]]:
    """Return the steps that run between the last action and the scoring."""
    return task.payload["evaluator"].get("postconfig") or ()


def _of_tiers(folder: Path, tiers: Collection[str]) -> set[str]:
    path = folder / MANIFEST
    if not path.is_file():
        raise ConfigError(f"tiers={sorted(tiers)} needs {path}, which does not exist; leave it out")
    manifest = cast(dict[str, list[dict[str, str]]], json.loads(path.read_text(encoding="utf-8")))
    return {entry["id"] for entry in manifest["tasks"] if entry["tier"] in tiers}
