"""Which commands are possible in a state, sorted as TextWorld sorts them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .tables import Tables

if TYPE_CHECKING:
    from .world import World


def admissible_commands(world: World) -> list[str]:
    """Return the sorted commands: verbs come in alphabetical order, then what they act on.

    Built by verb, so that the long constant part (walking) is never sorted again.
    """
    tables, near, held = world.tables, world.near, world.holding
    names = tables.names
    closed = [r for r in near if tables.receptacles[r].openable and r not in world.opened]
    within_reach = [r for r in near if r not in closed]
    puts: list[str] = []
    takes: list[str] = []
    if held is None:
        takes = [
            f"take {names[item]} from {names[r]}"
            for r in within_reach
            for item in world.contents[r]
            if tables.items[item].pickupable
        ]
    else:
        puts = [
            put_command(tables, held, r)
            for r in within_reach
            if (tables.receptacles[r].type, tables.items[held].type) in tables.scene.can_contain
        ]
    in_sight = [*near] if held is None else [*near, held]
    is_move = tables.syntax == "move"
    return [
        *_uses_of(world, "clean"),
        *sorted(f"close {names[r]}" for r in near if r in world.opened),
        *_uses_of(world, "cool"),
        *sorted(f"examine {names[id_]}" for id_ in in_sight),
        *tables.walks[world.at],
        *_uses_of(world, "heat"),
        *(("help",) if is_move else ()),
        "inventory",
        "look",
        *(sorted(puts) if is_move else ()),
        *sorted(f"open {names[r]}" for r in closed),
        *(() if is_move else sorted(puts)),
        *_cuts(world),
        *sorted(takes),
        *sorted(
            {f"use {names[i]}" for i in tables.switches for r in near if i in world.contents[r]}
        ),
    ]


def put_command(tables: Tables, item: str, receptacle: str) -> str:
    """Return the command that puts item into receptacle, in the game's own syntax."""
    name, place = tables.names[item], tables.names[receptacle]
    return f"move {name} to {place}" if tables.syntax == "move" else f"put {name} in/on {place}"


def _uses_of(world: World, verb: str) -> list[str]:
    """Return the commands that clean, heat or cool what is held with what stands here."""
    tables, held = world.tables, world.holding
    if held is None or held not in tables.treatable[verb]:
        return []
    names = tables.names
    helpers = tables.appliances[verb].intersection(world.near)
    return sorted(f"{verb} {names[held]} with {names[receptacle]}" for receptacle in helpers)


def _cuts(world: World) -> list[str]:
    """Return the slicing commands: the knife in hand, the thing believed to be at this location."""
    tables, held = world.tables, world.holding
    if held is None or held not in tables.knives:
        return []
    return sorted(
        f"slice {tables.names[item]} with {tables.names[held]}"
        for item in tables.sliceable
        if world.at in world.places.get(item, ())
    )
