"""The ways to reach a goal, as short lists of stops, and the cheapest of them.

Walking from anywhere to anywhere is one command, so a plan is a handful of stops: where to put away
what is in the way, where to take the thing, where to change it, where to put it. Each alternative
is a list of layers, each layer a list of candidate stops; the cheapest choice of one stop a layer
is found by depth-first search with a bound. Doors count once, walking counts unless two stops are
at one location. Receptacles that differ in nothing that matters are represented by one of them.

Costs are in half commands, because looking into an unknown place counts half (see knowledge.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

COMMAND = 2
"""Cost of one command."""
LOOK = 1
"""Cost of looking into a place whose content is unknown."""

Layer = Sequence["Stop"]


class Stop(NamedTuple):
    """One thing to do at one place.

    Attributes:
        verb: "take", "put", "clean", "heat", "cool" or "use"; "" when being there is enough.
        place: id of the receptacle; "" for an unknown place that may hold what is needed.
        location: Where to stand; "" for somewhere that is not here.
        cost: In half commands, without walking and doors.
        door: id of a closed receptacle to open first, "" if none.
        item: id of the item to take or use, "" if unknown or if it is what is in the hand.
        leaves_from: Location afterwards, "" if unknown.
    """

    verb: str
    place: str
    location: str
    cost: int
    door: str = ""
    item: str = ""
    leaves_from: str = ""


class Route(NamedTuple):
    """A choice of stops and what it costs, in half commands."""

    cost: int
    stops: tuple[Stop, ...]


def cheapest(alternatives: Iterable[Sequence[Layer]], start: str) -> Route | None:
    """Return the cheapest route through any of the alternatives; None if there is none.

    Args:
        alternatives: Each is a list of layers, to be passed in order.
        start: Location of the agent.
    """
    best: Route | None = None
    for layers in alternatives:
        if all(layers):
            bound = None if best is None else best.cost
            best = _search(layers, start, bound) or best
    return best


def _search(layers: Sequence[Layer], start: str, bound: int | None) -> Route | None:
    """Return the cheapest route that costs less than bound, None if there is none."""
    least = [0]
    for layer in reversed(layers):
        least.append(least[-1] + min(stop.cost for stop in layer))
    least.reverse()
    best: list[Stop] = []
    limit = 10**6 if bound is None else bound
    chosen: list[Stop] = []

    def visit(depth: int, at: str, spent: int) -> None:
        nonlocal limit, best
        if depth == len(layers):
            limit, best = spent, list(chosen)
            return
        rest = least[depth + 1]
        for stop in layers[depth]:
            total = spent + stop.cost
            if stop.location != at or not at:
                total += COMMAND
            if stop.door and all(stop.door != earlier.door for earlier in chosen):
                total += COMMAND
            if total + rest >= limit:
                continue
            if stop.item and any(stop.item == earlier.item for earlier in chosen):
                continue
            chosen.append(stop)
            visit(depth + 1, stop.leaves_from, total)
            chosen.pop()

    visit(0, start, 0)
    return Route(limit, tuple(best)) if best else None


def representatives(stops: Iterable[Stop], special: set[str]) -> list[Stop]:
    """Return the stops that can matter: all at special locations, one each of the others.

    Args:
        stops: Stops of one layer that differ only in their place.
        special: Locations where another stop may be, or where the agent is.
    """
    kept: list[Stop] = []
    others: dict[bool, Stop] = {}
    for stop in stops:
        if stop.location in special:
            kept.append(stop)
        else:
            others.setdefault(bool(stop.door), stop)
    return [*kept, *(others[closed] for closed in sorted(others))]
