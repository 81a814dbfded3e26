"""Episodes a second over worker processes, with random admissible actions.

``python benchmarks/episodes.py`` compares one and two processes in two arrangements:

* inside: each process plays whole episodes by itself, as data collection without a shared model;
* pool: this process chooses every action and ``rla_envs.rollout.ProcessPool`` steps the episodes.
  A step costs less than its way through a pipe, so more workers cannot help here (this is why the
  loop keeps the embedded engine in its own process).

Wall-clock ratios mean something only while two cores are free, so the load is printed, and for
"inside" also the ratio that CPU seconds give: the sum over processes of episodes per CPU second.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import time

import gymnasium
import rla_task_sets

import rla_envs  # noqa: F401
from rla_envs.rollout import EnvSpec, ProcessPool
from rla_envs.rollout.pool import Request

ENV_ID = "rla/AlfWorld-v0"


def play_inside(seed: int, episodes: int, kwargs: dict, gate, results) -> None:
    """Play whole episodes in this process; put (wall start, wall end, CPU seconds)."""
    env = gymnasium.make(ENV_ID, **kwargs)
    rng = random.Random(seed)
    play_episodes(env, rng, 20)
    gate.wait()
    begin, cpu = time.perf_counter(), time.process_time()
    play_episodes(env, rng, episodes)
    results.put((begin, time.perf_counter(), time.process_time() - cpu))


def play_episodes(env: gymnasium.Env, rng: random.Random, episodes: int) -> None:
    """Play episodes with random admissible actions."""
    for _ in range(episodes):
        _, info = env.reset(seed=rng.randrange(2**31))
        over = False
        while not over:
            *_, terminated, truncated, info = env.step(rng.choice(info["admissible_commands"]))
            over = terminated or truncated


def measure_inside(workers: int, kwargs: dict, episodes: int) -> tuple[float, float]:
    """Return episodes a second by the wall clock and by CPU seconds."""
    context = multiprocessing.get_context("spawn")
    gate, results = context.Barrier(workers), context.Queue()
    share = episodes // workers
    processes = [
        context.Process(target=play_inside, args=(seed, share, kwargs, gate, results))
        for seed in range(workers)
    ]
    for process in processes:
        process.start()
    done = [results.get() for _ in processes]
    for process in processes:
        process.join()
    wall = max(end for _, end, _ in done) - min(begin for begin, _, _ in done)
    return share * workers / wall, sum(share / cpu for *_, cpu in done)


def measure_pool(workers: int, kwargs: dict, episodes: int) -> tuple[float, float]:
    """Return episodes a second by the wall clock, and how many this process's CPU would allow."""
    tasks, kwargs = kwargs["tasks"], {k: v for k, v in kwargs.items() if k != "tasks"}
    pool = ProcessPool(EnvSpec(id=ENV_ID, kwargs=kwargs), slots=64, workers=workers)
    try:
        play_pool(pool, tasks, 64)
        begin, cpu = time.perf_counter(), time.process_time()
        play_pool(pool, tasks, episodes)
        wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
    finally:
        pool.close()
    return episodes / wall, episodes / cpu


def play_pool(pool: ProcessPool, tasks, episodes: int) -> None:
    """Play episodes with random admissible actions chosen in this process."""
    rng = random.Random(0)
    waiting = iter(range(episodes))
    running: set[int] = set()

    def start(slots) -> list[Request]:
        requests = []
        for slot in slots:
            if (number := next(waiting, None)) is not None:
                running.add(slot)
                task = tasks[number % len(tasks)]
                requests.append(Request(slot=slot, task=task, seed=number))
        return requests

    for cohort in pool.cohorts:
        pool.send(start(cohort))
    while running:
        for cohort in pool.cohorts:
            requests = []
            for answer in pool.receive(cohort):
                if answer.error is not None:
                    raise RuntimeError(answer.error)
                if answer.terminated or answer.truncated:
                    running.discard(answer.slot)
                    requests += start([answer.slot])
                else:
                    action = rng.choice(answer.info["admissible_commands"])
                    requests.append(Request(slot=answer.slot, action=action))
            pool.send(requests)


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--max-steps", type=int, default=50)
    parser.add_argument("--size", default="small", help="of the generated games")
    parser.add_argument("--view", default="full", choices=("full", "compact"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", help="write the figures into this file")
    args = parser.parse_args()
    tasks = rla_task_sets.load("alfworld/generated", n=32, seed=0, split="train", size=args.size)
    kwargs = {"view": args.view, "max_steps": args.max_steps, "tasks": tasks}
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load before the run {load:.1f}; best of {args.repeats}")
    figures: dict[str, object] = {"load": load, "arguments": vars(args)}
    for name, measure in (("inside", measure_inside), ("pool", measure_pool)):
        runs: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
        for _ in range(args.repeats):
            for workers, results in runs.items():
                results.append(measure(workers, kwargs, args.episodes))
        wall = {workers: max(row[0] for row in rows) for workers, rows in runs.items()}
        cpu = {workers: max(row[1] for row in rows) for workers, rows in runs.items()}
        ratios = {"wall": wall[2] / wall[1], "cpu": cpu[2] / cpu[1]}
        figures[name] = {"wall": wall, "cpu": cpu, "ratios": ratios}
        for workers in runs:
            print(
                f"{name:6} {workers} process(es): {wall[workers]:7.0f} episodes/s by the clock, "
                f"{cpu[workers]:7.0f} by CPU seconds"
            )
        print(f"{name:6} ratio: {ratios['wall']:.2f} by the clock, {ratios['cpu']:.2f} by CPU")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=2)


if __name__ == "__main__":
    main()
