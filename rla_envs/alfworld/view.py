"""The compact view: what the agent knows, in few words, so that no history is needed.

One line of lower-case words and numbers separated by blanks; parts are separated by "|"::

    task : put a clean mug in cabinet . | at : sinkbasin 1 : fork 1 | hand : mug 1 clean
    | tool : sinkbasin 1 | goal : cabinet 1 2 3 4 | seen : mug 2 in countertop 1
    | last : clean mug 1 with sinkbasin 1

``at`` names each receptacle in reach with its state and content; ``tool`` where the goal's change
of state is made; ``goal`` where the thing must end up; ``done`` what is there already; ``seen`` the
things the task is about and where they are; ``new`` the places whose content is still unknown,
numbers grouped by kind, as long as there is something to search for; ``last`` the last command,
with "nothing happens" if it was inadmissible. Parts without content are left out.

Nothing appears that the agent has not been told: names of places come from the first observation,
contents from arriving at an open place, opening or examining it, states from what the agent did or
examined. A place next to the one the agent went to counts as unknown until it is examined.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from rla_envs.alfworld.engine import World
from rla_envs.alfworld.engine.knowledge import Knowledge
from rla_envs.alfworld.engine.scene import Item, Receptacle, Scene

Found = tuple[Item, Receptacle]
"""A thing and where it is."""

TOOL_TYPES = {
    "pick_clean_then_place_in_recep": ("SinkBasin", "Sink"),
    "pick_heat_then_place_in_recep": ("Microwave",),
    "pick_cool_then_place_in_recep": ("Fridge",),
}
"""Task type -> receptacle types where its change of state is made."""

SHOWN_THINGS = 6
"""Most things listed as the content of one receptacle in reach, relevant ones first."""
SHOWN_SEEN = 4
"""Most relevant things listed under seen."""
SHOWN_NUMBERS = 4
"""Most receptacles of one kind listed under goal and new; others follow when these are known."""


_CAUSED = {"clean": "clean", "heat": "hot", "cool": "cool", "use": "on"}
_NEEDED = {
    "pick_clean_then_place_in_recep": "clean",
    "pick_heat_then_place_in_recep": "hot",
    "pick_cool_then_place_in_recep": "cool",
}
_TREATED = re.compile(r"(examine|use|clean|heat|cool) (.+?)(?: with .+)?")


class EpisodeMemory:
    """What the agent has been told so far in an episode.

    It reads the world it is given, but only where something was shown: after that only the agent
    changes things, so the present content of a shown receptacle is what the agent knows.

    Attributes:
        world: The running world; the memory never changes it.
        knowledge: The receptacles whose content was shown, the things that were handled.
        states: Item id -> what the agent did to it or read of it: "clean", "hot", "cool", "on".
        last: The last command, None before the first.
        happened: Whether it was admissible.
        fixed: The parts of the view that no command changes.
    """

    def __init__(self, world: World) -> None:
        """Start at the first observation: places are named, contents are not."""
        self.world = world
        self.knowledge = Knowledge()
        self.states: dict[str, set[str]] = {}
        self.last: str | None = None
        self.happened = True
        scene = world.game.scene
        self.fixed = _fixed(scene)
        self._places = {place.id: place for place in scene.receptacles}
        self._items = {item.id: item for item in scene.items}
        self._item_by_name = {item.name: item for item in scene.items}

    def update(self, command: str, *, happened: bool = True) -> None:
        """Take in the answer to a command that the world has already run.

        Args:
            command: The engine's own form of the command, or what the agent wrote.
            happened: False when it was inadmissible.
        """
        self.last, self.happened = command, happened
        if not happened:
            return
        self.knowledge.update(self.world, command)
        match = _TREATED.fullmatch(command)
        item = self._item_by_name.get(match[2]) if match else None
        if match and item is not None:
            self._learn(match[1], item.id)

    def _learn(self, verb: str, item: str) -> None:
        known = self.states.setdefault(item, set())
        if verb in ("heat", "cool"):
            known -= {"hot", "cool"}
        if verb == "examine":
            known |= {word for word, ids in self._true_states() if item in ids}
        else:
            known.add(_CAUSED[verb])

    def _true_states(self) -> tuple[tuple[str, set[str]], ...]:
        world = self.world
        return (
            ("clean", world.clean),
            ("hot", world.hot),
            ("cool", world.cool),
            ("on", world.toggled),
        )

    def is_open(self, place: Receptacle) -> bool:
        """Return whether things can be seen and reached in place."""
        return not place.openable or place.id in self.world.opened

    def in_reach(self) -> list[Receptacle]:
        """Return the receptacles at the agent's place."""
        return [self._places[place] for place in self.world.near]

    def held(self) -> Item | None:
        """Return what the agent holds."""
        return None if self.world.holding is None else self._items[self.world.holding]

    def content(self, place: Receptacle) -> list[Item]:
        """Return the things in place that the agent knows of."""
        things = self.world.contents[place.id]
        if not self.knows(place):
            things = [item for item in things if item in self.knowledge.handled]
        return [self._items[item] for item in things]

    def knows(self, place: Receptacle) -> bool:
        """Return whether the content of place was shown."""
        return place.id in self.knowledge.revealed


