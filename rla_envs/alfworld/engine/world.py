"""The episode: a state that changes by commands, and the text that goes with it.

Text, admissible commands and victory equal those of TextWorld's PDDL engine on the same game, the
oddities included (docs/engine.md lists them). One thing is deliberately kinder: the other
generation's way to put things down ("put X in/on Y" or "move X to Y") is understood too.
"""

from __future__ import annotations

from bisect import insort

from .game import Game
from .grammar import HELP, listing
from .reasons import obstacle
from .tables import Action

_NOTHING = "Nothing happens."


class World:
    """One episode of a game.

    Attributes:
        game: What is played.
        feedback: Text after the last command; at first the intro with the task sentence.
        won: Whether the goal holds now. It can stop holding if the episode goes on.
        at: Location of the agent.
        holding: id of the item in hand, or None.
        contents: Receptacle id -> ids of the items in it, in listing order.
        opened: ids of the open receptacles (of those that can be closed).
        clean, hot, cool, sliced, toggled: ids of the items of which that is true.
        places: Item id -> locations where the domain believes it (``objectAtLocation``).
        taken: Item id -> receptacles it was taken from and not put back to since.
    """

    __slots__ = (
        "_admissible",
        "at",
        "clean",
        "contents",
        "cool",
        "feedback",
        "game",
        "holding",
        "hot",
        "opened",
        "places",
        "sliced",
        "tables",
        "taken",
        "toggled",
        "won",
    )

    def __init__(self, game: Game) -> None:
        self.game = game
        self.tables = game.tables
        tables, scene = self.tables, game.scene
        self.at = scene.agent_location
        self.holding: str | None = None
        self.opened = {r.id for r in scene.receptacles if r.opened}
        self.contents: dict[str, list[str]] = {id_: [] for id_ in tables.receptacles}
        self.places: dict[str, set[str]] = {}
        for id_, item in tables.items.items():
            for receptacle in item.receptacles:
                self.contents[receptacle].append(id_)
            if item.location is not None:
                self.places[id_] = {item.location}
        self.taken: dict[str, set[str]] = {}
        self.clean = {i.id for i in scene.items if "clean" in i.states}
        self.hot = {i.id for i in scene.items if "hot" in i.states}
        self.cool = {i.id for i in scene.items if "cool" in i.states}
        self.sliced = {i.id for i in scene.items if "sliced" in i.states}
        self.toggled = {i.id for i in scene.items if "toggled" in i.states}
        self._admissible: list[str] | None = None
        self.won = self._goal_holds()
        view = self._view() if self.near else _middle(tables.overview())
        self.feedback = (
            f"-= Welcome to TextWorld, ALFRED! =-\n\n{view}\n\nYour task is to: {scene.instruction}"
        )

    @property
    def near(self) -> tuple[str, ...]:
        """ids of the receptacles at the agent's location, in listing order."""
        return self.tables.near.get(self.at, ())

    def copy(self) -> World:
        """Return an independent world in the same state."""
        twin = World.__new__(World)
        twin.game, twin.tables, twin.at, twin.holding = (
            self.game,
            self.tables,
            self.at,
            self.holding,
        )
        twin.feedback, twin.won = self.feedback, self.won
        twin.opened, twin.clean, twin.hot = set(self.opened), set(self.clean), set(self.hot)
        twin.cool, twin.sliced, twin.toggled = set(self.cool), set(self.sliced), set(self.toggled)
        twin.contents = {id_: list(items) for id_, items in self.contents.items()}
        twin.places = {id_: set(places) for id_, places in self.places.items()}
        twin.taken = {id_: set(receptacles) for id_, receptacles in self.taken.items()}
        twin._admissible = self._admissible
        return twin

    def step(self, command: str) -> str:
        """Carry out a command and return the feedback; "Nothing happens." if it is not possible."""
        action = self.tables.parse(command.strip())
        if action is None or obstacle(self, action) is not None:
            self.feedback = _NOTHING
        else:
            self.feedback = self._do(action)
        return self.feedback

    def resolve(self, command: str) -> str | None:
        """Return the admissible command that a command means, or None."""
        text = command.strip()
        action = self.tables.parse(text)
        if action is None or obstacle(self, action) is not None:
            return None
        return self._put_command(action.first, action.second) if action.verb == "put" else text

    def admissible(self) -> list[str]:
        """Return all commands that are possible now, sorted."""
        if self._admissible is None:
            self._admissible = self._list_commands()
        return list(self._admissible)

    # What a command does.

    def _do(self, action: Action) -> str:
        verb, first, second = action
        names = self.tables.names
        if verb == "go":
            self.at = self.tables.receptacles[first].location
            self._changed()
            return f"You arrive at {self.tables.arrivals[first]}. {self._inside(first)}"
        if verb == "examine":
            return self._describe(first) if first in self.tables.rank else self._inside(first)
        if verb == "look":
            return self._view()
        if verb == "inventory":
            if self.holding is None:
                return "You are not carrying anything."
            return f"You are carrying: a {names[self.holding]}."
        if verb == "help":
            return HELP
        text = _DEEDS[verb](self, first, second)
        self._changed()
        return text

    def _open(self, receptacle: str, _: str) -> str:
        self.opened.add(receptacle)
        return f"You open the {self.tables.names[receptacle]}. {self._inside(receptacle)}"

    def _close(self, receptacle: str, _: str) -> str:
        self.opened.discard(receptacle)
        return f"You close the {self.tables.names[receptacle]}."

    def _take(self, item: str, receptacle: str) -> str:
        self.holding = item
        self.contents[receptacle].remove(item)
        self.taken.setdefault(item, set()).add(receptacle)
        self.places.setdefault(item, set()).discard(self.at)
        names = self.tables.names
        return f"You pick up the {names[item]} from the {names[receptacle]}."

    def _put(self, item: str, receptacle: str) -> str:
        self.holding = None
        if item not in self.contents[receptacle]:
            insort(self.contents[receptacle], item, key=self.tables.rank.__getitem__)
        self.taken.setdefault(item, set()).discard(receptacle)
        self.places.setdefault(item, set()).add(self.at)
        name, place = self.tables.names[item], self.tables.names[receptacle]
        if self.tables.syntax == "move":
            return f"You move the {name} to the {place}."
        return f"You put the {name} in/on the {place}."

    def _clean(self, item: str, receptacle: str) -> str:
        self.clean.add(item)
        return f"You clean the {self.tables.names[item]} using the {self.tables.names[receptacle]}."

    def _heat(self, item: str, receptacle: str) -> str:
        self.hot.add(item)
        self.cool.discard(item)
        return f"You heat the {self.tables.names[item]} using the {self.tables.names[receptacle]}."

    def _cool(self, item: str, receptacle: str) -> str:
        self.cool.add(item)
        self.hot.discard(item)
        return f"You cool the {self.tables.names[item]} using the {self.tables.names[receptacle]}."

    def _use(self, item: str, _: str) -> str:
        self.toggled.add(item)
        return f"You turn on the {self.tables.names[item]}."

    def _slice(self, item: str, knife: str) -> str:
        self.sliced.add(item)
        return f"You sliced the {self.tables.names[item]} with the {self.tables.names[knife]}."

    def _changed(self) -> None:
        self._admissible = None
        self.won = self._goal_holds()

    def _goal_holds(self) -> bool:
        goal, tables = self.game.scene.goal, self.tables
        targets = tables.targets if goal.item_id is None else (goal.item_id,)
        if goal.task_type == "look_at_obj_in_light":
            return self.holding in targets and any(
                lamp in self.toggled and lamp in self.contents[receptacle]
                for lamp in tables.lamps
                for receptacle in self.near
            )
        if goal.task_type == "pick_two_obj_and_place":
            for receptacle in tables.goal_receptacles:
                there = self.contents[receptacle]
                if any(item in there for item in targets):
                    if sum(item in there for item in tables.targets) > 1:
                        return True
            return False
        ready = {
            "pick_clean_then_place_in_recep": self.clean,
            "pick_heat_then_place_in_recep": self.hot,
            "pick_cool_then_place_in_recep": self.cool,
        }.get(goal.task_type, targets)
        return any(
            item in self.contents[receptacle]
            for item in targets
            if item in ready
            for receptacle in tables.goal_receptacles
        )

    # What a command says.

    def _inside(self, receptacle: str) -> str:
        tables = self.tables
        name = tables.names[receptacle]
        things = listing([f"a {tables.names[item]}" for item in self.contents[receptacle]])
        if not tables.receptacles[receptacle].openable:
            return f"On the {name}, you see {things}."
        if receptacle not in self.opened:
            return f"The {name} is closed."
        return f"The {name} is open. In it, you see {things}."

    def _view(self) -> str:
        if not self.near:
            return _middle("nothing")
        names = self.tables.names
        # TextWorld learns that a thing is not in a receptacle only when it is taken out; put back
        # into another one at the same place, it counts as lying "next to" the first.
        beside = [
            f"a {names[item]}"
            for item in sorted(self.taken, key=self.tables.rank.__getitem__)
            if self.at in self.places[item]
            for receptacle in self.near
            if receptacle in self.taken[item]
        ]
        facing = listing(names[receptacle] for receptacle in self.near)
        return f"You are facing the {facing}. Next to it, you see {listing(beside)}."

    def _describe(self, item: str) -> str:
        description = self.tables.items[item]
        name = description.name
        if description.vessel:
            inside = sorted(description.inside, key=self.tables.rank.__getitem__)
            things = listing(f"a {self.tables.names[inner]}" for inner in inside)
            return f"This is a normal {name}. In it, you see {things}."
        clean, sliced = item in self.clean, item in self.sliced
        warmth = "hot" if item in self.hot else "cool" if item in self.cool else ""
        if warmth and clean:
            return f"This is a {warmth} and clean {'sliced ' * sliced}{name}."
        if warmth and not sliced:
            return f"This is a {'cold' if warmth == 'cool' else warmth} {name}."
        if warmth or clean:
            return f"This is a {warmth or 'clean'} {'sliced ' * sliced}{name}."
        if item in self.toggled:
            return f"This {name} is on."
        return f"This is a sliced {name}." if sliced else f"There's nothing special about {name}."

    # What is possible.

    def _list_commands(self) -> list[str]:
        """Return the sorted commands: verbs come in alphabetical order, then their objects."""
        tables, near, held = self.tables, self.near, self.holding
        names = tables.names
        closed = [r for r in near if tables.receptacles[r].openable and r not in self.opened]
        doors = [r for r in near if r in self.opened]
        within_reach = [r for r in near if r not in closed]
        examine = [f"examine {names[r]}" for r in near]
        work: dict[str, list[str]] = {"clean": [], "heat": [], "cool": []}
        put: list[str] = []
        slice_: list[str] = []
        take: list[str] = []
        if held is not None:
            item = tables.items[held]
            examine.append(f"examine {item.name}")
            for verb, able in zip(
                work, (item.cleanable, item.heatable, item.coolable), strict=True
            ):
                if able:
                    helpers = tables.appliances[verb].intersection(near)
                    work[verb] = [f"{verb} {item.name} with {names[r]}" for r in helpers]
            for r in within_reach:
                if (tables.receptacles[r].type, item.type) in self.game.scene.can_contain:
                    put.append(self._put_command(held, r))
            if held in tables.knives:
                slice_ = [
                    f"slice {names[i]} with {item.name}"
                    for i in tables.sliceable
                    if self.at in self.places.get(i, ())
                ]
        else:
            take = [
                f"take {names[i]} from {names[r]}"
                for r in within_reach
                for i in self.contents[r]
                if tables.items[i].pickupable
            ]
        use = {f"use {names[i]}" for i in tables.switches for r in near if i in self.contents[r]}
        return [
            *sorted(work["clean"]),
            *sorted(f"close {names[r]}" for r in doors),
            *sorted(work["cool"]),
            *sorted(examine),
            *tables.walks[self.at],
            *sorted(work["heat"]),
            *(("help",) if tables.syntax == "move" else ()),
            "inventory",
            "look",
            *(sorted(put) if tables.syntax == "move" else ()),
            *sorted(f"open {names[r]}" for r in closed),
            *(sorted(put) if tables.syntax == "put" else ()),
            *sorted(slice_),
            *sorted(take),
            *sorted(use),
        ]

    def _put_command(self, item: str, receptacle: str) -> str:
        name, place = self.tables.names[item], self.tables.names[receptacle]
        if self.tables.syntax == "move":
            return f"move {name} to {place}"
        return f"put {name} in/on {place}"


def _middle(things: str) -> str:
    return f"You are in the middle of a room. Looking quickly around you, you see {things}."


_DEEDS = {
    "open": World._open,
    "close": World._close,
    "take": World._take,
    "put": World._put,
    "clean": World._clean,
    "heat": World._heat,
    "cool": World._cool,
    "use": World._use,
    "slice": World._slice,
}
