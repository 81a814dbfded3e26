"""Desktop tasks: OSWorld's own, and ours from a seed."""

from __future__ import annotations

from rla_task_sets.osworld.assets import Assets
from rla_task_sets.osworld.generated import expert_actions, generate
from rla_task_sets.osworld.official import load_official, read_task

__all__ = ["Assets", "expert_actions", "generate", "load_official", "read_task"]
