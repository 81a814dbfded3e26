"""Service times of a run's parts on this machine, and the queueing simulation that they feed.

    python benchmarks/scaling.py measure   # CPU ms of a step, a vote, a test, a sample
    python benchmarks/scaling.py simulate  # what limits 8, 64 and 1,024 GPUs

CPU seconds are measured, because clocks mean little on a busy machine. GPU rates are *not* measured
but computed from data sheets in benchmarks/scaling_model.py, where each number has its source.
Both write into docs/results/scaling.json.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pickle
from collections.abc import Sequence
from pathlib import Path
from time import process_time

import rla_task_sets
from scaling_model import DOMAINS, MACHINES, Iteration, Services, simulate

from rla_envs.judging import ModelJudge
from rla_envs.prompts.alfworld import ChatPrompts
from rla_envs.rollout import EnvSpec, LocalPool, Stopwatch, collect
from rla_envs.types import Completion, Trajectory

RESULTS = Path("docs/results/scaling.json")
TASKS = rla_task_sets.load("alfworld/generated", n=16, seed=0, split="train", size="medium")
SPEC = EnvSpec(id="rla/AlfWorld-v0", kwargs={"view": "full", "max_steps": 40})
ROLLOUTS = 8


class FreeModel:
    """Draws an admissible command, or a verdict, at no cost worth counting."""

    def sample(self, conversations, *, n=1, sampling=None, seeds=None):
        """Return n replies a conversation."""
        seeds = seeds or range(len(conversations))
        return [
            [self._reply(chat, seed)] * n for chat, seed in zip(conversations, seeds, strict=False)
        ]

    def _reply(self, chat, seed) -> Completion:
        # The place of a command among the admissible ones.
        return Completion(text=f"Action: {seed % 8}", token_ids=(1,), logprobs=(0.0,))


def measure_collecting(pool) -> tuple[dict[str, float], list[Trajectory]]:
    """Return CPU ms a step in this process, by part, and what was played."""
    watch = Stopwatch(clock=process_time)
    start = process_time()
    groups = collect(
        FreeModel(),
        TASKS,
        rollouts=ROLLOUTS,
        pool=pool,
        prompts=ChatPrompts(),
        seed=0,
        stopwatch=watch,
    )
    total = process_time() - start
    played = [t for group in groups for t in group.trajectories]
    steps = sum(len(t.steps) for t in played)
    parts = {
        "pool": watch.seconds["env"],
        "collector": total - watch.seconds["env"],
    }
    return {name: 1000 * value / steps for name, value in parts.items()}, played


class MessagingPool:
    """A pool in this process whose messages are pickled as on their way to actors and back."""

    def __init__(self, pool) -> None:
        self.pool, self.cohorts, self.seconds = pool, pool.cohorts, 0.0

    def send(self, requests) -> None:
        """Pay for sending."""
        start = process_time()
        pickle.dumps(requests)
        self.seconds += process_time() - start
        self.pool.send(requests)

    def receive(self, slots):
        """Pay for receiving."""
        sent = pickle.dumps(self.pool.receive(slots))
        start = process_time()
        answers = pickle.loads(sent)
        self.seconds += process_time() - start
        return answers


def measure_judging(played: Sequence[Trajectory]) -> float:
    """Return CPU ms a step for judge prompts and reading of three votes, without any model."""
    start = process_time()
    ModelJudge(FreeModel(), ChatPrompts(), votes=3).judge(played, seed=0)
    return 1000 * (process_time() - start) / sum(len(t.steps) for t in played)


def measure_sandbox(tests: int = 100) -> float:
    """Return CPU ms of one test of a small program, in this process, its cell and below."""
    from rla_envs.sandbox import LocalSandbox, Program, StdioTest

    program = Program("a, b = map(int, input().split())\nprint(a + b)")
    with LocalSandbox(workers=1) as sandbox:
        sandbox.warm_up()
        start = family_seconds()
        sandbox.matrix([program], [StdioTest(f"{i} 1\n", str(i + 1)) for i in range(tests)])
        return 1000 * (family_seconds() - start) / tests


def family_seconds() -> float:
    """Return CPU seconds of this process and all below it, dead ones that were waited for included.

    Of our own children the dead are left out: they belong to earlier measurements.
    """
    parents, used = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            process = int(path.parent.name)
            parents[process] = int(fields[1])
            used[process] = [int(ticks) / os.sysconf("SC_CLK_TCK") for ticks in fields[11:15]]
    mine, below = os.getpid(), set[int]()
    new = {mine}
    while new:
        below |= new
        new = {process for process, parent in parents.items() if parent in new} - below
    return process_time() + sum(sum(used[process]) for process in below - {mine})


def measure() -> dict[str, float]:
    """Return all service times, in CPU ms."""
    pool = MessagingPool(LocalPool(SPEC, 64))
    measure_collecting(pool)
    messages = pool.seconds
    local, played = measure_collecting(LocalPool(SPEC, 64))
    steps = sum(len(t.steps) for t in played)
    return {
        "env_step": local["pool"],
        "collector_step": local["collector"],
        "message_step": 1000 * messages / steps,
        "judge_step": measure_judging(played),
        "sandbox_test": measure_sandbox(),
        "steps_measured": float(steps),
    }


def table(services: Services) -> list[Iteration]:
    """Print one row a domain, machine and batch, and return them."""
    rows: list[Iteration] = []
    print("domain    GPUs  episodes  s/iter  sample judge train  busy  limit (s saved without it)")
    for domain in DOMAINS:
        for machine, batches in MACHINES:
            for episodes in batches:
                row = simulate(domain, machine, episodes, services)
                rows.append(row)
                phases = " ".join(f"{row.phases[n]:6.0f}" for n in ("sample", "judge", "train"))
                limits = ", ".join(f"{name} {saved:.0f}" for name, saved in row.limits[:3])
                print(
                    f"{domain.name:9} {machine.gpus:5} {episodes:8} {row.seconds:8.0f} {phases}"
                    f" {row.busy:5.0%}  {limits}"
                )
    return rows


def main() -> None:
    """Measure or simulate."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("measure", "simulate"), help="default: both")
    what = parser.parse_args().what
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if what != "simulate":
        stored["cpu_ms"] = measure()
        stored["cores"], stored["load"] = os.cpu_count(), os.getloadavg()[0]
        for name, value in stored["cpu_ms"].items():
            print(f"{name:16} {value:8.3f}")
    if what != "measure":
        if "cpu_ms" not in stored:
            raise SystemExit("no service times yet: run `python benchmarks/scaling.py measure`")
        names = ("env_step", "collector_step", "message_step", "judge_step", "sandbox_test")
        services = Services(**{name: stored["cpu_ms"][name] / 1000 for name in names})
        stored["simulated"] = [row.as_json() for row in table(services)]
    RESULTS.write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    main()
