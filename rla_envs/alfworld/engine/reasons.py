"""Why a command is not possible, in words that give nothing away.

The real engine says "Nothing happens." and no more, which players keep asking about (a receptacle
at the same place cannot be gone to, a thing must be held to be examined). The reasons here name
only what the player can know: a thing that does not exist and one that is elsewhere read the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .tables import Action

if TYPE_CHECKING:
    from .world import World

_DEED = {"clean": "cleaned", "heat": "heated", "cool": "cooled"}
_VERBS = (
    "go to, open, close, take, move, examine, use, heat, clean, cool, slice, look, inventory, help"
)
_FORMS = {
    "go": "go to (receptacle)",
    "open": "open (receptacle)",
    "close": "close (receptacle)",
    "take": "take (object) from (receptacle)",
    "examine": "examine (something)",
    "use": "use (object)",
    "heat": "heat (object) with (receptacle)",
    "clean": "clean (object) with (receptacle)",
    "cool": "cool (object) with (receptacle)",
    "slice": "slice (object) with (object)",
}
_PUT_FORM = {"move": "move (object) to (receptacle)", "put": "put (object) in/on (receptacle)"}


def why_not(world: World, command: str) -> str | None:
    """Return why a command is not possible now, e.g. "cabinet 1 is closed"; None if it is."""
    text = command.strip()
    spelt = world.tables.spell(text)
    if spelt is None:
        return _misspelt(world, text)
    # A name that does not exist stands for itself: the checks then fail as for a thing elsewhere.
    ids = world.tables.ids
    return obstacle(
        world,
        Action(spelt.verb, ids.get(spelt.first, spelt.first), ids.get(spelt.second, spelt.second)),
    )


def obstacle(world: World, action: Action) -> str | None:
    """Return what stands in the way of an action that was understood; None if nothing does."""
    verb, first, second = action
    if verb == "go":
        return _walk(world, first)
    if verb == "take":
        return _lift(world, first, second)
    if verb == "open" or verb == "close":
        return _door(world, verb, first)
    if verb == "examine":
        if first in world.tables.receptacles:
            return _reach(world, first)
        return None if world.holding == first else f"you are not holding {_name(world, first)}"
    if verb == "use":
        return _switch(world, first)
    if verb == "slice":
        return _cut(world, first, second)
    if verb in ("look", "inventory", "help"):
        return None
    if world.holding != first:
        return f"you are not holding {_name(world, first)}"
    return _place(world, first, second) if verb == "put" else _work(world, verb, first, second)


def _name(world: World, id_: str) -> str:
    return world.tables.names.get(id_, id_)


def _visible(world: World, item: str) -> bool:
    return any(
        item in world.contents[receptacle] and _reach_inside(world, receptacle) is None
        for receptacle in world.near
    )


def _walk(world: World, receptacle: str) -> str | None:
    known = world.tables.receptacles.get(receptacle)
    if known is None:
        return f"there is no receptacle {_name(world, receptacle)!r} in this room"
    return None if known.location != world.at else f"you are already at {known.name}"


def _reach(world: World, receptacle: str) -> str | None:
    known = world.tables.receptacles.get(receptacle)
    if known is None:
        return f"there is no receptacle {_name(world, receptacle)!r} in this room"
    return None if known.location == world.at else f"you are not at {known.name}"


def _reach_inside(world: World, receptacle: str) -> str | None:
    if reason := _reach(world, receptacle):
        return reason
    if world.tables.receptacles[receptacle].openable and receptacle not in world.opened:
        return f"{_name(world, receptacle)} is closed"
    return None


def _door(world: World, verb: str, receptacle: str) -> str | None:
    if reason := _reach(world, receptacle):
        return reason
    name = _name(world, receptacle)
    if not world.tables.receptacles[receptacle].openable:
        return f"{name} has no door"
    is_open = receptacle in world.opened
    if is_open == (verb == "open"):
        return f"{name} is already {'open' if is_open else 'closed'}"
    return None


def _lift(world: World, item: str, receptacle: str) -> str | None:
    if world.holding is not None:
        return f"your hands are full: you are carrying {_name(world, world.holding)}"
    if reason := _reach_inside(world, receptacle):
        return reason
    if item not in world.contents[receptacle]:
        return f"there is no {_name(world, item)} here"
    return None if world.tables.items[item].pickupable else f"{_name(world, item)} is fixed"


def _place(world: World, item: str, receptacle: str) -> str | None:
    if reason := _reach_inside(world, receptacle):
        return reason
    fits = (world.tables.receptacles[receptacle].type, world.tables.items[item].type)
    if fits in world.game.scene.can_contain:
        return None
    return f"{_name(world, item)} does not belong in/on {_name(world, receptacle)}"


def _work(world: World, verb: str, item: str, receptacle: str) -> str | None:
    if reason := _reach(world, receptacle):
        return reason
    if receptacle not in world.tables.appliances[verb]:
        return f"{_name(world, receptacle)} cannot {verb} anything"
    if item in world.tables.treatable[verb]:
        return None
    return f"{_name(world, item)} cannot be {_DEED[verb]}"


def _switch(world: World, item: str) -> str | None:
    known = world.tables.items.get(item)
    if known is not None and known.toggleable:
        if any(item in world.contents[receptacle] for receptacle in world.near):
            return None
    elif world.holding == item or _visible(world, item):
        return f"{_name(world, item)} has no switch"
    return f"there is no {_name(world, item)} here to switch on"


def _cut(world: World, item: str, knife: str) -> str | None:
    if world.holding != knife:
        return f"you are not holding {_name(world, knife)}"
    if knife not in world.tables.knives:
        return f"{_name(world, knife)} cannot cut"
    if item in world.tables.sliceable:
        if world.at in world.places.get(item, ()):
            return None
    elif world.holding == item or _visible(world, item):
        return f"{_name(world, item)} cannot be sliced"
    return f"there is no {_name(world, item)} here"


def _misspelt(world: World, command: str) -> str:
    verb = command.partition(" ")[0]
    form = _PUT_FORM[world.tables.syntax] if verb in _PUT_FORM else _FORMS.get(verb)
    if form is None:
        return f"{command!r} is no command; the verbs are {_VERBS}"
    return f"{command!r} has not the form {form!r}"
