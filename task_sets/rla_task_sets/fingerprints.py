"""When two tasks are the same problem."""

from __future__ import annotations

import json
from hashlib import blake2b

from rla_envs.types import Task

BOOKKEEPING = frozenset({"edits", "walkthrough"})
"""Payload keys that say where a task comes from or how to solve it, not what it is."""


def fingerprint(task: Task) -> str:
    """Return 32 hex digits that depend on domain, instruction and payload, not on ids."""
    content = {key: value for key, value in task.payload.items() if key not in BOOKKEEPING}
    text = json.dumps([task.domain, task.instruction, content], sort_keys=True, default=str)
    return blake2b(text.encode(), digest_size=16).hexdigest()
