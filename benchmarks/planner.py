"""What a step label costs, and the planner against a blind search.

    python benchmarks/planner.py [--episodes 120] [--searches 20] [--root OFFICIAL_GAMES]

Prints CPU milliseconds a label (the engine's step included) on episodes of the half-noisy explorer,
a plan, a generated game, and how the planner compares with a breadth-first search of the engine's
own states on small rooms.
"""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Sequence
from random import Random
from time import process_time

import rla_task_sets
from rla_verifiers.alfworld import label_steps, step_reasons

from rla_envs.alfworld.engine import World, game_of
from rla_envs.alfworld.engine.knowledge import Knowledge, explorer_action
from rla_envs.alfworld.engine.planner import distance, plan
from rla_envs.types import Task

MAX_STEPS = 30


def main() -> None:
    """Print all rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=120, help="episodes a row")
    parser.add_argument("--searches", type=int, default=20, help="blind searches")
    parser.add_argument("--root", help="folder of official games with a split valid_seen")
    options = parser.parse_args()
    print("CPU ms               game    plan   label  reason   steps")
    for size in ("small", "medium", "large"):
        start = process_time()
        tasks = rla_task_sets.load("alfworld/generated", n=options.episodes, seed=7, size=size)
        made = 1e3 * (process_time() - start) / len(tasks)
        print(f"generated {size:8s}{made:8.2f}{labels(tasks)}")
    if options.root:
        official = rla_task_sets.load("alfworld/official", root=options.root, split="valid_seen")
        tasks = official[: options.episodes]
        print(f"official          {'':8s}{labels(tasks)}")
    compare(options.searches)


def labels(tasks: Sequence[Task]) -> str:
    """Return a row: milliseconds a plan, a label, a label with its reason; number of steps."""
    plan_s = label_s = reason_s = 0.0
    steps = 0
    for number, task in enumerate(tasks):
        commands = explore(task, Random(number))
        steps += len(commands)
        world = World(game_of(task))
        start = process_time()
        plan(world)
        plan_s += process_time() - start
        start = process_time()
        label_steps(task, commands)
        label_s += process_time() - start
        start = process_time()
        step_reasons(task, commands)
        reason_s += process_time() - start
    cells = (1e3 * plan_s / len(tasks), 1e3 * label_s / steps, 1e3 * reason_s / steps)
    return "".join(f"{cell:8.3f}" for cell in cells) + f"{steps:8d}"


def explore(task: Task, rng: Random) -> list[str]:
    """Play an episode of the half-noisy explorer."""
    world, knowledge = World(game_of(task)), Knowledge()
    commands: list[str] = []
    while not world.won and len(commands) < MAX_STEPS:
        command = explorer_action(world, knowledge, rng, noise=0.5)
        world.step(command)
        knowledge.update(world, command)
        commands.append(command)
    return commands


def compare(searches: int, limit: int = 30_000) -> None:
    """Print how often the blind search finished, whether it agreed, and the ratio of CPU time."""
    tasks = rla_task_sets.load("alfworld/generated", n=searches, seed=11)
    ours = blind = 0.0
    equal = finished = 0
    for task in tasks:
        world = World(game_of(task))
        start = process_time()
        planned = distance(world)
        middle = process_time()
        found = blind_distance(world, limit)
        ours += middle - start
        blind += process_time() - middle
        if found is not None:
            finished += 1
            equal += found == planned
    print(
        f"blind search on {searches} small games: finished {finished} within {limit} states, equal "
        f"{equal}; {1e3 * blind / searches:.0f} ms against {1e3 * ours / searches:.3f} ms "
        f"({blind / ours:.0f} times)"
    )


def blind_distance(world: World, limit: int) -> int | None:
    """Return the fewest commands that win, None when limit states were not enough."""
    frontier, seen = deque([(world, 0)]), {_state(world)}
    while frontier and len(seen) < limit:
        here, steps = frontier.popleft()
        if here.won:
            return steps
        for command in here.admissible():
            there = here.copy()
            there.step(command)
            state = _state(there)
            if state not in seen:
                seen.add(state)
                frontier.append((there, steps + 1))
    return None


def _state(world: World) -> tuple[object, ...]:
    sets = (world.opened, world.clean, world.hot, world.cool, world.sliced, world.toggled)
    contents = tuple(tuple(items) for items in world.contents.values())
    return world.at, world.holding, contents, *(frozenset(group) for group in sets)


if __name__ == "__main__":
    main()
