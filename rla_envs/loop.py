"""The closed loop: policy, reward model and tasks improve together (arXiv 2602.02488)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from rla_envs.config import LoopConfig
from rla_envs.judging import StepLabels
from rla_envs.metrics import Labels, judge_metrics, outcome_metrics, rollout_metrics
from rla_envs.prompts import Prompts
from rla_envs.rollout import EnvPool, Stopwatch, collect
from rla_envs.samples import Credit, StepCredit
from rla_envs.seeding import derive_seed
from rla_envs.types import ChatModel, Group, Judge, Sampling, Task, Trainer

WORTH_MEMORY = 0.8
"""Share of the old value kept when the judge's worth is updated: about five iterations."""


class Draw(Protocol):
    """A task to run a group on."""

    @property
    def task(self) -> Task:
        """The task."""
        ...

    @property
    def on_trial(self) -> bool:
        """Whether the group only decides about the task and must not train."""
        ...


class Adaptation(Protocol):
    """What a curriculum did."""

    def metrics(self) -> dict[str, float]:
        """Return flat metrics named ``tasks/...``."""
        ...


class TaskCurriculum(Protocol):
    """Where tasks come from and where evidence about them goes."""

    def draw(self, n: int, *, seed: int) -> Sequence[Draw]:
        """Return what to run in this iteration, n groups."""
        ...

    def report(self, groups: Sequence[Group], *, policy_version: int) -> None:
        """Take in groups, in the order of the draw."""
        ...

    def adapt(self, *, policy_version: int, seed: int) -> Adaptation:
        """Propose, try, accept, reject and roll back rewrites."""
        ...


