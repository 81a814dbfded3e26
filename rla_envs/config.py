"""Settings of a run: frozen data, a docstring a field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from typing import Any, Literal, TypeVar, get_type_hints

from rla_envs.credit import StepBaseline, VoteBaseline
from rla_envs.errors import ConfigError

Config = TypeVar("Config")
Arm = Literal["policy", "reward", "full", "random-rewrite"]
Domain = Literal["alfworld", "coding", "osworld"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutConfig:
    """How much is sampled in an iteration."""

    tasks: int = 16
    """Groups an iteration (the paper: 16)."""
    rollouts: int = 4
    """Trajectories a group (the paper: 8); half of it here leaves room for twice the tasks."""
    slots: int = 64
    """Episodes that run at the same time and share one batch."""
    workers: int = 0
    """Environment processes; 0 steps them in this process (right for the embedded engine)."""
    max_steps: int = 20
    """Turns until an episode is truncated."""
    max_tokens: int = 16
    """Longest completion of policy and judge, in tokens."""
    temperature: float = 1.0
    """Sampling temperature of policy and judge; the trainers use the same."""

    def __post_init__(self) -> None:
        for name in ("tasks", "rollouts", "slots", "max_steps", "max_tokens"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.workers < 0:
            raise ConfigError(f"workers must be at least 0, got {self.workers}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CreditConfig:
    """How rewards become advantages."""

    lam: float = 1.0
    """Weight of the mean vote in the step reward (the paper: 1)."""
    lam_follows_worth: bool = False
    """Scale lam by max(0, 2 AUC - 1), where AUC is how well votes told wins from losses lately."""
    step_baseline: StepBaseline = "index"
    """What a step is compared with: "index" (published) or "group"."""
    vote_baseline: VoteBaseline = "step"
    """What a vote is compared with: "step" (published), "group" or "centred"."""
    policy_band: tuple[float, float] | None = None
    """Accuracies between which a task trains the policy (the authors' code: 1/8, 7/8); None: all.

    Groups without spread have advantage 0 by themselves; the filter also drops groups that all fail
    but whose votes differ, where votes are the only signal."""
    judge_band: tuple[float, float] | None = (0.2, 0.8)
    """Accuracies between which a task trains the judge (the authors' code: 0.2, 0.8); None: all."""

    def __post_init__(self) -> None:
        if self.lam < 0:
            raise ConfigError(f"lam must be >= 0, got {self.lam}")
        for name in ("policy_band", "judge_band"):
            band = getattr(self, name)
            if band is not None and not 0 <= band[0] < band[1] <= 1:
                raise ConfigError(f"{name} must satisfy 0 <= low < high <= 1, got {band}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopConfig:
    """One run of the closed loop."""

    iterations: int = 40
    """Iterations in all."""
    seed: int = 0
    """Everything random is derived from it."""
    votes: int = 3
    """m, votes a step (the paper: 3)."""
    evaluate_every: int = 5
    """Iterations between two evaluations on the fixed panels; the last one is always evaluated."""
    train_judge: bool = True
    """Whether votes train the judge; otherwise it stays as it was warm-started."""
    rollout: RolloutConfig = field(default_factory=RolloutConfig)
    """What is sampled."""
    credit: CreditConfig = field(default_factory=CreditConfig)
    """How it is valued."""

    def __post_init__(self) -> None:
        for name in ("iterations", "votes", "evaluate_every"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmStartConfig:
    """How the embedded models come into the world: supervised, on planner demonstrations.

    A policy needs about 0.2 success to learn from outcomes at all. A judge must be informative
    about steps that happened, not only about impossible ones, or its votes mislead
    (docs/results.md).
    """

    seed: int | None = None
    """Of the models' first weights and of the demonstrations; None: the run's."""
    policy_model: str = "nano"
    """The policy: a shape of the embedded models ("nano", "micro", "mini") or any other model that
    `rla_adapters.load_model` knows, such as "smollm2" or the folder of a Hugging Face model."""
    judge_model: str = "nano"
    """The judge, likewise; one behind a server is used as it is and needs train_judge = False."""
    lora_rank: int = 16
    """Rank of the adapters that are trained on models other than the embedded ones; 0 trains all
    their weights."""
    policy_tasks: int = 1500
    """Training games that are demonstrated once to the policy; not those of the loop."""
    judge_tasks: int = 3000
    """Training games from whose demonstrations the judge learns."""
    noise: float = 0.4
    """Share of random commands in the demonstrations; the policy imitates what would have been
    sensible instead."""
    policy_epochs: int = 2
    """Passes over the policy's demonstrations."""
    judge_epochs: int = 2
    """Passes over the judge's labelled steps, as many good as bad ones."""
    judge_label_noise: float = 0.1
    """Share of the judge's labels that are turned round."""
    minibatch: int = 32
    """Rows an optimiser step."""
    lr: float = 3e-3
    """Highest learning rate of both."""

    def __post_init__(self) -> None:
        for name in ("noise", "judge_label_noise"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} must be in [0, 1], got {getattr(self, name)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerConfig:
    """Learning rates and sizes of the updates."""

    backend: Literal["native", "trl"] = "native"
    """What computes them: the loop of this package, or TRL's trainer (docs/trainers.md)."""
    policy_lr: float = 2e-4
    """AdamW, constant."""
    judge_lr: float = 1e-4
    """AdamW, constant."""
    policy_epochs: int = 2
    """Passes over an iteration's policy samples (the paper: 4 updates an iteration)."""
    judge_epochs: int = 1
    """Passes over an iteration's judge samples."""
    minibatch: int = 128
    """Samples a gradient step."""
    kl: float = 0.01
    """Weight of the k3 KL to the policy before the update (the paper: 0.01)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RayConfig:
    """What runs as Ray actors, each on a CPU of its own; nothing without an address."""

    address: str | None = None
    """"local" starts Ray in this run, "auto" finds it on this machine; or "host:port"."""
    workers: int = 2
    """Actors that step the environments, in place of loop.rollout.workers."""
    judges: int = 0
    """Actors that hold a copy of the judge; 0: it votes in the trainer's process."""

    def __post_init__(self) -> None:
        if self.workers < 1 or self.judges < 0:
            raise ConfigError(
                f"need ray.workers >= 1 and ray.judges >= 0, got {self.workers} and {self.judges}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """Everything `rla train` needs, as it is written into the run folder."""

    domain: Domain = "alfworld"
    """Where the tasks come from and which environment runs them."""
    arm: Arm = "full"
    """"policy": outcomes only; "reward": with a trained judge; "full": tasks adapt as well;
    "random-rewrite": tasks are rewritten at random instead."""
    tasks: Literal["generated", "official"] = "generated"
    """Tasks of our own, or the official ones below root."""
    window: int = 4
    """Latest episodes on which a task's accuracy rests before it is proposed for a rewrite."""
    root: str | None = None
    """Folder of the official splits; None means $ALFWORLD_DATA."""
    train_split: str = "train"
    """Where root tasks and demonstrations come from."""
    in_domain_split: str = "valid_seen"
    """What the in-domain panel is drawn from."""
    out_of_domain_split: str = "valid_unseen"
    """What the out-of-domain panel is drawn from."""
    size: str = "small"
    """Size of generated tasks (ALFWorld: of rooms): "small", "medium" or "large"."""
    train_tasks: int = 64
    """Root tasks of the curriculum."""
    panel_tasks: int = 128
    """Tasks of each of the two fixed panels, in-domain and out-of-domain."""
    prompts: Literal["compact", "chat"] = "compact"
    """"compact": a summary of what is known, which small models can learn to read; "chat": rules,
    history and admissible commands, for instruction-tuned models."""
    warm_start: WarmStartConfig = field(default_factory=WarmStartConfig)
    """How the embedded models start."""
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    """How they are updated."""
    loop: LoopConfig = field(default_factory=LoopConfig)
    """The loop itself."""
    ray: RayConfig = field(default_factory=RayConfig)
    """What runs elsewhere; results do not depend on it."""


def preset(
    name: Literal["demo", "full", "llm"],
    *,
    domain: Domain = "alfworld",
    arm: Arm = "full",
    seed: int = 0,
) -> TrainConfig:
    """Return the settings of a named preset.

    "demo" shows every part at work on two cores in about ten minutes; "full" is for hours; "llm"
    is small enough for a language model of 135 million weights without a GPU. All use the baselines
    "group" and "centred"; docs/results.md compares them with the published ones.

    Raises:
        ConfigError: no such preset.
    """
    if name not in ("demo", "full", "llm"):
        raise ConfigError(f"preset must be 'demo', 'full' or 'llm', got {name!r}")
    if domain != "alfworld":
        if name == "llm":
            raise ConfigError(f"preset 'llm' is ALFWorld's; with {domain} use 'demo' or 'full'")
        own = {"coding": _coding_preset, "osworld": _osworld_preset}[domain]
        return own(name, arm, seed)
    credit = CreditConfig(step_baseline="group", vote_baseline="centred")
    if name == "demo":
        rollout = RolloutConfig(tasks=32, rollouts=2)
        loop = LoopConfig(
            iterations=12, seed=seed, evaluate_every=4, rollout=rollout, credit=credit
        )
        return TrainConfig(arm=arm, train_tasks=192, window=2, loop=loop)
    if name == "llm":
        rollout = RolloutConfig(tasks=4, rollouts=4, slots=16, max_tokens=32)
        loop = LoopConfig(
            iterations=10, seed=seed, evaluate_every=5, rollout=rollout, credit=credit
        )
        warm = WarmStartConfig(
            policy_model="smollm2",
            judge_model="smollm2",
            policy_tasks=60,
            judge_tasks=40,
            policy_epochs=1,
            judge_epochs=1,
            minibatch=8,
            lr=1e-3,
        )
        trainer = TrainerConfig(policy_lr=1e-4, judge_lr=1e-4, policy_epochs=1, minibatch=32)
        return TrainConfig(
            arm=arm, train_tasks=16, panel_tasks=16, warm_start=warm, trainer=trainer, loop=loop
        )
    rollout = RolloutConfig(tasks=32, rollouts=8, slots=128)
    loop = LoopConfig(iterations=100, seed=seed, rollout=rollout, credit=credit)
    return TrainConfig(arm=arm, train_tasks=256, loop=loop)


def _coding_preset(name: Literal["demo", "full"], arm: Arm, seed: int) -> TrainConfig:
    demo = name == "demo"
    rollout = RolloutConfig(tasks=16 if demo else 32, rollouts=8, max_steps=1, max_tokens=56)
    # Shares of passed tests differ by chance where no program is right. Reference and mutants tell
    # right tests from wrong ones whatever the policy's accuracy is.
    credit = CreditConfig(
        step_baseline="group", vote_baseline="centred", policy_band=(0.1, 0.9), judge_band=None
    )
    loop = LoopConfig(
        iterations=12 if demo else 100,
        seed=seed,
        votes=4 if demo else 8,
        evaluate_every=4,
        rollout=rollout,
        credit=credit,
    )
    warm = WarmStartConfig(policy_tasks=600, judge_tasks=600, policy_epochs=14, judge_epochs=6)
    return TrainConfig(
        domain="coding",
        arm=arm,
        train_tasks=96 if demo else 200,
        panel_tasks=64,
        window=8,
        warm_start=warm,
        trainer=TrainerConfig(policy_lr=3e-4, judge_lr=3e-4),
        loop=loop,
    )


def _osworld_preset(name: Literal["demo", "full"], arm: Arm, seed: int) -> TrainConfig:
    demo = name == "demo"
    # An episode takes seconds of a real desktop, so little is played and much is demonstrated.
    rollout = RolloutConfig(
        tasks=4 if demo else 16, rollouts=3 if demo else 8, slots=2, max_steps=8, max_tokens=12
    )
    credit = CreditConfig(step_baseline="group", vote_baseline="centred", judge_band=None)
    loop = LoopConfig(
        iterations=4 if demo else 40,
        seed=seed,
        evaluate_every=4,
        rollout=rollout,
        credit=credit,
    )
    warm = WarmStartConfig(policy_tasks=600, judge_tasks=600, policy_epochs=6, judge_epochs=3)
    return TrainConfig(
        domain="osworld",
        arm=arm,
        train_tasks=8 if demo else 64,
        panel_tasks=6 if demo else 32,
        window=2,
        warm_start=warm,
        loop=loop,
    )


def from_dict(kind: type[Config], data: Mapping[str, Any]) -> Config:
    """Return the settings that ``dataclasses.asdict`` and JSON have flattened.

    Raises:
        ConfigError: data has a field that kind does not know.
    """
    known = get_type_hints(kind)
    if unknown := sorted(data.keys() - known.keys()):
        raise ConfigError(f"{kind.__name__} has no setting {unknown[0]!r}; it has {sorted(known)}")
    values = {name: _value(known[name], value) for name, value in data.items()}
    return kind(**values)


def _value(kind: Any, value: Any) -> Any:
    if is_dataclass(kind) and isinstance(kind, type):
        return from_dict(kind, value)
    return tuple(value) if isinstance(value, list) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
