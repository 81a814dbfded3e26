"""A simulation of an iteration on a cluster of GPUs: an estimate, not a measurement.

What it simulates is ``rla_envs.rollout.collect`` as it is written: two cohorts of slots take turns,
a cohort is awaited as a whole, one process builds all prompts and talks to all actors, and judge
and trainer follow when the last episode is over. All GPUs sample, then judge, then train. Times of
the environments and of the collecting process are measured (benchmarks/scaling.py); times of the
GPUs follow from the numbers below by the roofline: the slower of reading memory and computing.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A causal language model; from its config.json."""

    params: float
    """Weights, all of them used for every token."""
    kv_bytes: int
    """Of a token's cache: 2 * layers * KV heads * head size * 2 bytes."""


# The published experiment's models (arXiv 2602.02488): Qwen2.5-7B acts, Qwen2.5-14B judges.
POLICY = Model(params=7.6e9, kv_bytes=2 * 28 * 4 * 128 * 2)
JUDGE = Model(params=14.8e9, kv_bytes=2 * 48 * 8 * 128 * 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """GPUs and the CPUs beside them."""

    gpus: int
    cpus_per_gpu: int = 14
    """DGX H100: 112 cores for 8 GPUs (data sheet)."""
    flops: float = 989e12
    """H100 SXM, dense bf16 (data sheet)."""
    bandwidth: float = 3.35e12
    """H100 SXM, bytes/s of its memory (data sheet)."""
    memory: float = 80e9
    """H100 SXM, bytes (data sheet)."""
    network: float = 50e9
    """Bytes/s into a GPU from other nodes: one 400 Gb/s port each (DGX H100 data sheet)."""
    computing: float = 0.4
    """Share of ``flops`` reached in training and prefill. Assumed."""
    reading: float = 0.6
    """Share of ``bandwidth`` reached in decoding. Assumed."""
    overhead: float = 0.004
    """Seconds of a decoding step that no roofline explains: scheduler, launches. Assumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """What an episode is like. Token counts are assumed, except the cap of a reply."""

    name: str
    steps: float
    """Mean turns of an episode, at most ``max_steps``."""
    max_steps: int
    prompt: int
    """Tokens a turn's prompt."""
    reply: int
    """Mean tokens of a reply; lognormal with a coefficient of variation of 0.6, at most 2,000 (the
    published cap)."""
    verdict: int = 300
    """Tokens of a vote."""
    env_s: float = 0.0
    """Seconds of a step that are waiting and not computing. Assumed."""
    tests: int = 0
    """Sandbox tests a step."""
    env_cpus: float = 0.0
    """CPUs that an environment occupies while it lives; 0: only while it steps."""


DOMAINS = (
    Domain(name="alfworld", steps=20, max_steps=40, prompt=1200, reply=300),
    # 64 hidden tests and 32 tests that the judge wrote.
    Domain(name="coding", steps=1, max_steps=1, prompt=600, reply=1200, tests=96),
    # Two seconds of settling an action; a desktop holds two CPUs.
    Domain(name="osworld", steps=15, max_steps=30, prompt=4000, reply=300, env_s=2, env_cpus=2),
)
MACHINES = (
    (Machine(gpus=8), (128, 1024)),
    (Machine(gpus=64), (128, 1024, 8192)),
    (Machine(gpus=1024), (128, 8192, 131072)),
)
VOTES = 3
CALL_SECONDS = 0.0005
"""Ray's own work for a call and its answer, in the calling process. Assumed."""
SLOTS_PER_ACTOR = 16
"""Requests that travel in one call. Assumed."""
UPDATES = 4
"""Optimiser steps an iteration (published)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """CPU seconds, measured on one core of the machine that ran ``scaling.py measure``."""

    env_step: float
    collector_step: float
    message_step: float
    judge_step: float
    sandbox_test: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration:
    """A simulated iteration."""

    domain: str
    gpus: int
    episodes: int
    seconds: float
    phases: dict[str, float]
    """Seconds of "sample", "judge", "train" and "sync"."""
    busy: float
    """Share of the GPUs' time in which they do what an unlimited batch would have them do."""
    limits: list[tuple[str, float]]
    """What costs the iteration how many seconds, most first: the time it would save if free."""

    def as_json(self) -> dict[str, Any]:
        """Return the fields, rounded."""
        data = asdict(self)
        data["phases"] = {name: round(value, 2) for name, value in self.phases.items()}
        data["limits"] = [(name, round(value, 2)) for name, value in self.limits]
        return data | {"seconds": round(self.seconds, 2), "busy": round(self.busy, 4)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What is imagined to cost nothing, to see what it costs."""

    collector: bool = False
    environments: bool = False
    tail: bool = False
    network: bool = False


WISHES = {
    "one collecting process": Wishes(collector=True),
    "environments": Wishes(environments=True),
    "uneven lengths": Wishes(tail=True),
    "network": Wishes(network=True),
}


def simulate(domain: Domain, machine: Machine, episodes: int, services: Services) -> Iteration:
    """Simulate one iteration, and once more without each of the things that may limit it."""
    phases = _phases(domain, machine, episodes, services, Wishes())
    seconds = sum(phases.values())
    saved = {
        name: seconds - sum(_phases(domain, machine, episodes, services, wish).values())
        for name, wish in WISHES.items()
    }
    # An eighth of the GPUs would need eight times as long if they were all busy.
    few = replace(machine, gpus=max(1, machine.gpus // 8))
    if machine.gpus > 8:
        shrunk = sum(_phases(domain, few, episodes, services, Wishes()).values())
        saved["too few episodes"] = max(0.0, seconds - shrunk * few.gpus / machine.gpus)
    limits = sorted(saved.items(), key=lambda item: -item[1])
    return Iteration(
        domain=domain.name,
        gpus=machine.gpus,
        episodes=episodes,
        seconds=seconds,
        phases=phases,
        busy=_ideal(domain, machine, episodes) / seconds,
        limits=limits,
    )


def _phases(
    domain: Domain, machine: Machine, episodes: int, services: Services, wishes: Wishes
) -> dict[str, float]:
    rng = np.random.default_rng(0)
    lengths = np.full(episodes, round(domain.steps))
    if domain.max_steps > 1 and not wishes.tail:
        lengths = np.clip(rng.geometric(1 / domain.steps, episodes), 1, domain.max_steps)
    sample = _collect(domain, machine, lengths, services, wishes, rng)
    steps = int(lengths.sum())
    per_gpu = -(-steps // machine.gpus)
    judge = steps * services.judge_step * (not wishes.collector)
    judge += _decode(JUDGE, machine, per_gpu, domain.prompt + domain.reply, domain.verdict, VOTES)
    train = 0.0
    for model, rows, tokens in (
        (POLICY, steps, domain.prompt + domain.reply),
        (JUDGE, steps * VOTES, domain.prompt + domain.reply + domain.verdict),
    ):
        # Forward and backward 6, log-probabilities before the update 2 FLOP a weight and token; a
        # GPU has whole rows.
        rows_per_gpu = max(UPDATES, -(-rows // machine.gpus))
        train += 8 * model.params * rows_per_gpu * tokens / (machine.flops * machine.computing)
        if machine.gpus > 8 and not wishes.network:
            # ZeRO-3 gathers the weights twice and scatters the gradients, every update.
            train += UPDATES * 3 * 2 * model.params / machine.network
    sync = 2 * (POLICY.params + JUDGE.params) / machine.network * (not wishes.network)
    return {"sample": sample, "judge": judge, "train": train, "sync": sync}


def _collect(
    domain: Domain,
    machine: Machine,
    lengths: np.ndarray,
    services: Services,
    wishes: Wishes,
    rng: np.random.Generator,
) -> float:
    """Run the collector's rounds on a clock of its own; return its last second."""
    cpus = machine.gpus * machine.cpus_per_gpu
    slots = min(len(lengths), 256 * machine.gpus)
    if domain.env_cpus:
        slots = min(slots, int(cpus / domain.env_cpus))
    waiting = list(lengths[::-1])
    cohorts = [[waiting.pop() for _ in range(part, slots, 2)] for part in (0, 1)]
    ready = [0.0, 0.0]
    now = 0.0
    while any(cohorts):
        for part in (0, 1):
            left = cohorts[part]
            if not left:
                continue
            now = max(now, ready[part])
            if not wishes.collector:
                now += len(left) * (services.collector_step + services.message_step)
                now += -(-len(left) // SLOTS_PER_ACTOR) * CALL_SECONDS
            replies = np.full(len(left), domain.reply)
            if not wishes.tail:
                spread = np.sqrt(np.log(1 + 0.6**2))
                replies = rng.lognormal(np.log(domain.reply) - spread**2 / 2, spread, len(left))
                replies = np.minimum(replies, 2000)
            per_gpu = -(-len(left) // machine.gpus)
            # The batch shrinks as replies end: the mean length at its size, the rest by the few.
            mean, longest = float(replies.mean()), float(replies.max())
            now += _decode(POLICY, machine, per_gpu, domain.prompt, mean)
            now += _decode(POLICY, machine, 1, 0, longest - mean)
            work = services.env_step + domain.tests * services.sandbox_test
            busy = domain.env_s + work * max(1, -(-len(left) // cpus))
            ready[part] = now + busy * (not wishes.environments)
            left = [steps - 1 for steps in left if steps > 1]
            while waiting and len(left) < slots // 2:
                left.append(waiting.pop())
            cohorts[part] = left
    return max(now, *ready)


def _decode(
    model: Model, machine: Machine, rows: int, prompt: int, reply: float, replies: int = 1
) -> float:
    """Return the seconds in which one GPU answers rows, replies times each, in full batches."""
    speed = machine.flops * machine.computing
    prefill = rows * prompt * 2 * model.params / speed
    width = max(
        1, int((0.9 * machine.memory - 2 * model.params) / model.kv_bytes / max(1, prompt + reply))
    )
    seconds = 0.0
    for count in _batches(rows * replies, width):
        read = 2 * model.params + count * (prompt + reply / 2) * model.kv_bytes
        step = max(read / (machine.bandwidth * machine.reading), count * 2 * model.params / speed)
        seconds += reply * (step + machine.overhead)
    return prefill + seconds


def _batches(rows: int, width: int) -> list[int]:
    full, rest = divmod(rows, width)
    return [width] * full + [rest] * (rest > 0)


def _ideal(domain: Domain, machine: Machine, episodes: int) -> float:
    """Return the seconds of an iteration if all GPUs had full batches all the time."""
    many = 4096
    one = replace(machine, gpus=1)
    free = Services(env_step=0, collector_step=0, message_step=0, judge_step=0, sandbox_test=0)
    wishes = Wishes(collector=True, environments=True, tail=True, network=True)
    calm = replace(domain, env_cpus=0)
    return sum(_phases(calm, one, many, free, wishes).values()) * episodes / many / machine.gpus
