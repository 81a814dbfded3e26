"""Rewriting desktop tasks by rules: parameters change, everything else follows from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from rla_task_sets.osworld.families import FAMILIES
from rla_task_sets.osworld.generated import remade
from rla_task_sets.osworld.rewrites import VARIANTS

from rla_envs.errors import TaskError
from rla_envs.types import Direction, ErrorSummary, Refusal, Rewrite, Task

Params = dict[str, Any]

MAX_WINDOWS = 2
MAX_CHANGES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Transform:
    """One way to change a task.

    Attributes:
        name: As it is counted, e.g. "add_window".
        direction: What it should do to the task.
        answers: Words in the judge's reasons that speak for it.
        apply: (family, params, rng) -> new params, or None where it does not apply.
    """

    name: str
    direction: Direction
    answers: frozenset[str]
    apply: Callable[[str, Params, Random], Params | None]


class RuleRewriter:
    """Proposes rewrites of generated tasks, and of official ones that carry variants.

    Args:
        targeted: Whether transforms that answer the error summary, and those that fared well in
            trials, come first; otherwise all are equally likely.
    """

    def __init__(self, *, targeted: bool = True) -> None:
        self.targeted = targeted

    def propose(
        self, task: Task, *, root: Task, direction: Direction, summary: ErrorSummary, seed: int
    ) -> Rewrite | Refusal | None:
        """Return a candidate, or None when no transform applies."""
        rng = Random(seed)
        if VARIANTS in root.payload:
            return _switch_variant(task, root, direction, rng)
        if task.payload.get("family") not in FAMILIES:
            return None
        options = [one for one in TRANSFORMS if one.direction == direction]
        rng.shuffle(options)
        if self.targeted:
            options.sort(key=lambda one: -_promise(one, summary))
        for transform in options:
            params = _copy(task.payload["params"])
            changed = transform.apply(task.payload["family"], params, rng)
            if changed is None:
                continue
            try:
                made = remade(task, changed, task_id=f"{task.id}~", parent_id=task.id)
            except TaskError:
                continue
            edits = [*task.payload.get("edits", ()), [transform.name]]
            return Rewrite(
                task=replace(made, payload={**made.payload, "edits": edits}),
                direction=direction,
                transform=transform.name,
                reason=_reason(transform, summary),
            )
        return None


def _promise(transform: Transform, summary: ErrorSummary) -> float:
    """Return how much speaks for a transform: answered reasons, and trials so far."""
    votes = sum(summary.reasons.values()) or 1
    answered = sum(
        count
        for reason, count in summary.reasons.items()
        if any(word in reason for word in transform.answers)
    )
    accepted, decided = summary.tried.get(transform.name, (0, 0))
    return answered / votes + (accepted + 1) / (decided + 2)


def _reason(transform: Transform, summary: ErrorSummary) -> str:
    for reason in summary.reasons:
        if any(word in reason for word in transform.answers):
            return reason
    return f"accuracy {summary.accuracy}"


def _switch_variant(task: Task, root: Task, direction: Direction, rng: Random) -> Rewrite | None:
    """Switch to another verified evaluator of an official task, or add or drop a hint."""
    candidates: list[tuple[str, str, Mapping[str, Any]]] = []
    for variant in root.payload[VARIANTS]:
        same = variant["evaluator"] == task.payload["evaluator"]
        for hint in variant.get("hints", ()):
            sentence = f"{variant['instruction']} {hint}"
            if direction == "easier" and sentence != task.instruction:
                candidates.append(("add_hint", sentence, variant))
        if direction == "harder" and same and task.instruction != variant["instruction"]:
            candidates.append(("drop_hint", variant["instruction"], variant))
        if not same:
            candidates.append(("switch_evaluator", variant["instruction"], variant))
    if not candidates:
        return None
    name, instruction, variant = rng.choice(candidates)
    made = replace(
        task,
        id=f"{task.id}~",
        parent_id=task.id,
        instruction=instruction,
        payload={**task.payload, "evaluator": variant["evaluator"], "instruction": instruction},
    )
    return Rewrite(task=made, direction=direction, transform=name, reason="another verified goal")


def _copy(params: Mapping[str, Any]) -> Params:
    def copied(value: Any) -> Any:
        return [copied(item) for item in value] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType]

    return {key: copied(value) for key, value in params.items()}


def _set(name: str, value: Any) -> Callable[[str, Params, Random], Params | None]:
    def apply(family: str, params: Params, rng: Random) -> Params | None:
        del family, rng
        if name not in params or params[name] == value:
            return None
        return {**params, name: value}

    return apply


def _add(name: str, by: int, low: int, high: int) -> Callable[..., Params | None]:
    def apply(family: str, params: Params, rng: Random) -> Params | None:
        del rng
        most = {"form": 2, "spreadsheet": 2}.get(family, high) if name == "distractors" else high
        if name not in params or not low <= params[name] + by <= most:
            return None
        return {**params, name: params[name] + by}

    return apply


def _more(family: str, params: Params, rng: Random) -> Params | None:
    """Add a sub-goal."""
    if family in ("text_edit", "document"):
        lines = params["lines" if family == "text_edit" else "paragraphs"]
        if len(params["changes"]) >= MAX_CHANGES:
            return None
        text = " ".join(reversed(lines[rng.randrange(len(lines))].rstrip(".").split()))
        params["changes"].append(["append", 0, text])
    elif family == "slides":
        number, title = params["titles"][0]
        if len(params["titles"]) > 1:
            return None
        params["titles"].append([1 - number, f"New {title}"])
    elif family == "form":
        if not params["spare"]:
            return None
        field, value = params["spare"].pop(0)
        params["fields"].append(field)
        params["values"].append(value)
    elif family == "two_apps":
        left = [place for place in range(3) if place not in params["wanted"]]
        if not left:
            return None
        params["wanted"].append(rng.choice(left))
    elif family == "folders":
        left = [o for o in ("make", "rename") if o not in params["operations"]]
        if not left or "move" in params["operations"]:
            return None
        params["operations"].append(rng.choice(left))
    else:
        return None
    return params


def _fewer(family: str, params: Params, rng: Random) -> Params | None:
    """Take the last sub-goal away; the first one stays."""
    del rng
    for name in ("changes", "titles", "wanted", "operations"):
        if name in params and len(params[name]) > 1:
            params[name].pop()
            return params
    if family == "form" and len(params["fields"]) > 1:
        params["spare"].insert(0, [params["fields"].pop(), params["values"].pop()])
        return params
    if params.get("tick"):
        return {**params, "tick": False}
    return None


def _numbers(family: str, params: Params, rng: Random) -> Params | None:
    """Ask for the same on more and larger numbers."""
    if family == "spreadsheet" and params["operation"] != "age":
        return {**params, "values": [rng.randint(100, 9999) for _ in params["values"]]}
    if family == "two_apps":
        return {**params, "numbers": [rng.randint(100, 9999) for _ in params["numbers"]]}
    return None


def _longer(family: str, params: Params, rng: Random) -> Params | None:
    """Repeat lines in other order, so that there is more to read."""
    if family != "terminal" or len(params["lines"]) > 20:
        return None
    more = list(params["lines"])
    rng.shuffle(more)
    return {**params, "lines": [*params["lines"], *more]}


def _transform(
    name: str, direction: Direction, answers: set[str], apply: Callable[..., Params | None]
) -> Transform:
    return Transform(name=name, direction=direction, answers=frozenset(answers), apply=apply)


TRANSFORMS = (
    _transform("drop_hint", "harder", set(), _set("hint", False)),
    _transform("describe", "harder", set(), _set("named", False)),
    _transform("add_window", "harder", {"window", "focus"}, _add("windows", 1, 0, MAX_WINDOWS)),
    _transform("add_distractor", "harder", {"cell", "field"}, _add("distractors", 1, 0, 2)),
    _transform("hide_deeper", "harder", set(), _add("depth", 1, 0, 2)),
    _transform("add_goal", "harder", {"early", "goal"}, _more),
    _transform("larger_numbers", "harder", set(), _numbers),
    _transform("more_lines", "harder", set(), _longer),
    _transform("hint", "easier", {"way", "understood", "wrong"}, _set("hint", True)),
    _transform("name_function", "easier", {"way", "wrong"}, _set("named", True)),
    _transform("remove_window", "easier", {"window", "focus"}, _add("windows", -1, 0, MAX_WINDOWS)),
    _transform("remove_distractor", "easier", {"cell", "field"}, _add("distractors", -1, 0, 2)),
    _transform("less_deep", "easier", set(), _add("depth", -1, 0, 2)),
    _transform("remove_goal", "easier", {"early", "goal"}, _fewer),
)
"""All transforms."""
