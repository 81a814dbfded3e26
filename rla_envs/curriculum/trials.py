"""Trials: old and new task side by side, block after block, until the test decides."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

from rla_envs.curriculum import ledger
from rla_envs.curriculum.acceptance import Block, decide
from rla_envs.curriculum.config import CurriculumConfig, Tally
from rla_envs.curriculum.store import Store
from rla_envs.types import Direction, Rewrite, Task


def open_trials(store: Store) -> list[sqlite3.Row]:
    """Return open trials, oldest first."""
    return store.rows("SELECT * FROM trials WHERE status = 'open' ORDER BY id")


def open_trial(
    store: Store,
    old: Task,
    new_id: str,
    *,
    kind: str,
    direction: Direction,
    trigger_accuracy: float | None,
    policy_version: int,
) -> int:
    """Start a trial of new_id against the served task old; return its number."""
    store.write("UPDATE slots SET trials = trials + 1 WHERE root_id = ?", old.root_id)
    return store.insert(
        "trials",
        kind=kind,
        root_id=old.root_id,
        old_id=old.id,
        new_id=new_id,
        direction=direction,
        status="open",
        trigger_accuracy=trigger_accuracy,
        opened_version=policy_version,
    )


def add_rewrite(store: Store, old: Task, rewrite: Rewrite, *, policy_version: int) -> Task:
    """Give a rewrite its id, parent and root and write it into the archive."""
    task = named(store, old, rewrite.task, "")
    ledger.add_candidate(
        store,
        task,
        status="trial",
        direction=rewrite.direction,
        transform=rewrite.transform,
        reason=rewrite.reason,
        policy_version=policy_version,
    )
    store.write("UPDATE slots SET rewrites = rewrites + 1 WHERE root_id = ?", old.root_id)
    return task


def add_null(store: Store, old: Task, direction: Direction, *, policy_version: int) -> Task:
    """Write a copy of old under another id into the archive."""
    task = named(store, old, old, "null")
    ledger.add_candidate(
        store,
        task,
        status="null",
        direction=direction,
        transform="null",
        reason="control",
        policy_version=policy_version,
    )
    store.write("UPDATE slots SET rewrites = rewrites + 1 WHERE root_id = ?", old.root_id)
    return task


def named(store: Store, old: Task, task: Task, prefix: str) -> Task:
    """Return task as the next rewrite of old's lineage: ``<root>~<number>``."""
    slot = store.row("SELECT rewrites FROM slots WHERE root_id = ?", old.root_id)
    assert slot is not None
    name = f"{old.root_id}~{prefix}{slot['rewrites'] + 1}"
    return replace(task, id=name, parent_id=old.id, root_id=old.root_id)


def add_outcomes(store: Store, task_id: str, wins: int, losses: int, policy_version: int) -> None:
    """Add outcomes to the open block of every open trial that task_id takes part in."""
    if not wins + losses:
        return
    trials = store.rows(
        "SELECT * FROM trials WHERE status = 'open' AND (old_id = ? OR new_id = ?)",
        task_id,
        task_id,
    )
    for trial in trials:
        side = "old" if trial["old_id"] == task_id else "new"
        number = _block_for(store, trial["id"], policy_version)
        store.write(
            f"UPDATE blocks SET {side}_wins = {side}_wins + ?, {side}_n = {side}_n + ? "
            "WHERE trial_id = ? AND number = ?",
            wins,
            wins + losses,
            trial["id"],
            number,
        )


def close_blocks(store: Store) -> None:
    """Close every open block that has outcomes on both sides.

    When a block closes depends on how many outcomes it has, never on which: that keeps the test
    valid.
    """
    store.write("UPDATE blocks SET closed = 1 WHERE old_n > 0 AND new_n > 0")


def closed_blocks(store: Store, trial_id: int) -> list[Block]:
    """Return a trial's evidence."""
    rows = store.rows(
        "SELECT old_wins, old_n, new_wins, new_n FROM blocks "
        "WHERE trial_id = ? AND closed ORDER BY number",
        trial_id,
    )
    return [Block(**dict(row)) for row in rows]


def settle(store: Store, config: CurriculumConfig, tally: Tally, policy_version: int) -> None:
    """Decide every open trial that has enough evidence."""
    for trial in open_trials(store):
        slot = store.row("SELECT active_id FROM slots WHERE root_id = ?", trial["root_id"])
        assert slot is not None
        if slot["active_id"] != trial["old_id"]:
            _reject(store, trial, "superseded", {}, tally, policy_version)
            continue
        decision = decide(
            closed_blocks(store, trial["id"]),
            direction=trial["direction"],
            band=config.band,
            config=config.acceptance,
            trigger_accuracy=trial["trigger_accuracy"],
        )
        if decision.verdict == "accept":
            _accept(store, trial, decision.reason, decision.numbers(), tally, policy_version)
        elif decision.verdict == "reject":
            _reject(store, trial, decision.reason, decision.numbers(), tally, policy_version)


def _accept(
    store: Store,
    trial: sqlite3.Row,
    reason: str,
    numbers: dict[str, float],
    tally: Tally,
    policy_version: int,
) -> None:
    store.write("UPDATE trials SET status = 'accepted' WHERE id = ?", trial["id"])
    store.record("accepted", trial["new_id"], reason, policy_version, trial=trial, numbers=numbers)
    if trial["kind"] != "null":
        ledger.activate(store, trial["new_id"])
        tally.accepted.append(trial["new_id"])


def _reject(
    store: Store,
    trial: sqlite3.Row,
    reason: str,
    numbers: dict[str, float],
    tally: Tally,
    policy_version: int,
) -> None:
    store.write("UPDATE trials SET status = 'rejected' WHERE id = ?", trial["id"])
    store.record("rejected", trial["new_id"], reason, policy_version, trial=trial, numbers=numbers)
    if trial["kind"] == "null":
        return
    # A parent that was tried again goes back to where it was.
    status = "archived" if trial["kind"] == "restore" else "rejected"
    store.write("UPDATE tasks SET status = ? WHERE id = ?", status, trial["new_id"])
    tally.rejected[reason] += 1


def _block_for(store: Store, trial_id: int, policy_version: int) -> int:
    """Return the number of the open block of this policy version, making one if needed.

    A block of an older version that has outcomes on both sides is closed, a one-sided one says
    nothing and goes.
    """
    row = store.row("SELECT * FROM blocks WHERE trial_id = ? AND NOT closed", trial_id)
    if row is not None:
        if row["policy_version"] == policy_version:
            return row["number"]
        if row["old_n"] and row["new_n"]:
            store.write(
                "UPDATE blocks SET closed = 1 WHERE trial_id = ? AND number = ?",
                trial_id,
                row["number"],
            )
        else:
            store.write(
                "DELETE FROM blocks WHERE trial_id = ? AND number = ?", trial_id, row["number"]
            )
    last = store.row("SELECT MAX(number) AS number FROM blocks WHERE trial_id = ?", trial_id)
    number = 1 + (last["number"] or 0 if last is not None else 0)
    store.insert(
        "blocks",
        trial_id=trial_id,
        number=number,
        policy_version=policy_version,
        old_wins=0,
        old_n=0,
        new_wins=0,
        new_n=0,
        closed=0,
    )
    return number
