"""All nouns of the project in one place.

Data is frozen and behaviour lives in functions or in the Protocols at the end. Change a record with
``dataclasses.replace``. Words are those of the method (arXiv 2602.02488): a *trajectory* is one
finished episode, a *group* is all trajectories of one task, a *vote* is the reward model's +1/-1 on
a step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypedDict, runtime_checkable

Sign = Literal[-1, 1]
Direction = Literal["harder", "easier"]
StopReason = Literal["won", "failed", "budget", "overflow", "crashed"]


class _Text(TypedDict):
    role: Literal["system", "user", "assistant"]
    content: str


class Message(_Text, total=False):
    """One chat message in the form that every chat template accepts.

    ``images`` are PNG or JPEG files that stand before the text, by path, because records and pipes
    carry no pixels. Models that do not see read the text alone.
    """

    images: Sequence[str]


Conversation = Sequence[Message]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A problem, as data.

    Attributes:
        id: Unique within a run. An official game's id is its folder below the data root.
        domain: Which environment runs it: "alfworld", "coding" or "osworld".
        instruction: What the agent is asked to do, in words.
        payload: What the domain needs to build and verify the problem. JSON-serialisable.
        parent_id: The task this one was rewritten from; None for a root.
        root_id: The root of the lineage; equal to id for a root.
        difficulty: The domain's own estimate (ALFWorld: length of the shortest plan), in steps.
    """

    id: str
    domain: str
    instruction: str
    payload: Mapping[str, Any]
    parent_id: str | None = None
    root_id: str = ""
    difficulty: float | None = None

    def __post_init__(self) -> None:
        if not self.root_id:
            object.__setattr__(self, "root_id", self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How completions are drawn. The trainer must use the same temperature (trl#6789)."""

    temperature: float = 1.0
    """Softmax temperature; 0 means greedy."""
    max_tokens: int = 32
    """Longest completion, in tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One model output for one prompt, with the exact tokens that went in and came out.

    Attributes:
        text: Decoded token_ids without special tokens.
        prompt_ids: [P] token ids that were fed to the model.
        token_ids: [T] sampled token ids, the end token included when it was sampled.
        logprobs: [T] log-probability of each sampled token at the sampling temperature, in nats.
        stop: "stop" (end token), "length" (token budget) or "overflow" (prompt longer than the
            context; T = 0).
    """

    text: str
    prompt_ids: tuple[int, ...] = ()
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    stop: Literal["stop", "length", "overflow"] = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """The judge's verdict on one step; label None means that no verdict could be parsed."""

    label: Sign | None
    rationale: str
    completion: Completion | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One turn of an episode.

    Attributes:
        observation: What the policy read before it acted.
        completion: The policy's output.
        action: What was parsed from the output and given to the environment.
        next_observation: What the environment answered.
        votes: [M] the judge's votes, empty until judged.
        info: JSON-serialisable extras of the domain (ALFWorld: admissible commands before the step,
            feedback).
    """

    observation: str
    completion: Completion
    action: str
    next_observation: str
    votes: tuple[Vote, ...] = ()
    info: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """The record of one finished episode; outcome None masks it (the world failed)."""

    task: Task
    steps: tuple[Step, ...]
    outcome: Sign | None
    stop_reason: StopReason
    seed: int
    policy_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """All trajectories of one task that were sampled under one policy version."""

    task: Task
    trajectories: tuple[Trajectory, ...]
    on_trial: bool = False
    """A trial's groups decide about the task and do not train."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSample:
    """One row for a trainer: the tokens as sent, the tokens as sampled, and what they are worth.

    Attributes:
        prompt_ids: [P] token ids.
        token_ids: [T] token ids, T >= 1.
        logprobs: [T] log-probabilities at sampling time, in nats.
        advantage: Standardised reward of the whole sample.
        source: Where it came from, for logs and tests: "policy" or "judge".
    """

    prompt_ids: tuple[int, ...]
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    advantage: float
    source: Literal["policy", "judge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSummary:
    """What went wrong in a task's recent episodes, from the judge's rationales on steps voted down.

    Attributes:
        task_id: The task.
        accuracy: Share of won trajectories, in [0, 1]; None when nothing was observed.
        reasons: Rationale text -> how many negative votes gave it, most frequent first.
        episodes: How many trajectories it rests on.
        tried: Transform -> (accepted, decided) trials of it on any task so far.
        push: How much bolder a rewrite should be, 0 at first: trials that showed too little effect
            less those that showed too much, this task's fully, the latest of others by half.
    """

    task_id: str
    accuracy: float | None
    reasons: Mapping[str, int]
    episodes: int
    tried: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    push: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """A candidate task proposed by a rewriter, not yet checked and not yet tried."""

    task: Task
    direction: Direction
    transform: str
    """Name of the transform, e.g. "hide_object" or "null"."""
    reason: str
    """Why this transform: the part of the error summary it answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A rewriter's answer when it has no candidate.

    Attributes:
        reason: Why, as it is counted, e.g. "unparsed" for a reply that could not be read.
    """

    reason: str


@runtime_checkable
class ChatModel(Protocol):
    """Policy, judge and rewriter are three roles of this one protocol."""

    def sample(
        self,
        conversations: Sequence[Conversation],
        *,
        n: int = 1,
        sampling: Sampling | None = None,
        seeds: Sequence[int] | None = None,
    ) -> list[list[Completion]]:
        """Return n completions for each conversation, in order.

        Args:
            conversations: [B] chats that end with a user message.
            n: Completions a conversation.
            sampling: How to draw; the model's own default when None.
            seeds: [B] one seed a conversation. With the same weights, conversation and seed the
                completions are the same, whatever else is in the batch. None draws fresh
                randomness.

        Raises:
            ModelError: the backend failed. A prompt beyond the context is no error but
                stop="overflow".
        """
        ...


class Trainer(Protocol):
    """Turns samples into better weights."""

    def update(self, samples: Sequence[TrainingSample]) -> dict[str, float]:
        """Run one update on samples; return metrics (loss, kl, entropy, clip_share, ...)."""
        ...

    def model(self) -> ChatModel:
        """Return the chat model that samples from the current weights."""
        ...

    def save(self, folder: Path) -> None:
        """Write weights, optimiser state and RNG state below folder."""
        ...

    def load(self, folder: Path) -> None:
        """Restore what save wrote; the next update equals the one that would have followed save."""
        ...


class Judge(Protocol):
    """The reward model: votes on steps, never sees the outcome."""

    def judge(self, trajectories: Sequence[Trajectory], *, seed: int) -> list[Trajectory]:
        """Return the trajectories with m votes on every step, in order."""
        ...


class Verifier(Protocol):
    """Ground truth on a finished episode; never an LLM."""

    def verify(self, task: Task, actions: Sequence[str]) -> bool:
        """Return whether actions solve task."""
        ...


class Rewriter(Protocol):
    """Proposes a harder or easier version of a task."""

    def propose(
        self, task: Task, *, root: Task, direction: Direction, summary: ErrorSummary, seed: int
    ) -> Rewrite | Refusal | None:
        """Return a candidate that keeps root's intention, a Refusal that says why not, or None."""
        ...


class TaskSource(Protocol):
    """Where episodes get their tasks from: a fixed list or a curriculum."""

    def draw(self, n: int, *, seed: int) -> list[Task]:
        """Return n tasks."""
        ...