def compact_view(memory: EpisodeMemory) -> str:
    """Return what memory holds as one line of words; see the module for its parts."""
    known = _known(memory)
    finished = _finished(memory, known)
    task, tool, goal = memory.fixed
    parts = [
        ("task", task),
        ("at", _reach(memory)),
        ("hand", _hand(memory)),
        ("tool", tool),
        ("goal", goal),
        ("done", _seen(memory, [pair for pair in known if pair[0].id in finished])),
        ("seen", _seen(memory, [pair for pair in known if pair[0].id not in finished])),
        ("new", _unknown(memory) if _is_searching(memory, known, finished) else ""),
        ("last", _last(memory)),
    ]
    return " | ".join(f"{name} : {content}" for name, content in parts if content)


def words(text: str) -> str:
    """Return text in lower case with words, numbers and punctuation separated by single blanks."""
    return " ".join(re.findall(r"[a-z]+|[0-9]+|[^\sa-z0-9]", text.lower()))


def _fixed(scene: Scene) -> tuple[str, str, str]:
    """Return the parts that no command changes: task, tool, goal."""
    tools = TOOL_TYPES.get(scene.goal.task_type, ())
    return (
        words(scene.instruction),
        _grouped(place for place in scene.receptacles if place.type in tools),
        _grouped(place for place in scene.receptacles if place.type == scene.goal.receptacle_type),
    )


def _reach(memory: EpisodeMemory) -> str:
    here = memory.in_reach()
    return " ; ".join(_place_here(memory, place) for place in here) if here else "middle"


def _place_here(memory: EpisodeMemory, place: Receptacle) -> str:
    if not memory.is_open(place):
        return f"{place.name} closed"
    state = " open" if place.openable else ""
    things = sorted(memory.content(place), key=lambda item: not _matters(memory, item))
    listed = " , ".join(_thing(memory, item) for item in things[:SHOWN_THINGS])
    if not listed:
        return f"{place.name}{state} : empty" if memory.knows(place) else f"{place.name}{state}"
    return f"{place.name}{state} : {listed}"


def _hand(memory: EpisodeMemory) -> str:
    held = memory.held()
    return "empty" if held is None else _thing(memory, held)


def _thing(memory: EpisodeMemory, item: Item) -> str:
    """Return the name with the states that the agent knows of."""
    known = memory.states.get(item.id, ())
    return " ".join([item.name, *(word for word in _CAUSED.values() if word in known)])


def _is_lamp(memory: EpisodeMemory, item: Item) -> bool:
    return item.type == memory.world.game.scene.goal.lamp_type


def _is_target(memory: EpisodeMemory, item: Item) -> bool:
    goal = memory.world.game.scene.goal
    # Of two things only one can be named; any other of the kind does for the second.
    if goal.item_id is not None and goal.task_type != "pick_two_obj_and_place":
        return item.id == goal.item_id
    return item.type == goal.object_type


def _matters(memory: EpisodeMemory, item: Item) -> bool:
    return _is_lamp(memory, item) or _is_target(memory, item)


def _known(memory: EpisodeMemory) -> list[Found]:
    """Return the things that matter and where they are, lamps first, as far as they were shown."""
    found = [
        (item, place)
        for place in memory.world.game.scene.receptacles
        for item in memory.content(place)
        if _matters(memory, item)
    ]
    return sorted(found, key=lambda pair: not _is_lamp(memory, pair[0]))


def _seen(memory: EpisodeMemory, pairs: Sequence[Found]) -> str:
    return " , ".join(
        f"{_thing(memory, item)} in {place.name}" for item, place in pairs[:SHOWN_SEEN]
    )


def _finished(memory: EpisodeMemory, known: Sequence[Found]) -> set[str]:
    """Return ids of the things that are where and how the goal wants them.

    Two things must end up in one receptacle, so only the fullest one counts.
    """
    goal = memory.world.game.scene.goal
    needed = _NEEDED.get(goal.task_type)
    there: dict[str, set[str]] = {}
    for item, place in known:
        ready = needed is None or needed in memory.states.get(item.id, ())
        if place.type == goal.receptacle_type and ready:
            there.setdefault(place.id, set()).add(item.id)
    if goal.task_type == "pick_two_obj_and_place":
        return max(there.values(), key=len, default=set[str]())
    return {item for items in there.values() for item in items}


def _is_searching(memory: EpisodeMemory, known: Sequence[Found], finished: Collection[str]) -> bool:
    """Return whether something that the next steps need has not been seen yet."""
    goal, held = memory.world.game.scene.goal, memory.held()
    if len(finished) >= (2 if goal.task_type == "pick_two_obj_and_place" else 1):
        return False
    if goal.lamp_type is not None and not any(_is_lamp(memory, item) for item, _ in known):
        return True
    has_target = held is not None and _is_target(memory, held)
    return not has_target and not any(
        _is_target(memory, item) and item.id not in finished for item, _ in known
    )


def _unknown(memory: EpisodeMemory) -> str:
    places = memory.world.game.scene.receptacles
    return _grouped(place for place in places if not memory.knows(place))


def _grouped(places: Iterable[Receptacle]) -> str:
    """Return "cabinet 1 2 3 , drawer 1": names grouped by kind, in alphabetical order."""
    kinds: dict[str, list[str]] = {}
    for place in places:
        kind, _, number = place.name.rpartition(" ")
        kinds.setdefault(kind, []).append(number)
    return " , ".join(
        f"{kind} {' '.join(sorted(numbers, key=_by_number)[:SHOWN_NUMBERS])}"
        for kind, numbers in sorted(kinds.items())
    )


def _by_number(number: str) -> tuple[int, str]:
    return (int(number) if number.isdigit() else 0, number)


def _last(memory: EpisodeMemory) -> str:
    if memory.last is None:
        return ""
    return words(memory.last) + ("" if memory.happened else " : nothing happens")
