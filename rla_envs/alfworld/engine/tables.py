"""What never changes during a game, laid out for quick look-up; shared by all its episodes."""

from __future__ import annotations

from typing import NamedTuple

from ...errors import TaskError
from .grammar import Syntax, name_entities
from .scene import Item, Receptacle, Scene

CLEANERS = frozenset({"SinkBasin", "Sink"})
HEATERS = frozenset({"Microwave"})
COOLERS = frozenset({"Fridge"})
KNIVES = frozenset({"Knife", "ButterKnife"})
_APPLIANCES = {"clean": CLEANERS, "heat": HEATERS, "cool": COOLERS}


class Action(NamedTuple):
    """A command that was understood, whether or not it is possible now.

    Attributes:
        verb: First word; "put" for both syntaxes of putting down.
        first: id of the first thing named; "" for look, inventory and help.
        second: id of the second thing named; "" if there is none.
    """

    verb: str
    first: str = ""
    second: str = ""


class Tables:
    """Look-up tables of one game.

    Attributes:
        scene, syntax: What they were made from.
        items, receptacles: id -> description, in the order in which the game lists them.
        rank: Item id -> position in that order.
        names: id -> name, of items and receptacles.
        ids: Name -> id, of items and receptacles.
        near: Location -> ids of the receptacles there, in listing order.
        walks: Location -> sorted "go to" commands from there.
        appliances: "clean", "heat" and "cool" -> ids of the receptacles that do it.
        arrivals: Receptacle id -> what "You arrive at" says.
        knives, sliceable, switches: ids of the items that cut, can be cut, can be switched on.
        treatable: "clean", "heat" and "cool" -> ids of the items to which it can be done.
        of_type: ids of the items of the goal's type, if they can be brought into its state.
        wanted: Those among them that fulfil the goal: all, or the one that is asked for.
        goal_receptacles: ids of the receptacles that may fulfil the goal.
        lamps: ids of the lights that may fulfil the goal.
    """

    __slots__ = (
        "appliances",
        "arrivals",
        "goal_receptacles",
        "ids",
        "items",
        "knives",
        "lamps",
        "names",
        "near",
        "of_type",
        "rank",
        "receptacles",
        "scene",
        "sliceable",
        "switches",
        "syntax",
        "treatable",
        "walks",
        "wanted",
    )

    def __init__(self, scene: Scene, syntax: Syntax) -> None:
        self.scene = scene
        self.syntax: Syntax = syntax
        self.items = {i.id: i for i in sorted(scene.items, key=_listing_order)}
        self.receptacles = {r.id: r for r in sorted(scene.receptacles, key=_listing_order)}
        self.rank = {id_: rank for rank, id_ in enumerate(self.items)}
        self.names = {id_: item.name for id_, item in self.items.items()}
        self.names |= {id_: receptacle.name for id_, receptacle in self.receptacles.items()}
        self.ids = {name: id_ for id_, name in self.names.items()}
        if len(self.ids) < len(scene.items) + len(scene.receptacles):
            raise TaskError("two entities share an id or a name; names follow from name_entities")
        used = {place for item in scene.items for place in item.receptacles}
        if unknown := used - self.receptacles.keys():
            raise TaskError(f"items are in receptacles that the scene lacks: {sorted(unknown)[:3]}")
        self.treatable = {
            "clean": frozenset(item.id for item in scene.items if item.cleanable),
            "heat": frozenset(item.id for item in scene.items if item.heatable),
            "cool": frozenset(item.id for item in scene.items if item.coolable),
        }
        self._lay_out()
        self._find_goal()
        self.appliances = {
            verb: frozenset(r.id for r in scene.receptacles if r.type in types)
            for verb, types in _APPLIANCES.items()
        }
        self.knives = frozenset(item.id for item in scene.items if item.type in KNIVES)
        self.sliceable = tuple(item.id for item in scene.items if item.sliceable)
        self.switches = tuple(item.id for item in scene.items if item.toggleable)

    def _lay_out(self) -> None:
        near: dict[str, list[str]] = {}
        for id_, receptacle in self.receptacles.items():
            near.setdefault(receptacle.location, []).append(id_)
        self.near = {location: tuple(ids) for location, ids in near.items()}
        commands = sorted((f"go to {r.name}", r.location) for r in self.receptacles.values())
        self.walks = {
            location: [command for command, place in commands if place != location]
            for location in {self.scene.agent_location, *near}
        }
        self.arrivals = {r.id: r.name for r in self.scene.receptacles}
        if self.syntax == "put":
            scene = self.scene
            locations = {scene.agent_location, *near}
            locations |= {i.location for i in scene.items if i.location is not None}
            place_names = name_entities(locations)
            self.arrivals = {r.id: place_names[r.location] for r in scene.receptacles}

    def _find_goal(self) -> None:
        goal = self.scene.goal
        needs = {
            "pick_clean_then_place_in_recep": self.treatable["clean"],
            "pick_heat_then_place_in_recep": self.treatable["heat"],
            "pick_cool_then_place_in_recep": self.treatable["cool"],
        }.get(goal.task_type, self.items.keys())
        self.of_type = tuple(
            id_
            for id_, item in self.items.items()
            if item.type == goal.object_type and id_ in needs
        )
        self.wanted = tuple(id_ for id_ in self.of_type if goal.item_id in (None, id_))
        self.goal_receptacles = tuple(
            r.id for r in self.scene.receptacles if r.type == goal.receptacle_type
        )
        self.lamps = tuple(
            item.id for item in self.scene.items if item.type == goal.lamp_type and item.toggleable
        )

    def parse(self, command: str) -> Action | None:
        """Return what a command means, in either syntax; None if it names nothing in this game."""
        spelt = self.spell(command)
        if spelt is None or not spelt.first:
            return spelt
        verb, first, second = spelt
        first_id, second_id = self.ids.get(first), self.ids.get(second, "")
        if first_id is None or (second and not second_id):
            return None
        return Action(verb, first_id, second_id)

    def spell(self, command: str) -> Action | None:
        """Return a command's verb and the names in it, known or not; None if it is of no form."""
        verb, _, rest = command.partition(" ")
        if verb in _ALONE:
            known = not rest and (verb != "help" or self.syntax == "move")
            return Action(verb) if known else None
        if verb in _WITH_ONE:
            return Action(verb, rest) if rest else None
        if verb == "go":
            return Action(verb, rest[3:]) if rest[:3] == "to " and len(rest) > 3 else None
        preposition = _PREPOSITIONS.get(verb)
        if preposition is None:
            return None
        first, _, second = rest.partition(preposition)
        if not first or not second:
            return None
        return Action("put" if verb == "move" else verb, first, second)


_ALONE = frozenset({"look", "inventory", "help"})
_WITH_ONE = frozenset({"open", "close", "examine", "use"})
_PREPOSITIONS = {
    "take": " from ",
    "move": " to ",
    "put": " in/on ",
    "clean": " with ",
    "heat": " with ",
    "cool": " with ",
    "slice": " with ",
}


def _listing_order(entity: Item | Receptacle) -> str:
    return entity.id.lower()
