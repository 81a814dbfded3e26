"""What was seen of each task, and which task of a lineage is served."""

from __future__ import annotations

from rla_task_sets.fingerprints import fingerprint

from rla_envs.curriculum.store import Store, task_to_json
from rla_envs.curriculum.summary import negative_reasons, ordered
from rla_envs.types import Direction, ErrorSummary, Group, Task

KEPT_REASONS = 32
"""Rationales kept of a group, most frequent first: an LLM judge hardly ever repeats itself."""

LATEST_TRIALS = 8
"""Trials of other tasks that say how bold rewrites of a direction should be."""

_EFFECT = {"futile": 1, "no evidence": 1, "wrong direction": 1, "out of band": -1}
"""Reason of a rejection -> whether the rewrite changed too little (+1) or too much (-1)."""


def add_root(store: Store, task: Task, *, policy_version: int = 0) -> None:
    """Make a task the root and the served task of its own lineage."""
    store.insert(
        "tasks",
        id=task.id,
        root_id=task.id,
        status="active",
        fingerprint=fingerprint(task),
        data=task_to_json(task),
        created_version=policy_version,
    )
    store.insert("slots", root_id=task.id, active_id=task.id)


def add_candidate(
    store: Store,
    task: Task,
    *,
    status: str,
    direction: Direction,
    transform: str,
    reason: str,
    policy_version: int,
) -> None:
    """Write a rewrite (status "trial") or a null copy (status "null") into the archive."""
    store.insert(
        "tasks",
        id=task.id,
        root_id=task.root_id,
        parent_id=task.parent_id,
        status=status,
        direction=direction,
        transform=transform,
        reason=reason,
        fingerprint=fingerprint(task),
        data=task_to_json(task),
        created_version=policy_version,
    )


def known_fingerprints(store: Store) -> frozenset[str]:
    """Return the fingerprints of every task that was ever served or tried."""
    return frozenset(row["fingerprint"] for row in store.rows("SELECT fingerprint FROM tasks"))


def activate(store: Store, task_id: str) -> str:
    """Serve task_id instead of whatever its lineage serves now; return the id it replaces."""
    root_id = store.task(task_id).root_id
    slot = store.row("SELECT active_id FROM slots WHERE root_id = ?", root_id)
    assert slot is not None
    store.write("UPDATE tasks SET status = 'archived' WHERE id = ?", slot["active_id"])
    store.write(
        "UPDATE tasks SET status = 'active', since_wins = 0, since_losses = 0 WHERE id = ?", task_id
    )
    store.write("UPDATE slots SET active_id = ? WHERE root_id = ?", task_id, root_id)
    return slot["active_id"]


def add_counts(store: Store, group: Group, *, policy_version: int, window: int) -> tuple[int, int]:
    """Write a group's outcomes and the reasons of its negative votes; return (wins, losses)."""
    outcomes = [trajectory.outcome for trajectory in group.trajectories]
    wins, losses = outcomes.count(1), outcomes.count(-1)
    count_id = store.insert(
        "counts",
        task_id=group.task.id,
        policy_version=policy_version,
        wins=wins,
        losses=losses,
        masked=outcomes.count(None),
    )
    reasons = ordered(negative_reasons(group.trajectories))
    for reason, votes in list(reasons.items())[:KEPT_REASONS]:
        store.insert("reasons", count_id=count_id, reason=reason, votes=votes)
    recent = _recent_rows(store, group.task.id, window)
    store.write(
        "UPDATE tasks SET recent_wins = ?, recent_n = ?, since_wins = since_wins + ?, "
        "since_losses = since_losses + ? WHERE id = ?",
        sum(row[1] for row in recent),
        sum(row[2] for row in recent),
        wins,
        losses,
        group.task.id,
    )
    return wins, losses


def error_summary(store: Store, task_id: str, direction: Direction, window: int) -> ErrorSummary:
    """Return what went wrong in the task's latest groups that hold window episodes together."""
    recent = _recent_rows(store, task_id, window)
    reasons: dict[str, int] = {}
    for count_id, _, _ in recent:
        for row in store.rows("SELECT reason, votes FROM reasons WHERE count_id = ?", count_id):
            reasons[row["reason"]] = reasons.get(row["reason"], 0) + row["votes"]
    episodes = sum(n for _, _, n in recent)
    wins = sum(won for _, won, _ in recent)
    return ErrorSummary(
        task_id=task_id,
        accuracy=wins / episodes if episodes else None,
        reasons=ordered(reasons),
        episodes=episodes,
        tried=_tried(store),
        push=_push(store, task_id, direction),
    )


