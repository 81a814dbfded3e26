"""Static checks of rewritten desktop tasks: what needs no desktop to be refused."""

from __future__ import annotations

from collections.abc import Collection

from rla_envs.errors import TaskError
from rla_envs.types import Task
from rla_task_sets.fingerprints import fingerprint
from rla_task_sets.osworld.families import FAMILIES
from rla_task_sets.osworld.generated import make_task
from rla_task_sets.osworld.official import missing_parts

VARIANTS = "variants"
"""Payload key of an official task that carries several evaluators with an instruction each."""


def check_rewrite(root: Task, old: Task, new: Task, known: Collection[str]) -> str | None:
    """Return why new is no valid rewrite of old, or None.

    "malformed": its parameters describe no task. "stale instruction": sentence, setup, verifier,
    expert or sub-goals are not those of its parameters (or of the variant it names). "intention
    lost": another family, or another first operation than the root's. "duplicate": the same task
    as old or one that was tried. That the expert solves it is for a desktop to say: ``load_gate``.

    Args:
        root: The task whose intention must be kept.
        old: The task that new may replace.
        new: The candidate.
        known: Fingerprints of every task that was ever served or tried.
    """
    check = _check_variant if VARIANTS in root.payload else _check_generated
    reason = check(root, new)
    if reason is not None:
        return reason
    if fingerprint(new) in known or fingerprint(new) in (fingerprint(old), fingerprint(root)):
        return "duplicate"
    return None


def _check_generated(root: Task, new: Task) -> str | None:
    name: str = new.payload.get("family", "")
    if name not in FAMILIES or "params" not in new.payload:
        return "malformed"
    family, params = FAMILIES[name], new.payload["params"]
    try:
        made = make_task(name, params, task_id=new.id)
        about = family.about(params)
    except (TaskError, KeyError, IndexError, TypeError, ValueError):
        return "malformed"
    if missing_parts(made):
        return "malformed"
    same = {key: value for key, value in new.payload.items() if key != "edits"}
    if made.instruction != new.instruction or dict(made.payload) != same:
        return "stale instruction"
    if name != root.payload["family"] or about != family.about(root.payload["params"]):
        return "intention lost"
    return None


def _check_variant(root: Task, new: Task) -> str | None:
    for variant in root.payload[VARIANTS]:
        if variant["evaluator"] == new.payload.get("evaluator"):
            hints: list[str] = variant.get("hints", [])
            sentences = {variant["instruction"], *(f"{variant['instruction']} {h}" for h in hints)}
            return None if new.instruction in sentences else "stale instruction"
    return "intention lost"
