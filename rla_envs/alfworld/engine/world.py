"""The episode: a state that changes by commands, and the text that goes with it.

Text, admissible commands and victory equal those of TextWorld's PDDL engine on the same game, the
oddities included (docs/engine.md lists them). One thing is deliberately kinder: the other
generation's way to put things down ("put X in/on Y" or "move X to Y") is understood too.
"""

from __future__ import annotations

from bisect import insort

from .commands import admissible_commands, put_command
from .game import Game
from .grammar import HELP
from .narration import intro, inventory_text, item_text, receptacle_text, view_text
from .reasons import obstacle
from .tables import Action

NOTHING_HAPPENS = "Nothing happens."


class World:
    """One episode of a game.

    Attributes:
        game: What is played.
        tables: The game's look-up tables.
        feedback: Text after the last command; at first the intro with the task sentence.
        won: Whether the goal holds now. It can stop holding if the episode goes on.
        at: Location of the agent.
        holding: id of the item in hand, or None.
        contents: Receptacle id -> ids of the items in it, in listing order. In official games a
            thing can be in two receptacles, and then also in hand and in one.
        opened: ids of the open receptacles (of those that can be closed).
        clean, hot, cool, sliced, toggled: ids of the items of which that is true.
        places: Item id -> locations where the domain believes it to be (``objectAtLocation``).
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
        """Start an episode of game."""
        self.game = game
        self.tables = game.tables
        scene = game.scene
        self.at = scene.agent_location
        self.holding: str | None = None
        self.opened = {r.id for r in scene.receptacles if r.openable and r.opened}
        self.contents: dict[str, list[str]] = {id_: [] for id_ in self.tables.receptacles}
        self.places: dict[str, set[str]] = {}
        for id_, item in self.tables.items.items():
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
        self.feedback = intro(self)

    @property
    def near(self) -> tuple[str, ...]:
        """The ids of the receptacles at the agent's location, in listing order."""
        return self.tables.near.get(self.at, ())

    def copy(self) -> World:
        """Return an independent world in the same state."""
        twin = World.__new__(World)
        twin.game, twin.tables = self.game, self.tables
        twin.at, twin.holding = self.at, self.holding
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
            self.feedback = NOTHING_HAPPENS
        else:
            self.feedback = self._do(action)
        return self.feedback

    def resolve(self, command: str) -> str | None:
        """Return the admissible command that a command means, or None."""
        text = command.strip()
        action = self.tables.parse(text)
        if action is None or obstacle(self, action) is not None:
            return None
        return put_command(self.tables, *action[1:]) if action.verb == "put" else text

    def admissible(self) -> list[str]:
        """Return all commands that are possible now, sorted."""
        if self._admissible is None:
            self._admissible = admissible_commands(self)
        return list(self._admissible)

    def _do(self, action: Action) -> str:
        verb, first, second = action
        if verb == "look":
            return view_text(self)
        if verb == "inventory":
            return inventory_text(self)
        if verb == "help":
            return HELP
        if verb == "examine":
            is_item = first in self.tables.items
            return item_text(self, first) if is_item else receptacle_text(self, first)
        name, other = self.tables.names[first], self.tables.names.get(second, "")
        text = ""
        if verb == "go":
            self.at = self.tables.receptacles[first].location
            text = f"You arrive at {self.tables.arrivals[first]}. {receptacle_text(self, first)}"
        elif verb == "open":
            self.opened.add(first)
            text = f"You open the {name}. {receptacle_text(self, first)}"
        elif verb == "close":
            self.opened.discard(first)
            text = f"You close the {name}."
        elif verb == "take":
            self._take(first, second)
            text = f"You pick up the {name} from the {other}."
        elif verb == "put":
            self._put(first, second)
            is_move = self.tables.syntax == "move"
            text = (
                f"You move the {name} to the {other}."
                if is_move
                else (f"You put the {name} in/on the {other}.")
            )
        elif verb == "use":
            # Nothing switches off again: the domain only ever adds isToggled.
            self.toggled.add(first)
            text = f"You turn on the {name}."
        elif verb == "slice":
            self.sliced.add(first)
            text = f"You sliced the {name} with the {other}."
        else:
            self._treat(verb, first)
            text = f"You {verb} the {name} using the {other}."
        self._admissible = None
        self.won = self._goal_holds()
        return text

    def _take(self, item: str, receptacle: str) -> None:
        self.holding = item
        self.contents[receptacle].remove(item)
        self.taken.setdefault(item, set()).add(receptacle)
        self.places.setdefault(item, set()).discard(self.at)

    def _put(self, item: str, receptacle: str) -> None:
        self.holding = None
        if item not in self.contents[receptacle]:
            insort(self.contents[receptacle], item, key=self.tables.rank.__getitem__)
        self.taken.setdefault(item, set()).discard(receptacle)
        self.places.setdefault(item, set()).add(self.at)

    def _treat(self, verb: str, item: str) -> None:
        if verb == "clean":
            self.clean.add(item)
        elif verb == "heat":
            self.hot.add(item)
            self.cool.discard(item)
        else:
            self.cool.add(item)
            self.hot.discard(item)

    def _goal_holds(self) -> bool:
        tables, task_type = self.tables, self.game.scene.goal.task_type
        if task_type == "look_at_obj_in_light":
            return self.holding in tables.wanted and any(
                lamp in self.toggled and lamp in self.contents[receptacle]
                for lamp in tables.lamps
                for receptacle in self.near
            )
        wanted = [
            item
            for item in tables.wanted
            if (task_type != "pick_clean_then_place_in_recep" or item in self.clean)
            and (task_type != "pick_heat_then_place_in_recep" or item in self.hot)
            and (task_type != "pick_cool_then_place_in_recep" or item in self.cool)
        ]
        for receptacle in tables.goal_receptacles:
            there = self.contents[receptacle]
            if not any(item in there for item in wanted):
                continue
            if task_type != "pick_two_obj_and_place":
                return True
            if sum(item in there for item in tables.of_type) > 1:
                return True
        return False
