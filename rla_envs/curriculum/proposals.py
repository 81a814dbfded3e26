"""Which tasks get a rewrite, which rewrites a trial, and which accepted ones are taken back."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Collection, Mapping

from rla_envs.curriculum import ledger, trials
from rla_envs.curriculum.acceptance import overshoot_evidence
from rla_envs.curriculum.config import CurriculumConfig, Tally
from rla_envs.curriculum.store import Store
from rla_envs.errors import ConfigError, RunError
from rla_envs.seeding import derive_seed
from rla_envs.types import Direction, Refusal, Rewrite, Rewriter, Task

Checks = Callable[[Task, Task, Task, Collection[str]], str | None]


def domain_check(domain: str) -> Checks:
    """Return the static checks of a domain.

    Raises:
        ConfigError: the domain has none of its own.
    """
    if domain == "alfworld":
        from rla_task_sets.alfworld.rewrites import check_rewrite

        return check_rewrite
    if domain == "coding":
        from rla_task_sets.coding.rewrites import check_rewrite as check_problem

        return check_problem
    if domain == "osworld":
        from rla_task_sets.osworld.rewrites import check_rewrite as check_desktop_task

        return check_desktop_task
    raise ConfigError(f"domain {domain!r} has no static checks of its own; give check=")


def propose(
    store: Store,
    config: CurriculumConfig,
    rewriter: Rewriter,
    check: Checks,
    tally: Tally,
    *,
    policy_version: int,
    seed: int,
) -> None:
    """Ask for rewrites and open trials up to the capacity; rule="always" installs them at once."""
    always = config.acceptance.rule == "always"
    rng = random.Random(derive_seed(seed, "propose"))
    room = _rate(config, rng) if always else _free_places(store, config)
    for slot, direction in _wanted(store, config, rng):
        if room < 1:
            break
        old = store.task(slot["active_id"])
        accuracy = slot["recent_wins"] / slot["recent_n"] if slot["recent_n"] else None
        if not always and _null_is_due(store, config):
            copy = trials.add_null(store, old, direction, policy_version=policy_version)
            new_id, kind = copy.id, "null"
        else:
            candidate = _candidate(
                store, config, rewriter, check, tally, slot, direction, policy_version, seed
            )
            if candidate is None:
                continue
            new_id, kind = candidate
        trials.open_trial(
            store,
            old,
            new_id,
            kind=kind,
            direction=direction,
            trigger_accuracy=accuracy,
            policy_version=policy_version,
        )
        room -= 1
    if always:
        trials.settle(store, config, tally, policy_version)


def take_back(store: Store, config: CurriculumConfig, tally: Tally, policy_version: int) -> None:
    """Roll back served rewrites with evidence that their accuracy lies beyond the band's far side.

    Only outcomes since the acceptance count: those of the trial were selected by it.
    """
    if config.rollback_alpha is None:
        return
    rows = store.rows(
        "SELECT t.* FROM slots JOIN tasks t ON t.id = active_id WHERE t.parent_id IS NOT NULL"
    )
    for row in rows:
        wins, losses = row["since_wins"], row["since_losses"]
        e_value = overshoot_evidence(wins, wins + losses, row["direction"], config.band)
        if e_value >= 1 / config.rollback_alpha:
            reason = "too hard" if row["direction"] == "harder" else "too easy"
            numbers = {"e_value": e_value, "wins": wins, "losses": losses}
            roll_back(store, row["id"], reason, policy_version=policy_version, numbers=numbers)
            tally.rolled_back.append(row["id"])


def roll_back(
    store: Store,
    task_id: str,
    reason: str,
    *,
    policy_version: int,
    numbers: Mapping[str, float],
) -> Task:
    """Serve the parent of a served task again; return the parent.

    Raises:
        RunError: the task is not served, or is a root.
    """
    task = store.task(task_id)
    slot = store.row("SELECT active_id FROM slots WHERE root_id = ?", task.root_id)
    if slot is None or slot["active_id"] != task_id:
        raise RunError(f"task {task_id!r} is not served, so there is nothing to roll back")
    if task.parent_id is None:
        raise RunError(f"task {task_id!r} is a root and has no parent to roll back to")
    ledger.activate(store, task.parent_id)
    store.record("rolled_back", task_id, reason, policy_version, numbers=numbers)
    return store.task(task.parent_id)


def _wanted(
    store: Store, config: CurriculumConfig, rng: random.Random
) -> list[tuple[sqlite3.Row, Direction]]:
    """Return the lineages to rewrite and in which direction, most urgent first.

    Targeted: tasks outside the band; those with fewest trials first, then those farthest outside.
    """
    slots = store.rows(
        "SELECT s.*, t.recent_wins, t.recent_n, t.direction FROM slots s JOIN tasks t "
        "ON t.id = s.active_id WHERE s.root_id NOT IN "
        "(SELECT root_id FROM trials WHERE status = 'open') ORDER BY s.root_id"
    )
    if config.rewrite == "random":
        rng.shuffle(slots)
        return [(slot, rng.choice(("harder", "easier"))) for slot in slots]
    low, high = config.band
    found: list[tuple[int, float, float, sqlite3.Row, Direction]] = []
    for slot in slots:
        if slot["recent_n"] < config.window:
            continue
        accuracy = slot["recent_wins"] / slot["recent_n"]
        if accuracy >= high:
            found.append((slot["trials"], high - accuracy, rng.random(), slot, "harder"))
        elif accuracy <= low:
            found.append((slot["trials"], accuracy - low, rng.random(), slot, "easier"))
    found.sort(key=lambda entry: entry[:3])
    return [(slot, direction) for _, _, _, slot, direction in found]


def _candidate(
    store: Store,
    config: CurriculumConfig,
    rewriter: Rewriter,
    check: Checks,
    tally: Tally,
    slot: sqlite3.Row,
    direction: Direction,
    policy_version: int,
    seed: int,
) -> tuple[str, str] | None:
    """Return (task id, trial kind) of a candidate that passes the static checks, or None."""
    old = store.task(slot["active_id"])
    if config.rewrite == "targeted" and _may_restore(store, slot, direction):
        assert old.parent_id is not None
        tally.proposed += 1
        store.write("UPDATE tasks SET status = 'trial' WHERE id = ?", old.parent_id)
        store.record("proposed", old.parent_id, "outgrown", policy_version, transform="restore")
        return old.parent_id, "restore"
    root = store.task(old.root_id)
    summary = ledger.error_summary(store, old.id, direction, config.window)
    known = ledger.known_fingerprints(store)
    for attempt in range(config.attempts):
        tally.proposed += 1
        answer = rewriter.propose(
            old,
            root=root,
            direction=direction,
            summary=summary,
            seed=derive_seed(seed, "rewrite", old.id, attempt),
        )
        if isinstance(answer, Rewrite):
            reason = check(root, old, trials.named(store, old, answer.task, ""), known)
            if reason is None:
                task = trials.add_rewrite(store, old, answer, policy_version=policy_version)
                store.record(
                    "proposed", task.id, answer.reason, policy_version, transform=answer.transform
                )
                return task.id, "rewrite"
        else:
            reason = answer.reason if isinstance(answer, Refusal) else "no proposal"
        tally.rejected[reason] += 1
        transform = answer.transform if isinstance(answer, Rewrite) else None
        store.record("refused", old.id, reason, policy_version, transform=transform)
        if answer is None:
            return None
    return None


def _may_restore(store: Store, slot: sqlite3.Row, direction: Direction) -> bool:
    """Return whether the parent lies in the wanted direction and was not tried again yet."""
    if slot["direction"] in (None, direction):
        return False
    tried = "SELECT 1 FROM trials WHERE kind = 'restore' AND old_id = ?"
    return store.row(tried, slot["active_id"]) is None


def _null_is_due(store: Store, config: CurriculumConfig) -> bool:
    """Return whether the next trial is a null one; they are spread evenly, without chance."""
    row = store.row("SELECT COUNT(*) AS n FROM trials")
    begun = row["n"] if row is not None else 0
    return int((begun + 1) * config.null_share) > int(begun * config.null_share)


def _free_places(store: Store, config: CurriculumConfig) -> int:
    """Return how many trials to open: what a draw of the last size can serve, at least one."""
    drawn = int(store.meta("last_draw") or 1)
    capacity = max(1, int(drawn * config.trial_share) // 2) if config.trial_share else 0
    return capacity - len(trials.open_trials(store))


def _rate(config: CurriculumConfig, rng: random.Random) -> int:
    whole = int(config.rewrites_per_adapt)
    return whole + (rng.random() < config.rewrites_per_adapt - whole)
