"""Reads and writes the PDDL of ALFWorld problems: one fixed domain, so no general parser.

Everything about how a fact is spelt lives here. A problem of 100 kB is read with one regular
expression over its ``:init`` part, because a full parse costs more than a whole episode.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from sys import intern

from ...errors import TaskError
from .grammar import name_entities
from .scene import Goal, Item, ItemState, Receptacle, Scene, TaskType

_FACT = re.compile(r"\(([A-Za-z]+)\s+([^\s()]+)(?:\s+([^\s()]+))?\s*\)")
_ATOM = re.compile(r"\((=|[a-z]+)\s+([^\s()]+)(?:\s+([^\s()]+))?\s*\)")
_NAME = re.compile(r"[A-Za-z][\w-]*_bar_[\w-]*")

_FLAGS = ("pickupable", "cleanable", "heatable", "coolable", "toggleable", "sliceable")
_STATE_FACTS: dict[ItemState, str] = {
    "clean": "isClean",
    "hot": "isHot",
    "cool": "isCool",
    "sliced": "isSliced",
    "toggled": "isToggled",
}
_STATE_OF_TASK: dict[TaskType, tuple[str, str]] = {
    "pick_clean_then_place_in_recep": ("cleanable", "isClean"),
    "pick_heat_then_place_in_recep": ("heatable", "isHot"),
    "pick_cool_then_place_in_recep": ("coolable", "isCool"),
}


def read_problem(problem: str, instruction: str) -> Scene:
    """Return the scene that a ``pddl_problem`` describes.

    Args:
        problem: PDDL text with an ``:init`` and a ``:goal`` of one of the six task types.
        instruction: The task sentence, which stands in the grammar.

    Raises:
        TaskError: a part is missing, an entity has no type or place, or the goal is of no known
            form.
    """
    start, end = problem.find("(:init"), problem.find("(:goal")
    if start < 0 or end < start:
        raise TaskError("pddl_problem has no (:init ...) followed by (:goal ...)")
    pairs: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for predicate, first, second in _FACT.findall(problem, start + 6, end):
        pairs[predicate].append((intern(first), intern(second)))
    singles = {name: {first for first, _ in found} for name, found in pairs.items()}
    place_of = dict(pairs["receptacleAtLocation"])
    stands_at = dict(pairs["objectAtLocation"])
    receptacle_types, item_types = dict(pairs["receptacleType"]), dict(pairs["objectType"])
    names = name_entities({*receptacle_types, *item_types})
    contained, inside = (
        _grouped(pairs["inReceptacle"]),
        _grouped((outer, inner) for inner, outer in pairs["inReceptacleObject"]),
    )
    openable, opened = singles.get("openable", set()), singles.get("opened", set())
    try:
        agent_location = pairs["atLocation"][0][1]
        receptacles = tuple(
            Receptacle(
                id=id_,
                name=names[id_],
                type=_class(type_),
                location=place_of[id_],
                openable=id_ in openable,
                opened=id_ in opened,
            )
            for id_, type_ in receptacle_types.items()
        )
    except (IndexError, KeyError) as error:
        raise TaskError(
            f"pddl_problem lacks a fact: {error} (atLocation of the agent or "
            "receptacleAtLocation of a receptacle)"
        ) from None
    vessels = singles.get("isReceptacleObject", set())
    flagged = {flag: singles.get(flag, set[str]()) for flag in _FLAGS}
    states: dict[ItemState, set[str]] = {
        state: singles.get(fact, set()) for state, fact in _STATE_FACTS.items()
    }
    items = tuple(
        Item(
            id=id_,
            name=names[id_],
            type=_class(type_),
            location=stands_at.get(id_),
            receptacles=contained.get(id_, ()),
            vessel=id_ in vessels,
            inside=inside.get(id_, ()),
            states=frozenset(state for state, ids in states.items() if id_ in ids),
            **{flag: id_ in ids for flag, ids in flagged.items()},
        )
        for id_, type_ in item_types.items()
    )
    _check_ids(pairs, receptacle_types, item_types)
    return Scene(
        receptacles=receptacles,
        items=items,
        agent_location=agent_location,
        goal=_read_goal(problem[end:], item_types),
        instruction=instruction,
        can_contain=frozenset((_class(r), _class(o)) for r, o in pairs["canContain"]),
    )


def write_problem(scene: Scene) -> str:
    """Return the PDDL problem that read_problem turns back into scene.

    Raises:
        TaskError: an id is no PDDL name with ``_bar_`` in it, so that the real engine could not
            name the entity, or a name differs from the one the real engine would give.
    """
    expected = name_entities([entity.id for entity in (*scene.receptacles, *scene.items)])
    for entity in (*scene.receptacles, *scene.items):
        if not _NAME.fullmatch(entity.id):
            raise TaskError(f"id {entity.id!r} must look like Mug_bar_1: a PDDL name with _bar_")
        if entity.name != expected[entity.id]:
            raise TaskError(
                f"{entity.id} is called {entity.name!r}, but its id makes it "
                f"{expected[entity.id]!r} in the real engine; take names from name_entities"
            )
    locations = {scene.agent_location: None}
    locations.update((r.location, None) for r in scene.receptacles)
    locations.update((i.location, None) for i in scene.items if i.location is not None)
    rtypes, otypes = _types(scene)
    objects = [
        "agent1 - agent",
        *(f"{location} - location" for location in locations),
        *(f"{receptacle.id} - receptacle" for receptacle in scene.receptacles),
        *(f"{item.id} - object" for item in scene.items),
        *(f"{type_}Type - rtype" for type_ in rtypes if type_ not in otypes),
        *(f"{type_}Type - otype" for type_ in otypes),
    ]
    if both := rtypes.keys() & otypes.keys():
        raise TaskError(
            f"{sorted(both)} are types of receptacles and of items; PDDL has one of each"
        )
    lines = ["(define (problem room)", " (:domain alfred)", " (:objects"]
    lines += [f"  {line}" for line in objects]
    lines += [" )", " (:init"]
    lines += [f"  ({fact})" for fact in _facts(scene)]
    lines += [" )", f" (:goal {_write_goal(scene.goal)})", ")", ""]
    return "\n".join(lines)


def _class(type_name: str) -> str:
    return intern(type_name.removesuffix("Type"))


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    groups: dict[str, list[str]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return {key: tuple(dict.fromkeys(values)) for key, values in groups.items()}


def _check_ids(
    pairs: dict[str, list[tuple[str, str]]],
    receptacle_types: dict[str, str],
    item_types: dict[str, str],
) -> None:
    """Refuse facts about entities without a type: the engine would have to guess what they are."""
    placed = pairs["inReceptacle"]
    untyped = {item for item, _ in placed} - item_types.keys()
    untyped |= {receptacle for _, receptacle in placed} - receptacle_types.keys()
    untyped |= {item for pair in pairs["inReceptacleObject"] for item in pair} - item_types.keys()
    if untyped:
        raise TaskError(f"pddl_problem places entities without a type: {sorted(untyped)[:3]}")


def _types(scene: Scene) -> tuple[dict[str, None], dict[str, None]]:
    """Return the types of receptacles and of items that the problem must declare, in order."""
    goal = scene.goal
    rtypes = dict.fromkeys(r.type for r in scene.receptacles)
    rtypes.update((r, None) for r, _ in sorted(scene.can_contain))
    otypes = dict.fromkeys(i.type for i in scene.items)
    otypes.update((o, None) for _, o in sorted(scene.can_contain))
    otypes[goal.object_type] = None
    if goal.receptacle_type is not None:
        rtypes[goal.receptacle_type] = None
    if goal.lamp_type is not None:
        otypes[goal.lamp_type] = None
    return rtypes, otypes


def _facts(scene: Scene) -> list[str]:
    facts = [f"atLocation agent1 {scene.agent_location}"]
    for r in scene.receptacles:
        facts += [
            f"receptacleType {r.id} {r.type}Type",
            f"receptacleAtLocation {r.id} {r.location}",
        ]
        facts += [f"openable {r.id}"] * r.openable + [f"opened {r.id}"] * r.opened
    for i in scene.items:
        facts.append(f"objectType {i.id} {i.type}Type")
        if i.location is not None:
            facts.append(f"objectAtLocation {i.id} {i.location}")
        facts += [f"inReceptacle {i.id} {receptacle}" for receptacle in i.receptacles]
        facts += [f"{flag} {i.id}" for flag in _FLAGS if getattr(i, flag)]
        facts += [f"isReceptacleObject {i.id}"] * i.vessel
        facts += [f"inReceptacleObject {inner} {i.id}" for inner in i.inside]
        facts += [f"{_STATE_FACTS[state]} {i.id}" for state in sorted(i.states)]
    facts += [f"canContain {r}Type {o}Type" for r, o in sorted(scene.can_contain)]
    return facts


def _goal_atoms(goal: Goal, item: str) -> tuple[str, list[str]]:
    """Return the quantified variables and the atoms of a goal; item is ``?o`` or an id."""
    kind = f"objectType {item} {goal.object_type}Type"
    if goal.task_type == "look_at_obj_in_light":
        light = ("toggleable ?ot", f"objectType ?ot {goal.lamp_type}Type", "isToggled ?ot")
        where = ("receptacleAtLocation ?r ?l", "atLocation ?a ?l", "inReceptacle ?ot ?r")
        variables = "?a - agent ?l - location ?r - receptacle ?ot - object"
        return variables, [*light, *where, kind, f"holds ?a {item}"]
    place = [f"receptacleType ?r {goal.receptacle_type}Type", kind, f"inReceptacle {item} ?r"]
    if goal.task_type == "pick_two_obj_and_place":
        second = (f"objectType ?o2 {goal.object_type}Type", "inReceptacle ?o2 ?r")
        return "?r - receptacle ?o2 - object", [*place, *second]
    state = _STATE_OF_TASK.get(goal.task_type, ())
    return "?r - receptacle", place + [f"{predicate} {item}" for predicate in state]


def _write_goal(goal: Goal) -> str:
    item = goal.item_id or ("?o1" if goal.task_type == "pick_two_obj_and_place" else "?o")
    variables, atoms = _goal_atoms(goal, item)
    if goal.item_id is None:
        variables += f" {item} - object"
    parts = [f"({atom})" for atom in atoms]
    if goal.task_type == "pick_two_obj_and_place":
        parts.append(f"(not (= {item} ?o2))")
    return f"(exists ({variables}) (and {' '.join(parts)}))"


def _read_goal(text: str, item_types: dict[str, str]) -> Goal:
    """Recognise the goal by its atoms, whatever their order and nesting."""
    found = [(p, a, b) for p, a, b in _ATOM.findall(text.replace("\n", " ").lower())]
    atoms = {(predicate, second): first for predicate, first, second in found}
    spelling = {type_.lower(): type_ for type_ in item_types.values()}
    original = {word.lower(): word for word in re.findall(r"[\w-]+", text)} | spelling
    typed = [(f, _class(original[s])) for p, f, s in found if p == "objecttype"]
    target = next((_class(original[s]) for p, _, s in found if p == "receptacletype"), None)
    predicates = {predicate for predicate, _ in atoms}
    task_type = _task_type(predicates)
    if task_type is not None and typed:
        lamp = next((t for f, t in typed if f == "?ot"), None)
        item, object_type = next((pair for pair in typed if pair[0] != "?ot"), ("", ""))
        item_id = None if item.startswith("?") else original.get(item)
        goal = Goal(
            task_type=task_type,
            object_type=object_type,
            receptacle_type=target,
            lamp_type=lamp,
            item_id=item_id,
        )
        if _same_atoms(goal, item, found):
            return goal
    raise TaskError(
        'the goal is none of the six ALFWorld task types; run the game with engine="textworld"'
    )


def _task_type(predicates: set[str]) -> TaskType | None:
    if "istoggled" in predicates:
        return "look_at_obj_in_light"
    if "=" in predicates:
        return "pick_two_obj_and_place"
    for task_type, (_, state) in _STATE_OF_TASK.items():
        if state.lower() in predicates:
            return task_type
    return "pick_and_place_simple" if "inreceptacle" in predicates else None


def _same_atoms(goal: Goal, item: str, found: list[tuple[str, str, str]]) -> bool:
    expected = {tuple(atom.lower().split()) for atom in _goal_atoms(goal, item)[1]}
    if goal.task_type == "pick_two_obj_and_place":
        expected.add(("=", item, "?o2"))
    return {tuple(word for word in atom if word) for atom in found} == expected
