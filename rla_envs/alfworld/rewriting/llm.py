"""The LLM rewriter: a chat model chooses among the edits that apply, so it cannot invent a task."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files

from rla_envs.alfworld.engine import Scene, game_of
from rla_envs.alfworld.rewriting.edits import TRANSFORMS, Edit, edited, edits_of, rewritten
from rla_envs.types import (
    ChatModel,
    Conversation,
    Direction,
    ErrorSummary,
    Refusal,
    Rewrite,
    Sampling,
    Task,
)

MOST_EDITS = 2
"""Edits that a reply may have."""

SHOWN_REASONS = 8
"""Rationales in the prompt, most frequent first."""

SHOWN_OPTIONS = 30
"""Arguments listed for an edit; those beyond are valid all the same."""

SAMPLING = Sampling(temperature=0.8, max_tokens=512)
"""How a reply is drawn by default: room for a short reason and two edits."""

_EDIT = re.compile(r"^\W*EDIT\s*:\s*`?(\w+)`?[ \t]*(.*)$", re.MULTILINE | re.IGNORECASE)
_AIMS: Mapping[Direction, str] = {
    "harder": "puts the agent's weaknesses to the test",
    "easier": "spares the agent the errors it makes",
}


class LLMRewriter:
    """Asks a chat model for one or two edits of the wanted direction.

    A reply is used only if each of its edits is in the list that the prompt gave. Anything else is
    a Refusal("unparsed"); edits after which nothing can win are a Refusal("unsolvable").

    Args:
        model: Any chat model.
        sampling: How the reply is drawn.
    """

    def __init__(self, model: ChatModel, *, sampling: Sampling = SAMPLING) -> None:
        self.model, self.sampling = model, sampling

    def propose(
        self, task: Task, *, root: Task, direction: Direction, summary: ErrorSummary, seed: int
    ) -> Rewrite | Refusal | None:
        """Return the model's candidate; None when no edit applies any more."""
        done = edits_of(task)
        start = game_of(root).scene
        now = edited(start, done)
        if now is None:
            return None
        options = applicable(now, direction)
        if not options:
            return None
        conversation = rewriter_prompt(task, root, now, options, direction, summary)
        [[reply]] = self.model.sample([conversation], n=1, sampling=self.sampling, seeds=[seed])
        chosen = parse_edits(reply.text, start, done, direction)
        if chosen is None:
            return Refusal(reason="unparsed")
        new = rewritten(root, (*done, *chosen), task_id=f"{task.id}+", parent_id=task.id)
        if new is None:
            return Refusal(reason="unsolvable")
        return Rewrite(
            task=new,
            direction=direction,
            transform="+".join(edit.name for edit in chosen),
            reason=_reason(reply.text),
        )


def applicable(scene: Scene, direction: Direction) -> dict[str, list[tuple[str, ...]]]:
    """Return transform name -> arguments, for the transforms of a direction that apply."""
    found = {
        name: list(transform.options(scene))
        for name, transform in TRANSFORMS.items()
        if transform.direction == direction
    }
    return {name: options for name, options in found.items() if options}


def parse_edits(
    text: str, start: Scene, done: Sequence[Edit], direction: Direction
) -> tuple[Edit, ...] | None:
    """Return the one or two edits of a reply, or None unless each applies in its turn.

    Args:
        text: The reply; an edit is a line "EDIT: name argument".
        start: The root's scene.
        done: Edits made before.
        direction: Only transforms of this direction count.
    """
    found = _EDIT.findall(text)
    if not 1 <= len(found) <= MOST_EDITS:
        return None
    chosen: list[Edit] = []
    for name, argument in found:
        scene = edited(start, (*done, *chosen))
        edit = None if scene is None else _matching(scene, name.lower(), argument, direction)
        if edit is None:
            return None
        chosen.append(edit)
    return tuple(chosen)


def rewriter_prompt(
    task: Task,
    root: Task,
    scene: Scene,
    options: Mapping[str, Sequence[tuple[str, ...]]],
    direction: Direction,
    summary: ErrorSummary,
) -> Conversation:
    """Return the chat that asks for edits."""
    reasons = [f"- {why} ({n} times)" for why, n in list(summary.reasons.items())[:SHOWN_REASONS]]
    first = next(iter(options))
    text = (files("rla_envs.prompts") / "alfworld_rewriter.md").read_text(encoding="utf-8")
    content = text.format(
        root_instruction=root.instruction,
        instruction=task.instruction,
        edits="; ".join(_said(edit) for edit in edits_of(task)) or "none",
        walkthrough=", ".join(game_of(task).walkthrough or ()) or "unknown",
        room=_room(scene),
        accuracy="an unknown share" if summary.accuracy is None else f"{summary.accuracy:.0%}",
        episodes=summary.episodes,
        reasons="\n".join(reasons) or "- nothing",
        direction=direction,
        aim=_AIMS[direction],
        options="\n".join(_option(name, args) for name, args in options.items()),
        example=_said(Edit(first, options[first][0])),
    )
    return ({"role": "user", "content": content},)


def _matching(scene: Scene, name: str, argument: str, direction: Direction) -> Edit | None:
    transform = TRANSFORMS.get(name)
    if transform is None or transform.direction != direction:
        return None
    said = argument.strip(" \t`'\".,()*").lower()
    for args in transform.options(scene):
        if " ".join(args).lower() == said:
            return Edit(name, args)
    return None


def _said(edit: Edit) -> str:
    return " ".join((edit.name, *edit.args))


def _option(name: str, options: Sequence[tuple[str, ...]]) -> str:
    said = [" ".join(args) for args in options[:SHOWN_OPTIONS] if args]
    return f"- {name}: {TRANSFORMS[name].help}" + (f" [{', '.join(said)}]" if said else "")


def _room(scene: Scene) -> str:
    lines: list[str] = []
    for place in sorted(scene.receptacles, key=lambda place: place.name):
        held = sorted(item.name for item in scene.items if place.id in item.receptacles)
        door = (" (open)" if place.opened else " (closed)") if place.openable else ""
        lines.append(f"{place.name}{door}: {', '.join(held) or 'nothing'}")
    return "\n".join(lines)


def _reason(text: str) -> str:
    """Return what stands before the first edit, on one line."""
    match = _EDIT.search(text)
    return " ".join((text[: match.start()] if match else text).split())[:200]
