"""Ground truth for ALFWorld: was the goal reached, and which steps brought it nearer.

A step is good iff it lowers the distance to the goal. Two rules say which distance:

* "knowledge" (default): the optimistic distance of somebody who knows only what was shown before
  the step (``planner.estimate``). Whatever is needed and unseen may be in any place that was not
  shown yet and could hold it, so looking into such a place is good, whether or not it is lucky;
  going back to known places, taking wrong things and idling is bad. Once everything needed was
  seen, this is the true distance.
* "distance": the true distance, with full information. It calls sensible search bad when it is
  unlucky, which neither a policy nor a judge can know.

docs/oracle.md works through an episode.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from rla_envs.alfworld.engine import World, game_of
from rla_envs.alfworld.engine.knowledge import Knowledge
from rla_envs.alfworld.engine.planner import distance, estimate
from rla_envs.types import Task

from .reasons import REASONS, reason_of

__all__ = ["REASONS", "Rule", "goal_reached", "label_steps", "step_reasons"]

Rule = Literal["knowledge", "distance"]

_NUMBER = re.compile(r"\[?\s*([0-9]{1,9})\s*\]?")


def goal_reached(task: Task, actions: Sequence[str]) -> bool:
    """Return whether the goal holds after one of the actions, where the episode ends.

    Args:
        task: An ALFWorld task.
        actions: Commands, or their numbers in the admissible list, as the environment takes them.
    """
    world = World(game_of(task))
    for action in actions:
        command = _command(world, action)
        if command is not None:
            world.step(command)
        if world.won:
            return True
    return world.won


def label_steps(task: Task, commands: Sequence[str], *, rule: Rule = "knowledge") -> list[bool]:
    """Return for each step of an episode whether it was good.

    Steps after the goal was reached are not good.

    Args:
        task: An ALFWorld task.
        commands: [T] what the agent did from the start of the episode.
        rule: Which distance a good step lowers; see the module.
    """
    if rule == "distance":
        return _by_distance(task, commands)
    return [after_is_nearer for _, _, after_is_nearer in _walk(task, commands, with_worlds=False)]


def step_reasons(task: Task, commands: Sequence[str]) -> list[str]:
    """Return for each step why it was good or bad under the rule "knowledge": keys of REASONS.

    ``REASONS[reason] == 1`` iff ``label_steps`` calls the step good.
    """
    reasons: list[str] = []
    for command, before, good in _walk(task, commands, with_worlds=True):
        if command is None or before is None:
            reasons.append("nothing happens")
        elif before.world.won:
            reasons.append("wastes a step")
        else:
            reasons.append(reason_of(before.world, before.knowledge, command, good=good))
    return reasons


class _Before(NamedTuple):
    world: World
    knowledge: Knowledge


class _Walked(NamedTuple):
    """One step: its command (None if impossible), what was before it, whether it was good."""

    command: str | None
    before: _Before | None
    good: bool


def _walk(task: Task, commands: Sequence[str], *, with_worlds: bool) -> Iterator[_Walked]:
    world, knowledge = World(game_of(task)), Knowledge()
    left = estimate(world, knowledge)
    for text in commands:
        command = _command(world, text)
        if command is None:
            yield _Walked(None, None, False)
            continue
        before = _Before(world.copy(), knowledge.copy()) if with_worlds else None
        was_won = world.won
        world.step(command)
        shown = knowledge.shows(world, command)
        now = estimate(world, knowledge, just=() if shown is None else (shown,))
        good = not was_won and _is_less(now, left)
        knowledge.update(world, command)
        left = now if shown is None else estimate(world, knowledge)
        yield _Walked(command, before, good)


def _by_distance(task: Task, commands: Sequence[str]) -> list[bool]:
    world = World(game_of(task))
    left = distance(world)
    labels: list[bool] = []
    for text in commands:
        command = _command(world, text)
        if command is not None:
            world.step(command)
        now = left if command is None else distance(world)
        labels.append(_is_less(now, left))
        left = now
    return labels


def _is_less(now: int | None, before: int | None) -> bool:
    """Compare distances; None is beyond all of them."""
    return now is not None and (before is None or now < before)


def _command(world: World, action: str) -> str | None:
    """Return the command that an action means here, None if it is not possible."""
    number = _NUMBER.fullmatch(action.strip())
    if number is None:
        return world.resolve(action)
    commands = world.admissible()
    place = int(number[1])
    return commands[place] if place < len(commands) else None
