"""What the game says about a state: the room, a receptacle, a thing, the hands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .grammar import listing

if TYPE_CHECKING:
    from .world import World


def intro(world: World) -> str:
    """Return the first text of an episode."""
    overview = (f"a {receptacle.name}" for receptacle in world.tables.receptacles.values())
    view = view_text(world) if world.near else _middle(listing(overview))
    instruction = world.game.scene.instruction
    return f"-= Welcome to TextWorld, ALFRED! =-\n\n{view}\n\nYour task is to: {instruction}"


def view_text(world: World) -> str:
    """Return what ``look`` says."""
    if not world.near:
        return _middle("nothing")
    names, rank = world.tables.names, world.tables.rank
    # TextWorld learns that a thing is not in a receptacle only when it is taken out; put into
    # another receptacle at the same place, the thing counts as lying "next to" the first.
    beside = [
        f"a {names[item]}"
        for item in sorted(world.taken, key=rank.__getitem__)
        if world.at in world.places[item]
        for receptacle in world.near
        if receptacle in world.taken[item]
    ]
    facing = listing(names[receptacle] for receptacle in world.near)
    return f"You are facing the {facing}. Next to it, you see {listing(beside)}."


def receptacle_text(world: World, receptacle: str) -> str:
    """Return what examining a receptacle says; arriving at it and opening it end with the same."""
    tables = world.tables
    name = tables.names[receptacle]
    if tables.receptacles[receptacle].openable and receptacle not in world.opened:
        return f"The {name} is closed."
    things = listing([f"a {tables.names[item]}" for item in world.contents[receptacle]])
    if tables.receptacles[receptacle].openable:
        return f"The {name} is open. In it, you see {things}."
    return f"On the {name}, you see {things}."


def item_text(world: World, item: str) -> str:
    """Return what examining a thing says. The cases are those of the grammar, in its order."""
    tables = world.tables
    known = tables.items[item]
    name = known.name
    if known.vessel:
        inside = sorted(known.inside, key=tables.rank.__getitem__)
        things = listing(f"a {tables.names[inner]}" for inner in inside)
        return f"This is a normal {name}. In it, you see {things}."
    sliced = "sliced " if item in world.sliced else ""
    warmth = "hot" if item in world.hot else "cool" if item in world.cool else ""
    if item in world.clean:
        return f"This is a {f'{warmth} and clean' if warmth else 'clean'} {sliced}{name}."
    if warmth == "cool" and not sliced:
        return f"This is a cold {name}."
    if warmth:
        return f"This is a {warmth} {sliced}{name}."
    if known.toggleable and item in world.toggled:
        return f"This {name} is on."
    if known.sliceable and sliced:
        return f"This is a sliced {name}."
    return f"There's nothing special about {name}."


def inventory_text(world: World) -> str:
    """Return what ``inventory`` says."""
    if world.holding is None:
        return "You are not carrying anything."
    return f"You are carrying: a {world.tables.names[world.holding]}."


def _middle(things: str) -> str:
    return f"You are in the middle of a room. Looking quickly around you, you see {things}."
