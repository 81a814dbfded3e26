"""Furnishes a room for a goal: receptacles, locations, things and where they lie."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from random import Random
from typing import Literal

from rla_envs.alfworld.engine import Goal, Item, Receptacle, Scene, name_entities

from .goals import TREATMENTS, GoalChoice, instruction_of
from .vocabulary import FITS, FLAGS, LAMPS, OPENABLE, ROOM_ITEMS, RoomKind, Variant

Size = Literal["small", "medium", "large"]

_RECEPTACLES = {"small": (5, 8), "medium": (10, 16), "large": (17, 40)}
_ITEMS = {"small": (5, 9), "medium": (10, 18), "large": (18, 35)}
_MOST_OF_A_KIND = {"small": 3, "medium": 5, "large": 99}
_SHARED_LOCATION = {"small": 0.0, "medium": 0.05, "large": 0.1}
"""Share of receptacles that stand where the one before stands (official games: 0.09)."""

_ALIKE = 3
"""Most things of one type beside those of the goal."""


def furnish(choice: GoalChoice, size: Size, rng: Random) -> Scene:
    """Return a room of a size in which choice.goal can be asked for and does not hold yet.

    Things of the goal's type lie where the goal does not want them (two of them: at most one lies
    there), and not in the appliance that would change them.
    """
    types = _receptacle_types(choice.variant, choice.goal, size, rng)
    receptacles = _receptacles(types, size, rng)
    items = _items(choice, receptacles, size, rng)
    return Scene(
        receptacles=tuple(receptacles),
        items=tuple(items),
        agent_location="loc_bar_0",
        goal=choice.goal,
        instruction=instruction_of(choice.goal, second_wording=rng.random() < 0.5),
        can_contain=_can_contain(choice.variant.kind, frozenset(types)),
    )


def entity_ids(types: list[str]) -> list[str]:
    """Return ids for entities of these types, so that the n-th of a type is named "type n".

    Numbers in ids fall, because TextWorld counts names from the end of the alphabet; an entity
    added later, with the next lower number, leaves the names of the others alone.
    """
    seen: Counter[str] = Counter()
    ids: list[str] = []
    for type_ in types:
        seen[type_] += 1
        number = f"{100 - seen[type_]:02d}"
        if type_.endswith("Basin"):
            ids.append(f"{type_.removesuffix('Basin')}_bar_{number}_bar_{type_}")
        else:
            ids.append(f"{type_}_bar_{number}")
    return ids


def _receptacle_types(variant: Variant, goal: Goal, size: Size, rng: Random) -> list[str]:
    """Draw how much of what stands in the room: first what the goal needs, then the rest."""
    low, high = _RECEPTACLES[size]
    wanted = rng.randint(low, high)
    cap = _MOST_OF_A_KIND[size]
    room = {t: min(cap, rng.randint(a, b)) for t, (a, b) in variant.furniture.items()}
    counts: Counter[str] = Counter(_needed(variant, goal, rng))
    for type_ in counts:
        room[type_] = max(room[type_], counts[type_])
    spare = [t for t, most in room.items() for _ in range(most - counts[t])]
    rng.shuffle(spare)
    if size != "small":
        # A bigger room has one of each of its kinds before it has a second.
        spare.sort(key=lambda type_: counts[type_] > 0 or variant.furniture[type_][0] == 0)
    for type_ in spare:
        if counts.total() >= wanted:
            break
        if counts[type_] < room[type_]:
            counts[type_] += 1
    return [type_ for type_ in variant.furniture for _ in range(counts[type_])]


def _needed(variant: Variant, goal: Goal, rng: Random) -> list[str]:
    """Return types that the goal cannot do without, among them two places for the thing to be."""
    needed: list[str] = []
    appliance = TREATMENTS[goal.task_type][1] if goal.task_type in TREATMENTS else ""
    if goal.receptacle_type is not None:
        needed.append(goal.receptacle_type)
    if appliance:
        needed.append(appliance)
    if goal.lamp_type is not None:
        stands = [t for t in LAMPS[goal.lamp_type] if t in variant.furniture]
        needed.append(rng.choice(stands))
    homes = [
        t
        for t in variant.furniture
        if goal.object_type in FITS[t] and t not in (goal.receptacle_type, appliance)
    ]
    needed += rng.sample(homes, min(2, len(homes)))
    return list(dict.fromkeys(needed))


def _receptacles(types: list[str], size: Size, rng: Random) -> list[Receptacle]:
    ids = entity_ids(types)
    names = name_entities(ids)
    location = 0
    receptacles: list[Receptacle] = []
    for id_, type_ in zip(ids, types, strict=True):
        if not receptacles or rng.random() >= _SHARED_LOCATION[size]:
            location += 1
        receptacles.append(
            Receptacle(
                id=id_,
                name=names[id_],
                type=type_,
                location=f"loc_bar_{location}",
                openable=type_ in OPENABLE,
                opened=False,
            )
        )
    return receptacles


def _items(
    choice: GoalChoice, receptacles: list[Receptacle], size: Size, rng: Random
) -> list[Item]:
    goal = choice.goal
    placed = _targets(goal, receptacles, rng)
    if goal.lamp_type is not None:
        stands = [r for r in receptacles if r.type in LAMPS[goal.lamp_type]]
        placed.append((goal.lamp_type, rng.choice(stands)))
    low, high = _ITEMS[size]
    wanted = rng.randint(low, high)
    others = [t for t in ROOM_ITEMS[choice.variant.kind] if t != goal.object_type]
    homes = {t: [r for r in receptacles if t in FITS[r.type]] for t in others}
    pool = [t for t in others if homes[t] for _ in range(rng.randint(1, _ALIKE))]
    rng.shuffle(pool)
    placed += [(t, rng.choice(homes[t])) for t in pool[: max(0, wanted - len(placed))]]
    placed.sort(key=lambda pair: pair[0])
    ids = entity_ids([type_ for type_, _ in placed])
    names = name_entities([*ids, *(r.id for r in receptacles)])
    return [
        _item(id_, names[id_], type_, place)
        for id_, (type_, place) in zip(ids, placed, strict=True)
    ]


def _targets(
    goal: Goal, receptacles: list[Receptacle], rng: Random
) -> list[tuple[str, Receptacle]]:
    """Place one to three things of the goal's type (two or three if two are asked for)."""
    two = goal.task_type == "pick_two_obj_and_place"
    barred = {TREATMENTS[goal.task_type][1]} if goal.task_type in TREATMENTS else set[str]()
    if goal.task_type == "pick_and_place_simple" and goal.receptacle_type is not None:
        barred.add(goal.receptacle_type)
    homes = [r for r in receptacles if goal.object_type in FITS[r.type] and r.type not in barred]
    number = 1 + two + (rng.random() < 0.3)
    places = [rng.choice(homes) for _ in range(number)]
    if two:
        away = [r for r in homes if r.type != goal.receptacle_type]
        places[1:] = [rng.choice(away) for _ in places[1:]]
    return [(goal.object_type, place) for place in places]


def _item(id_: str, name: str, type_: str, place: Receptacle) -> Item:
    flags = FLAGS.get(type_, "")
    is_lamp = type_ in LAMPS
    return Item(
        id=id_,
        name=name,
        type=type_,
        location=place.location,
        receptacles=(place.id,),
        pickupable=not is_lamp,
        cleanable="c" in flags,
        heatable="h" in flags,
        coolable="k" in flags,
        toggleable=is_lamp,
        sliceable="s" in flags,
        vessel="v" in flags,
    )


@lru_cache(maxsize=4096)
def _can_contain(kind: RoomKind, types: frozenset[str]) -> frozenset[tuple[str, str]]:
    """Return what fits where, for the room's receptacles and all that lies around in such rooms."""
    return frozenset((r, o) for r in types for o in ROOM_ITEMS[kind] if o in FITS[r])