def _tried(store: Store) -> dict[str, tuple[int, int]]:
    """Return transform -> (accepted, decided) over trials; a rewrite "a+b" counts for both."""
    rows = store.rows(
        "SELECT t.transform, d.kind = 'accepted' AS accepted FROM decisions d "
        "JOIN tasks t ON t.id = d.task_id "
        "WHERE d.trial_kind = 'rewrite' AND d.reason != 'superseded'"
    )
    tried: dict[str, tuple[int, int]] = {}
    for row in rows:
        for name in sorted(set(row["transform"].split("+"))):
            accepted, decided = tried.get(name, (0, 0))
            tried[name] = accepted + row["accepted"], decided + 1
    return tried


def _push(store: Store, task_id: str, direction: Direction) -> float:
    """Return how much bolder a rewrite should be; see ErrorSummary."""
    rows = store.rows(
        "SELECT d.reason, r.old_id FROM decisions d JOIN trials r ON r.id = d.trial_id "
        "WHERE d.trial_kind = 'rewrite' AND r.direction = ? ORDER BY d.id DESC",
        direction,
    )
    own = [_EFFECT.get(row["reason"], 0) for row in rows if row["old_id"] == task_id]
    others = [_EFFECT.get(row["reason"], 0) for row in rows if row["old_id"] != task_id]
    return sum(own) + sum(others[:LATEST_TRIALS]) / 2


def totals(store: Store) -> dict[str, int]:
    """Return what was decided since the curriculum began; null trials apart."""
    rows = store.rows(
        "SELECT kind, trial_kind = 'null' AS control, COUNT(*) AS n FROM decisions "
        "GROUP BY kind, control"
    )
    counts = {(row["kind"], bool(row["control"])): row["n"] for row in rows}
    refused = counts.get(("refused", False), 0)
    null_accepted = counts.get(("accepted", True), 0)
    return {
        "proposed": counts.get(("proposed", False), 0) + refused,
        "rejected": counts.get(("rejected", False), 0) + refused,
        "accepted": counts.get(("accepted", False), 0),
        "rolled_back": counts.get(("rolled_back", False), 0),
        "null_decided": null_accepted + counts.get(("rejected", True), 0),
        "null_accepted": null_accepted,
    }


def state(store: Store, band: tuple[float, float]) -> dict[str, float]:
    """Return shares and means over the served tasks; what nothing is known of is left out."""
    rows = store.rows(
        "SELECT s.active_id, s.root_id, t.recent_wins, t.recent_n FROM slots s "
        "JOIN tasks t ON t.id = s.active_id"
    )
    shares = [row["recent_wins"] / row["recent_n"] for row in rows if row["recent_n"]]
    result = {"rewritten_share": sum(r["active_id"] != r["root_id"] for r in rows) / len(rows)}
    if shares:
        result["accuracy"] = sum(shares) / len(shares)
        result["in_band_share"] = sum(band[0] < s < band[1] for s in shares) / len(shares)
    found = [store.task(row["active_id"]).difficulty for row in rows]
    known = [difficulty for difficulty in found if difficulty is not None]
    if known:
        result["difficulty"] = sum(known) / len(known)
    return result


def _recent_rows(store: Store, task_id: str, window: int) -> list[tuple[int, int, int]]:
    """Return (count id, wins, episodes) of the latest groups that hold window episodes together."""
    rows = store.rows(
        "SELECT id, wins, wins + losses AS n FROM counts "
        "WHERE task_id = ? AND wins + losses > 0 ORDER BY id DESC LIMIT ?",
        task_id,
        window,
    )
    chosen: list[tuple[int, int, int]] = []
    for row in rows:
        if sum(n for _, _, n in chosen) >= window:
            break
        chosen.append((row["id"], row["wins"], row["n"]))
    return chosen