@dataclass(slots=True, kw_only=True)
class Loop:
    """The parts of a run."""

    config: LoopConfig
    policy: Trainer
    prompts: Prompts
    pool: EnvPool
    curriculum: TaskCurriculum
    judge: Judge | None = None
    """None: outcomes are the only signal."""
    judge_trainer: Trainer | None = None
    """The trainer of the judge's weights; None leaves them as they are."""
    credit: Credit = field(default_factory=StepCredit)
    """What steps and votes are worth."""
    oracle: StepLabels | None = None
    """Labels steps for the metrics, never for training."""
    panels: Mapping[str, Sequence[Task]] = field(default_factory=dict[str, Sequence[Task]])
    """Name -> fixed tasks on which ``accuracy/<name>`` is measured."""
    on_finished: Callable[[str, int, int], None] = lambda phase, done, total: None
    """Progress: called with (phase, finished, total)."""

    @property
    def sampling(self) -> Sampling:
        """How the policy samples."""
        rollout = self.config.rollout
        return Sampling(temperature=rollout.temperature, max_tokens=rollout.max_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What the loop itself carries from one iteration to the next."""

    iteration: int = 0
    """The next iteration to run; also the policy's version."""
    worth: float = 0.5
    """Moving average of the votes' AUC on outcomes, measured before the judge trains on them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One finished iteration."""

    state: State
    metrics: dict[str, float]
    groups: Sequence[Group]
    labels: Labels


def iterate(loop: Loop, state: State) -> Result:
    """Run one iteration: sample, judge, update both models, adapt the tasks, measure.

    The result is a function of the loop's weights, its curriculum and (config.seed,
    state.iteration).
    """
    watch = Stopwatch()
    seed = derive_seed(loop.config.seed, "iteration", state.iteration)
    with watch.measure("total"):
        groups = _collect_groups(loop, state, seed, watch)
        groups = _judge_groups(loop, groups, seed, watch)
        state, lam = _weigh_votes(loop, state, groups)
        metrics = {"lambda": lam}
        with watch.measure("trainer"):
            credit = loop.config.credit
            update = loop.policy.update(loop.credit.policy_samples(groups, credit, lam))
            metrics |= _prefixed("policy", update)
            if loop.judge_trainer is not None:
                update = loop.judge_trainer.update(loop.credit.judge_samples(groups, credit, lam))
                metrics |= _prefixed("judge_trainer", update)
        with watch.measure("curriculum"):
            loop.curriculum.report(groups, policy_version=state.iteration)
            adapted = loop.curriculum.adapt(policy_version=state.iteration, seed=seed)
        metrics |= adapted.metrics()
        with watch.measure("oracle"):
            labels = _labels(loop, groups)
            metrics |= _judge_quality(loop, groups, labels)
        metrics |= rollout_metrics(groups)
        state = replace(state, iteration=state.iteration + 1)
        if state.iteration % loop.config.evaluate_every == 0 or (
            state.iteration == loop.config.iterations
        ):
            with watch.measure("evaluation"):
                metrics |= evaluate_panels(loop)
    metrics |= {"iteration": state.iteration, "policy_version": state.iteration}
    metrics |= {f"seconds/{name}": value for name, value in watch.seconds.items()}
    metrics["share_outside_models"] = share_outside_models(watch.seconds)
    return Result(state=state, metrics=metrics, groups=groups, labels=labels)


def evaluate(
    policy: ChatModel,
    panels: Mapping[str, Sequence[Task]],
    *,
    pool: EnvPool,
    prompts: Prompts,
    sampling: Sampling,
    on_finished: Callable[[str, int, int], None] = lambda phase, done, total: None,
) -> dict[str, float]:
    """Return ``accuracy/<panel>`` of policy on every panel, one episode a task.

    Episodes are seeded by the panel alone, so that two evaluations differ by the policy only.
    """
    metrics: dict[str, float] = {}
    for name, tasks in panels.items():
        groups = collect(
            policy,
            tasks,
            rollouts=1,
            pool=pool,
            prompts=prompts,
            seed=derive_seed("panel", name),
            sampling=sampling,
            on_finished=lambda done, total: on_finished("evaluate", done, total),
        )
        metrics[f"accuracy/{name}"] = rollout_metrics(groups)["accuracy/train"]
    return metrics


def evaluate_panels(loop: Loop) -> dict[str, float]:
    """Return the present policy's accuracy on the loop's panels."""
    return evaluate(
        loop.policy.model(),
        loop.panels,
        pool=loop.pool,
        prompts=loop.prompts,
        sampling=loop.sampling,
        on_finished=loop.on_finished,
    )


def share_outside_models(seconds: Mapping[str, float]) -> float:
    """Return the share of an iteration not spent in the models, in [0, 1]."""
    models = sum(seconds.get(name, 0.0) for name in ("model", "judge", "trainer", "evaluation"))
    return 1 - models / seconds["total"] if seconds["total"] else 0.0


def _collect_groups(loop: Loop, state: State, seed: int, watch: Stopwatch) -> list[Group]:
    with watch.measure("curriculum"):
        draws = loop.curriculum.draw(loop.config.rollout.tasks, seed=derive_seed(seed, "draw"))
    groups = collect(
        loop.policy.model(),
        [draw.task for draw in draws],
        rollouts=loop.config.rollout.rollouts,
        pool=loop.pool,
        prompts=loop.prompts,
        seed=seed,
        policy_version=state.iteration,
        sampling=loop.sampling,
        stopwatch=watch,
        on_finished=lambda done, total: loop.on_finished("sample", done, total),
    )
    return [
        replace(group, on_trial=draw.on_trial) for group, draw in zip(groups, draws, strict=True)
    ]


def _judge_groups(loop: Loop, groups: list[Group], seed: int, watch: Stopwatch) -> list[Group]:
    if loop.judge is None:
        return groups
    with watch.measure("judge"):
        flat = [trajectory for group in groups for trajectory in group.trajectories]
        judged = iter(loop.judge.judge(flat, seed=derive_seed(seed, "judge")))
        return [
            replace(group, trajectories=tuple(next(judged) for _ in group.trajectories))
            for group in groups
        ]


def _weigh_votes(loop: Loop, state: State, groups: Sequence[Group]) -> tuple[State, float]:
    credit = loop.config.credit
    if loop.judge is None:
        return state, 0.0
    if not credit.lam_follows_worth:
        return state, credit.lam
    measured = outcome_metrics(groups).get("judge/outcome_auc", state.worth)
    worth = WORTH_MEMORY * state.worth + (1 - WORTH_MEMORY) * measured
    return replace(state, worth=worth), credit.lam * max(0.0, 2 * worth - 1)


def _labels(loop: Loop, groups: Sequence[Group]) -> Labels:
    if loop.oracle is None:
        return ()
    return [loop.oracle(trajectory) for group in groups for trajectory in group.trajectories]


def _judge_quality(loop: Loop, groups: Sequence[Group], labels: Labels) -> dict[str, float]:
    if loop.judge is None:
        return {}
    votes = judge_metrics(groups, labels) if labels else outcome_metrics(groups)
    return {**votes, **loop.credit.metrics(groups)}


def _prefixed(prefix: str, metrics: Mapping[str, float]) -> dict[str, float]:
    return {f"{prefix}/{name}": value for name, value in metrics.items()}
