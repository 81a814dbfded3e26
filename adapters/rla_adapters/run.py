"""Training and evaluating in any domain: what `rla train` and `rla eval` do."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from transformers.utils.logging import disable_progress_bar

from rla_adapters import load_trainer, needs
from rla_adapters.domains import Domain, Models, load_domain
from rla_adapters.native.trainer import PpoConfig
from rla_envs.config import TrainConfig, from_dict
from rla_envs.curriculum import AcceptanceConfig, Curriculum, CurriculumConfig
from rla_envs.errors import ConfigError
from rla_envs.loop import Loop, Result, State, evaluate, evaluate_panels, iterate
from rla_envs.report import write_report
from rla_envs.rollout import EnvPool, make_pool
from rla_envs.seeding import derive_seed
from rla_envs.tracking import NoProgress, Progress, RunFolder
from rla_envs.types import ChatModel, Sampling, Trainer


def train(
    config: TrainConfig,
    run: Path,
    *,
    resume: bool = False,
    progress: Progress | None = None,
    models: Path | None = None,
) -> Path:
    """Run the closed loop, or take it up again, and return the path of its report.

    Killed at any moment and resumed, a run gives the same numbers as one that was left alone.

    Args:
        config: The settings; on resume the stored ones must be equal, except for loop.iterations
            and ray.
        run: The run folder; new, unless resume.
        resume: Go on with an earlier run.
        progress: What to tell while it runs.
        models: Folder of the warm-started models, made when missing; in the run folder when None.

    Raises:
        RunError: the folder is in use, holds another run, or cannot be resumed.
        TaskUnavailable: the domain's tasks are not where they should be.
    """
    progress = progress or NoProgress()
    _quiet_single_thread()
    if resume:
        folder = RunFolder.open(run)
        checkpoint = folder.resume(asdict(config), may_differ=("loop.iterations", "ray"))
    else:
        folder, checkpoint = RunFolder.create(run, asdict(config)), None
    with folder:
        progress.begin(config.loop.iterations, checkpoint[0] if checkpoint else 0)
        domain = load_domain(config)
        session = _Session.open(
            config,
            domain,
            folder,
            checkpoint[1] if checkpoint else None,
            _warm_models(config, domain, models or run / "warm_start", progress),
            progress,
        )
        try:
            session.run()
        finally:
            session.close()
        report = write_report(run)
    progress.end(report)
    return report


@dataclass(slots=True, kw_only=True)
class _Session:
    """A run in progress: the loop, its state, and the folder it writes to."""

    config: TrainConfig
    folder: RunFolder
    loop: Loop
    state: State
    curriculum: Curriculum
    progress: Progress

    @classmethod
    def open(
        cls,
        config: TrainConfig,
        domain: Domain,
        folder: RunFolder,
        checkpoint: Path | None,
        models: Models,
        progress: Progress,
    ) -> _Session:
        """Build everything, warm-started or from a checkpoint."""
        curriculum = _curriculum(config, domain, folder)
        loop = _loop(config, domain, models, curriculum, progress)
        session = cls(
            config=config,
            folder=folder,
            loop=loop,
            state=State(),
            curriculum=curriculum,
            progress=progress,
        )
        if checkpoint is None:
            folder.append_metrics({"iteration": 0, **evaluate_panels(loop)})
            session.save()
        else:
            session.state = session.load(checkpoint)
        return session

    def run(self) -> None:
        """Iterate until the configured number of iterations is done."""
        while self.state.iteration < self.config.loop.iterations:
            result = iterate(self.loop, self.state)
            self.state = result.state
            self._write(result)
            self.save()
            self.progress.iteration(result.metrics)

    def _write(self, result: Result) -> None:
        worth = [
            self.loop.credit.group_credit(group, self.config.loop.credit, result.metrics["lambda"])
            for group in result.groups
        ]
        start = perf_counter()
        self.folder.write_trajectories(
            result.state.iteration,
            result.groups,
            oracle=result.labels or None,
            rewards=[row for credit in worth for row in credit.by_trajectory(credit.rewards_GT)],
            advantages=[
                row for credit in worth for row in credit.by_trajectory(credit.advantages_GT)
            ],
        )
        self.folder.append_metrics({**result.metrics, "seconds/tracking": perf_counter() - start})

    def save(self) -> None:
        """Write a checkpoint of the present state."""
        with self.folder.checkpoint(self.state.iteration) as folder:
            self.loop.policy.save(folder / "policy")
            if self.loop.judge_trainer is not None:
                self.loop.judge_trainer.save(folder / "judge")
            (folder / "state.json").write_text(json.dumps(asdict(self.state)))

    def load(self, checkpoint: Path) -> State:
        """Restore weights and optimisers; return the loop's state."""
        self.loop.policy.load(checkpoint / "policy")
        if self.loop.judge_trainer is not None:
            self.loop.judge_trainer.load(checkpoint / "judge")
        return State(**json.loads((checkpoint / "state.json").read_text()))

    def close(self) -> None:
        self.loop.pool.close()
        self.curriculum.close()


