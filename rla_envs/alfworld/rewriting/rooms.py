"""Small changes of a room, each giving a new scene whose names follow from its ids again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from rla_envs.alfworld.engine import Item, Receptacle, Scene, name_entities

TOOLS = {
    "pick_clean_then_place_in_recep": frozenset({"SinkBasin", "Sink"}),
    "pick_heat_then_place_in_recep": frozenset({"Microwave"}),
    "pick_cool_then_place_in_recep": frozenset({"Fridge"}),
}
"""Task type -> receptacle types that make its change of state."""

FLAGS = {
    "pick_clean_then_place_in_recep": "cleanable",
    "pick_heat_then_place_in_recep": "heatable",
    "pick_cool_then_place_in_recep": "coolable",
}
"""Task type -> what its object must be."""

KNIVES = frozenset({"Knife", "ButterKnife"})


def renamed(scene: Scene) -> Scene:
    """Return scene with the names that both engines derive from its ids."""
    names = name_entities([entity.id for entity in (*scene.receptacles, *scene.items)])
    return replace(
        scene,
        receptacles=tuple(replace(r, name=names[r.id]) for r in scene.receptacles),
        items=tuple(replace(i, name=names[i.id]) for i in scene.items),
    )


def targets(scene: Scene) -> list[Item]:
    """Return the things that can fulfil the goal, in order of their names."""
    goal = scene.goal
    flag = FLAGS.get(goal.task_type)
    found = [
        item
        for item in scene.items
        if item.type == goal.object_type
        and item.pickupable
        and item.receptacles
        and goal.item_id in (None, item.id)
        and (flag is None or getattr(item, flag))
    ]
    return sorted(found, key=lambda item: (len(item.name), item.name))


def needed(scene: Scene) -> int:
    """Return how many things the goal asks for."""
    return 2 if scene.goal.task_type == "pick_two_obj_and_place" else 1


def fits(scene: Scene, place: Receptacle, item_type: str) -> bool:
    """Return whether things of a type may be put there."""
    return (place.type, item_type) in scene.can_contain


def in_sight(place: Receptacle) -> bool:
    """Return whether the content is seen on arrival at the start of an episode."""
    return place.opened or not place.openable


def place_named(scene: Scene, name: str) -> Receptacle | None:
    """Return the receptacle of a name."""
    return next((place for place in scene.receptacles if place.name == name), None)


def place_of(scene: Scene, item: Item) -> Receptacle:
    """Return the (first) receptacle that item is in."""
    return next(place for place in scene.receptacles if place.id == item.receptacles[0])


def counts(scene: Scene) -> Counter[str]:
    """Return how many movable things there are of each type."""
    return Counter(item.type for item in scene.items if item.pickupable and item.receptacles)


def move(scene: Scene, items: Iterable[Item], place: Receptacle) -> Scene:
    """Return scene with items in place and nowhere else."""
    moved = {item.id for item in items}

    def there(item: Item) -> Item:
        if item.id in moved:
            return replace(item, location=place.location, receptacles=(place.id,))
        if moved & set(item.inside):
            return replace(item, inside=tuple(i for i in item.inside if i not in moved))
        return item

    return replace(scene, items=tuple(map(there, scene.items)))


def set_opened(scene: Scene, places: Collection[str], opened: bool) -> Scene:
    """Return scene with the openable receptacles of the given ids open or closed at the start."""
    return replace(
        scene,
        receptacles=tuple(
            replace(place, opened=opened) if place.openable and place.id in places else place
            for place in scene.receptacles
        ),
    )


def add_items(scene: Scene, like: Item, places: Sequence[Receptacle]) -> Scene:
    """Return scene with one more thing like the given one in each of places."""
    taken = {item.id for item in scene.items}
    fresh = _fresh_ids(like.id, taken)
    new = tuple(
        replace(
            like,
            id=next(fresh),
            location=place.location,
            receptacles=(place.id,),
            inside=(),
            states=frozenset(),
        )
        for place in places
    )
    return renamed(replace(scene, items=scene.items + new))


def add_places(scene: Scene, like: Receptacle, number: int) -> Scene:
    """Return scene with more closed, empty receptacles like the given one, each on its own spot."""
    taken = {place.id for place in scene.receptacles}
    locations = {place.location for place in scene.receptacles} | {scene.agent_location}
    fresh, fresh_location = _fresh_ids(like.id, taken), _fresh_ids("loc_bar_", locations)
    new = tuple(
        replace(like, id=next(fresh), location=next(fresh_location), opened=False)
        for _ in range(number)
    )
    return renamed(replace(scene, receptacles=scene.receptacles + new))


def without_items(scene: Scene, ids: Collection[str]) -> Scene:
    """Return scene without the things of the given ids."""
    kept = tuple(
        replace(item, inside=tuple(i for i in item.inside if i not in ids))
        for item in scene.items
        if item.id not in ids
    )
    return renamed(replace(scene, items=kept))


def without_places(scene: Scene, ids: Collection[str]) -> Scene:
    """Return scene without the (empty) receptacles of the given ids."""
    kept = tuple(place for place in scene.receptacles if place.id not in ids)
    return renamed(replace(scene, receptacles=kept))


def _fresh_ids(like: str, taken: Collection[str]) -> Iterator[str]:
    """Yield unused ids that sort before ALFRED's own, so that the names of what is there stay."""
    head = like.partition("_bar_")[0]
    candidates = (f"{head}_bar_0_bar_{number:02d}" for number in range(100))
    return iter([name for name in candidates if name not in taken])
