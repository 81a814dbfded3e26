"""Shortest plans for the six goals, from any state.

A blind search over a room takes seconds; the six goals have so little structure that their few
possible routes can be listed (options.py) and compared (routes.py) in a fraction of a millisecond.
The result is a shortest plan on every state that was compared with a blind search.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...errors import TaskError
from ...types import Task
from .commands import put_command
from .game import game_of
from .options import Options
from .routes import COMMAND, Stop, cheapest
from .world import World

if TYPE_CHECKING:
    from .knowledge import Knowledge


def plan(world: World) -> list[str] | None:
    """Return commands that win from this state, in the game's syntax; None if nothing can.

    An empty list means that the goal holds already.
    """
    if world.won:
        return []
    route = cheapest(Options(world).alternatives(), world.at)
    return None if route is None else _commands(world, route.stops)


def distance(world: World) -> int | None:
    """Return how many commands plan needs, None if the state cannot be won any more."""
    if world.won:
        return 0
    route = cheapest(Options(world).alternatives(), world.at)
    return None if route is None else route.cost // COMMAND


def estimate(world: World, knowledge: Knowledge, *, just: Iterable[str] = ()) -> int | None:
    """Return the optimistic distance to the goal for one who knows only what was shown.

    Whatever the plan needs and nobody has seen yet may be in any place that was not shown yet and
    could hold it. Looking into such a place costs half a command, not a whole one, so that no place
    looks better than another only because it has no door.

    Args:
        world: The state.
        knowledge: What was shown before.
        just: Receptacles shown by the last command: looking into them is free, but what they hold
            is not used yet.

    Returns:
        Half commands; 0 if won, None if not even luck can help. When everything was shown, it is
        twice the distance.
    """
    if world.won:
        return 0
    options = Options(world, knowledge.revealed, knowledge.handled, tuple(just))
    route = cheapest(options.alternatives(), world.at)
    return None if route is None else route.cost


def next_stop(world: World, knowledge: Knowledge) -> tuple[Stop, list[str]] | None:
    """Return the first stop of the optimistic plan and, if it is unknown, where it may be.

    Returns:
        None if there is no plan; otherwise the stop and the ids of the places that may hold what is
        needed, empty when the stop's place is known.
    """
    options = Options(world, knowledge.revealed, knowledge.handled)
    route = cheapest(options.alternatives(), world.at)
    if world.won or route is None:
        return None
    stop = route.stops[0]
    return stop, [] if stop.place else options.hiding_places(stop.verb)


def commands_of(world: World, stop: Stop, *, held: str = "") -> list[str]:
    """Return the commands of one stop at a known place, from where the world is now.

    Args:
        world: The state.
        stop: What to do; its place must be known.
        held: id of what is in the hand then; by default what is in it now.
    """
    names = world.tables.names
    held = held or world.holding or ""
    commands: list[str] = []
    if stop.location != world.at:
        commands.append(f"go to {names[stop.place]}")
    if stop.door and stop.door not in world.opened:
        commands.append(f"open {names[stop.door]}")
    if stop.verb == "take":
        commands.append(f"take {names[stop.item]} from {names[stop.place]}")
    elif stop.verb == "put":
        commands.append(put_command(world.tables, held, stop.place))
    elif stop.verb == "use":
        commands.append(f"use {names[stop.item]}")
    elif stop.verb:
        commands.append(f"{stop.verb} {names[held]} with {names[stop.place]}")
    return commands


def expert_actions(task: Task) -> list[str]:
    """Return commands that solve a task, as few as the planner can.

    Raises:
        TaskError: the task cannot be solved, or its payload is malformed.
    """
    found = plan(World(game_of(task)))
    if found is None:
        raise TaskError(
            f"task {task.id!r} cannot be solved; check its goal and what the room holds"
        )
    return found


def _commands(world: World, stops: Iterable[Stop]) -> list[str]:
    """Return the commands of stops at known places, in order."""
    commands: list[str] = []
    moving = world.copy()
    for stop in stops:
        for command in commands_of(moving, stop):
            moving.step(command)
            commands.append(command)
    return commands
