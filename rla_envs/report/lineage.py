"""What the curriculum decided, read from a run's curriculum.sqlite."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rla_envs.errors import RunError


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """An accepted rewrite, or one that was taken back.

    Attributes:
        kind: "accepted", "restored" (an earlier task of the lineage, after a trial) or
            "rolled_back" (the parent, without one).
        ground: The rule's reason, e.g. "evidence" or "too hard".
        policy_version: Weights under which it was decided.
        root: Id of the lineage's root.
        direction: "harder" or "easier"; None when not recorded.
        transform: What the rewriter did.
        why: The rewriter's reason: what part of the error summary it answers.
        old: Instruction and plan length before.
        new: Instruction and plan length after.
        numbers: What the decision rests on (won and played episodes of both sides, e-value, ...).
    """

    kind: Literal["accepted", "restored", "rolled_back"]
    ground: str
    policy_version: int
    root: str
    direction: str | None
    transform: str | None
    why: str | None
    old: tuple[str, float | None]
    new: tuple[str, float | None]
    numbers: Mapping[str, float]


_CHANGES = """
SELECT d.kind, d.policy_version, d.numbers, d.reason AS ground,
       d.trial_kind, new.root_id AS root, coalesce(trial.direction, new.direction) AS direction,
       new.transform, new.reason AS why,
       old.data AS old, new.data AS new
FROM decisions d
JOIN tasks new ON new.id = d.task_id
LEFT JOIN trials trial ON trial.id = d.trial_id
LEFT JOIN tasks old ON old.id = coalesce(trial.old_id, new.parent_id)
WHERE d.kind IN ('accepted', 'rolled_back') AND coalesce(d.trial_kind, '') != 'null'
ORDER BY d.id
"""


def changes(archive: Path) -> list[Change]:
    """Return the accepted and the rolled-back rewrites in the order of decision; [] without a file.

    Raises:
        RunError: the file is not a curriculum of this version.
    """
    if not archive.exists():
        return []
    # Opened for reading only; a running loop may be writing to it.
    uri = f"{archive.resolve().as_uri()}?mode=ro"
    try:
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as database:
            database.row_factory = sqlite3.Row
            return [_change(dict(row)) for row in database.execute(_CHANGES)]
    except (sqlite3.DatabaseError, ValueError) as error:
        raise RunError(f"{archive} is not a curriculum of this version: {error}") from error


def _change(row: dict[str, Any]) -> Change:
    numbers: dict[str, Any] = json.loads(row["numbers"])
    old, new = _task(row["old"]), _task(row["new"])
    kind = "restored" if row["trial_kind"] == "restore" else row["kind"]
    if kind == "rolled_back":
        # The decision names the rewrite that is given up; its parent is served instead.
        old, new = new, old
        wins, losses = numbers.pop("wins", None), numbers.pop("losses", None)
        if wins is not None and losses is not None:
            numbers |= {"old_wins": wins, "old_n": wins + losses}
    return Change(
        kind=kind,
        ground=row["ground"],
        policy_version=row["policy_version"],
        root=row["root"],
        direction=row["direction"],
        transform=row["transform"],
        why=row["why"],
        old=old,
        new=new,
        numbers={name: value for name, value in numbers.items() if value is not None},
    )


def _task(data: str | None) -> tuple[str, float | None]:
    if data is None:
        return "", None
    task = json.loads(data)
    return task["instruction"], task.get("difficulty")
