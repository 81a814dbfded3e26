"""What can be done about a goal in a state, as far as it is known: the layers of all routes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence, Set
from functools import lru_cache
from itertools import permutations
from typing import TYPE_CHECKING

from .routes import COMMAND, LOOK, Layer, Stop, representatives

if TYPE_CHECKING:
    from .scene import Receptacle
    from .world import World

_VERB_OF_TASK = {
    "pick_clean_then_place_in_recep": "clean",
    "pick_heat_then_place_in_recep": "heat",
    "pick_cool_then_place_in_recep": "cool",
}


class Options:
    """The options of one state.

    Attributes:
        things_at: Known item of the goal -> ids of the receptacles it is known to be in.
        lamps_at: The same for the lights of the goal.
    """

    __slots__ = ("_just", "_unknown", "_verb", "lamps_at", "things_at", "world")

    def __init__(
        self,
        world: World,
        revealed: Set[str] | None = None,
        handled: Set[str] = frozenset(),
        just: Collection[str] = (),
    ) -> None:
        """Collect what is known.

        Args:
            world: The state.
            revealed: Receptacles whose content is known; None for all.
            handled: Items whose place is known in any case.
            just: Receptacles that the last command showed but whose content must not be used yet.
        """
        self.world = world
        self._just = just
        self._verb = _VERB_OF_TASK.get(world.game.scene.goal.task_type, "")
        tables = world.tables
        of_type, lamps = tables.of_type, tables.lamps
        self.things_at: dict[str, list[str]] = {}
        self.lamps_at: dict[str, list[str]] = {}
        self._unknown: list[str] = []
        for place, items in world.contents.items():
            known = revealed is None or place in revealed
            if not known:
                self._unknown.append(place)
            for item in items:
                if known or item in handled:
                    if item in of_type:
                        self.things_at.setdefault(item, []).append(place)
                    elif item in lamps:
                        self.lamps_at.setdefault(item, []).append(place)

    def alternatives(self) -> Iterator[Sequence[Layer]]:
        """Yield the lists of layers that lead to the goal; the state must not be won."""
        task_type = self.world.game.scene.goal.task_type
        if task_type == "pick_two_obj_and_place":
            yield from self._two()
        elif task_type == "look_at_obj_in_light":
            yield from self._look()
        else:
            yield from self._one()

    def hiding_places(self, verb: str) -> list[str]:
        """Return the unknown receptacles that may hold the thing ("take") or the light ("use").

        A thing may be where the scene allows to put it; not where the goal wants it if that alone
        would have won; where a hint in the task's words says, if it leaves a place. A light stands
        where there is no door. If no such place is left, any unknown place will do.
        """
        tables, goal = self.world.tables, self.world.game.scene.goal
        if verb == "use":
            likely = [p for p in self._unknown if not tables.receptacles[p].openable]
            return likely or self._unknown
        fits = tables.scene.can_contain
        barred = goal.receptacle_type if goal.task_type == "pick_and_place_simple" else None
        types = {p: tables.receptacles[p].type for p in self._unknown}
        likely = [
            place
            for place, type_ in types.items()
            if type_ != barred and (type_, goal.object_type) in fits
        ]
        likely = likely or self._unknown
        hints = _hints(tables.scene.instruction)
        told = [p for p in likely if any(_is_told(tables.receptacles[p], h) for h in hints)]
        return told or likely

    def is_closed(self, place: str) -> bool:
        """Return whether a door has to be opened to reach into place."""
        return self.world.tables.receptacles[place].openable and place not in self.world.opened

    def _one(self) -> Iterator[Sequence[Layer]]:
        """One thing, changed if the goal says so, into one of the goal's receptacles."""
        world, tables = self.world, self.world.tables
        changed = self._changed()
        goals = tables.goal_receptacles
        held = world.holding
        wanted = [item for item in tables.wanted if item != held]
        ready = self._takes(item for item in wanted if item in changed)
        raw = self._takes(item for item in wanted if item not in changed)
        if not any(item in self.things_at or item == held for item in tables.wanted):
            (raw if self._verb else ready).extend(self._hidden("take"))
        treat = self._treatments()
        spots = {world.at, *(s.location for s in (*ready, *raw, *treat))}
        puts = representatives(self._stops("put", goals), spots)
        if held in tables.wanted:
            if held in changed:
                yield [puts]
            elif any(place in goals for place in self.things_at.get(held, ())):
                yield [treat]
            else:
                yield [treat, puts]
        spots.update(stop.location for stop in puts)
        for away in self._ways_to_free_the_hand(spots):
            yield [*away, ready, puts]
            if self._verb:
                yield [*away, raw, treat, puts]
                yield [*away, self._takes_of_doubles(raw), treat]

    def _look(self) -> Iterator[Sequence[Layer]]:
        """A thing in the hand, at a lamp that is on."""
        world, tables = self.world, self.world.tables
        lamps = [
            self._stop("" if lamp in world.toggled else "use", place, item=lamp, has_door=False)
            for lamp, places in self.lamps_at.items()
            for place in places
        ]
        lamps = lamps or self._hidden("use")
        if world.holding in tables.wanted:
            yield [lamps]
        takes = self._takes(item for item in tables.wanted if item != world.holding)
        if not any(i in self.things_at or i == world.holding for i in tables.wanted):
            takes += self._hidden("take")
        spots = {world.at, *(s.location for s in (*takes, *lamps))}
        for away in self._ways_to_free_the_hand(spots):
            yield [*away, takes, lamps]

    def _two(self) -> Iterator[Sequence[Layer]]:
        """Two things of a type in one receptacle."""
        world, tables = self.world, self.world.tables
        spots = {world.at, *(tables.receptacles[p].location for p in self._thing_places())}
        puts = representatives(self._stops("put", tables.goal_receptacles), spots)
        spots.update(stop.location for stop in puts)
        aways = list(self._ways_to_free_the_hand(spots))
        held = world.holding
        for put in puts:
            inside = {i for i, places in self.things_at.items() if put.place in places}
            again = put._replace(door="")
            for order in self._missing(inside):
                fetches = [self._fetches(slot, inside) for slot in order]
                pairs: list[Layer] = [[put] if n == 0 else [again] for n in range(len(order))]
                if held is not None and held in order[0] and held not in inside:
                    layers: list[Layer] = [pairs[0]]
                    for fetch in fetches[1:]:
                        layers += [fetch, [again]]
                    yield layers
                    continue
                for away in aways:
                    layers = list(away)
                    for fetch, last in zip(fetches, pairs, strict=True):
                        layers += [fetch, last]
                    yield layers

    def _missing(self, inside: set[str]) -> list[tuple[tuple[str, ...], ...]]:
        """Return, for each order of fetching, which items may be the next to come."""
        tables, goal = self.world.tables, self.world.game.scene.goal
        if goal.item_id is None:
            return [(tables.of_type,) * (2 - len(inside))]
        others = tuple(item for item in tables.of_type if item != goal.item_id)
        slots = [tables.wanted] * (goal.item_id not in inside)
        slots += [others] * inside.isdisjoint(others)
        return list(permutations(slots))

    def _fetches(self, slot: tuple[str, ...], inside: set[str]) -> list[Stop]:
        """Return where an item of slot can be taken from; also anywhere if too few are known."""
        held = self.world.holding
        stops = self._takes(item for item in slot if item not in inside and item != held)
        known = sum(item in self.things_at or item == held for item in slot)
        if known < (2 if self.world.game.scene.goal.item_id is None else 1):
            stops += self._hidden("take")
        return stops

    def _thing_places(self) -> set[str]:
        return {place for places in self.things_at.values() for place in places}

    def _changed(self) -> Collection[str]:
        """Return the items that are as the goal wants them."""
        world = self.world
        if not self._verb:
            return world.tables.wanted
        return {"clean": world.clean, "heat": world.hot, "cool": world.cool}[self._verb]

    def _treatments(self) -> list[Stop]:
        if not self._verb:
            return []
        places = sorted(self.world.tables.appliances[self._verb])
        return [self._stop(self._verb, place, has_door=False) for place in places]

    def _takes(self, items: Iterator[str]) -> list[Stop]:
        catalogue = self.world.tables.items
        return [
            self._stop("take", place, item=item)
            for item in items
            if catalogue[item].pickupable
            for place in self.things_at.get(item, ())
        ]

    def _takes_of_doubles(self, takes: Sequence[Stop]) -> list[Stop]:
        """Return the takes after which the thing is still, in another place, where it should be."""
        goals = self.world.tables.goal_receptacles
        return [
            stop
            for stop in takes
            if stop.item and any(p in goals and p != stop.place for p in self.things_at[stop.item])
        ]

    def _ways_to_free_the_hand(self, spots: set[str]) -> Iterator[Sequence[Layer]]:
        """Yield nothing to do, or one layer of places to put away what is held."""
        world, tables = self.world, self.world.tables
        if world.holding is None:
            yield []
            return
        type_ = tables.items[world.holding].type
        fits = tables.scene.can_contain
        places = [p for p, r in tables.receptacles.items() if (r.type, type_) in fits]
        yield [representatives(self._stops("put", places), spots)]

    def _hidden(self, verb: str) -> list[Stop]:
        """Return where the unknown may be: just shown, here, elsewhere open, elsewhere closed.

        All places elsewhere are alike, wherever they are, so that no unknown place looks worse than
        another only because something else is near it.
        """
        world = self.world
        costs: dict[str, int] = {}
        near = world.near
        for place in self.hiding_places(verb):
            if place in near:
                location, look = world.at, 0 if place in self._just else LOOK
            else:
                location, look = "", LOOK if self.is_closed(place) else 0
            costs[location] = min(costs.get(location, 9), COMMAND + look)
        return [Stop(verb, "", location, cost) for location, cost in costs.items()]

    def _stops(self, verb: str, places: Collection[str]) -> list[Stop]:
        return [self._stop(verb, place) for place in places]

    def _stop(self, verb: str, place: str, *, item: str = "", has_door: bool = True) -> Stop:
        location = self.world.tables.receptacles[place].location
        door = place if has_door and self.is_closed(place) else ""
        return Stop(verb, place, location, COMMAND if verb else 0, door, item, location)


@lru_cache(maxsize=4096)
def _hints(instruction: str) -> tuple[str, ...]:
    """Return what follows "is in" in the sentences after the first."""
    return tuple(re.findall(r" is in ([^.]+)", instruction.partition(".")[2]))


def _is_told(place: Receptacle, hint: str) -> bool:
    """Return whether a hint fits: "cabinet 3", "a cabinet", "something closed", "the open"."""
    if hint == "the open":
        return not place.openable or place.opened
    if hint == "something closed":
        return place.openable and not place.opened
    return hint in (place.name, f"a {place.type.lower()}")