def evaluate_run(
    run: Path,
    *,
    split: str,
    episodes: int | None = None,
    progress: Progress | None = None,
    models: Path | None = None,
) -> dict[str, float]:
    """Return the accuracy of a run's latest checkpoint on a split of its task set.

    Args:
        run: A run folder with a checkpoint.
        split: Official split name.
        episodes: Tasks to play, one episode each; the run's panel size when None.
        progress: What to tell while it runs.
        models: Where `train` was told to keep the warm-started models.

    Raises:
        RunError: no run, or no complete checkpoint.
    """
    progress = progress or NoProgress()
    _quiet_single_thread()
    folder = RunFolder.open(run)
    config = from_dict(TrainConfig, folder.config)
    _, checkpoint = folder.require_checkpoint()
    domain = load_domain(config)
    warm = _warm_models(config, domain, models or run / "warm_start", progress)
    policy = _trainer(warm.policy, config, "policy")
    policy.load(checkpoint / "policy")
    tasks = domain.tasks(split, episodes or config.panel_tasks)
    pool = _pool(config, domain)
    try:
        accuracy = evaluate(
            policy.model(),
            {split: tasks},
            pool=pool,
            prompts=domain.prompts,
            sampling=_sampling(config),
            on_finished=progress.phase,
        )
    finally:
        pool.close()
    return {**accuracy, "episodes": len(tasks)}


def _quiet_single_thread() -> None:
    # Two threads on busy cores are several times slower than one for models of this size.
    torch.set_num_threads(1)
    disable_progress_bar()


def _warm_models(config: TrainConfig, domain: Domain, folder: Path, progress: Progress) -> Models:
    # Roots come first in a split; what is demonstrated follows them, so that the two are disjoint.
    demonstrated = max(config.warm_start.policy_tasks, config.warm_start.judge_tasks)
    tasks = domain.tasks(config.train_split, config.train_tasks + demonstrated)
    if len(tasks) <= config.train_tasks:
        raise ConfigError(
            f"{config.train_split} has {len(tasks)} tasks: too few for train_tasks="
            f"{config.train_tasks} and at least one to demonstrate; lower train_tasks"
        )
    return domain.warm_start(folder, tasks[config.train_tasks :], progress=progress)


def _curriculum(config: TrainConfig, domain: Domain, folder: RunFolder) -> Curriculum:
    settings = {
        "policy": CurriculumConfig(rewrite="none"),
        "reward": CurriculumConfig(rewrite="none"),
        "full": CurriculumConfig(window=config.window),
        # About as many changes as evidence lets through in the full arm.
        "random-rewrite": CurriculumConfig(
            rewrite="random",
            window=config.window,
            acceptance=AcceptanceConfig(rule="always"),
            rewrites_per_adapt=0.3,
            rollback_alpha=None,
        ),
    }[config.arm]
    return Curriculum(
        domain.tasks(config.train_split, config.train_tasks),
        config=settings,
        rewriter=domain.rewriter(targeted=config.arm == "full"),
        store=folder.archive,
    )


def _loop(
    config: TrainConfig,
    domain: Domain,
    models: Models,
    curriculum: Curriculum,
    progress: Progress,
) -> Loop:
    judged = config.arm != "policy"
    sampling = _sampling(config)
    judge, judge_trainer = models.judge, None
    if judged and config.loop.train_judge:
        judge_trainer = _trainer(models.judge, config, "judge")
    if judged and config.ray.address is not None and config.ray.judges:
        judge, judge_trainer = _join_ray(config).spread(
            models.judge, judge_trainer, actors=config.ray.judges
        )
    return Loop(
        config=config.loop,
        policy=_trainer(models.policy, config, "policy"),
        prompts=domain.prompts,
        pool=_pool(config, domain),
        curriculum=curriculum,
        judge=domain.judge(judge, votes=config.loop.votes, sampling=sampling) if judged else None,
        judge_trainer=judge_trainer,
        credit=domain.credit(),
        oracle=domain.step_labels,
        panels={
            "in_domain": domain.tasks(config.in_domain_split, config.panel_tasks),
            "out_of_domain": domain.tasks(config.out_of_domain_split, config.panel_tasks),
        },
        on_finished=progress.phase,
    )


def _sampling(config: TrainConfig) -> Sampling:
    rollout = config.loop.rollout
    return Sampling(temperature=rollout.temperature, max_tokens=rollout.max_tokens)


def _trainer(model: ChatModel, config: TrainConfig, role: str) -> Trainer:
    settings = config.trainer
    policy = role == "policy"
    ppo = PpoConfig(
        lr=settings.policy_lr if policy else settings.judge_lr,
        epochs=settings.policy_epochs if policy else settings.judge_epochs,
        minibatch=settings.minibatch,
        kl=settings.kl,
        temperature=config.loop.rollout.temperature,
    )
    seed = derive_seed(config.loop.seed, "trainer", role)
    return load_trainer(settings.backend, model, ppo, seed=seed, name=role)


def _pool(config: TrainConfig, domain: Domain) -> EnvPool:
    rollout = config.loop.rollout
    if config.ray.address is not None:
        return _join_ray(config).RayPool(
            domain.env_spec(), slots=rollout.slots, workers=config.ray.workers
        )
    return make_pool(domain.env_spec(), slots=rollout.slots, workers=rollout.workers)


def _join_ray(config: TrainConfig) -> Any:
    ray_workers = needs("rla_adapters.ray_workers", extra="ray")
    ray_workers.connect(config.ray.address, cpus=config.ray.workers + config.ray.judges)
    return ray_workers
