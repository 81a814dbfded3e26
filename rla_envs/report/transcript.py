"""A trajectory as HTML: what was seen, done, voted and true, step by step."""

from __future__ import annotations

from rla_envs.report.page import badge, escape, signed
from rla_envs.tracking.trajectories import StepRecord, TrajectoryRecord
from rla_envs.types import Vote

OUTCOMES = {1: "won", -1: "lost"}


def summary_line(record: TrajectoryRecord, *, name_task: bool = True) -> str:
    """Return outcome, task, length and votes in one line of HTML."""
    votes = all_votes(record)
    minus = sum(vote.label == -1 for vote in votes)
    parts = [
        badge(OUTCOMES.get(record.outcome or 0, "masked"), record.outcome),
        f"<b>{escape(record.instruction)}</b>" if name_task else "",
        f'<span class="soft">{len(record.steps)} steps',
    ]
    if votes:
        parts.append(f"&middot; {minus} of {len(votes)} votes negative")
    if record.on_trial:
        parts.append("&middot; on trial")
    return " ".join(parts) + "</span>"


def transcript(record: TrajectoryRecord) -> str:
    """Return all steps."""
    head = (
        f'<p class="note">Iteration {record.iteration}, task <code>{escape(record.task_id)}</code>,'
        f" policy version {record.policy_version}, ended by {escape(record.stop_reason)},"
        f" seed {record.seed}</p>"
    )
    if not record.steps:
        return head + "<p>No step was played.</p>"
    return head + "".join(_step(index, step) for index, step in enumerate(record.steps))


def all_votes(record: TrajectoryRecord) -> list[Vote]:
    """Return the votes on all steps."""
    return [vote for step in record.steps for vote in step.step.votes]


def split(step: StepRecord) -> bool:
    """Return whether a step has votes of both signs."""
    return {1, -1} <= {vote.label for vote in step.step.votes}


def _step(index: int, record: StepRecord) -> str:
    step = record.step
    said = ""
    if step.completion.text.strip() != step.action.strip():
        said = _text("the model wrote", step.completion.text)
    left = (
        f'<p class="action">&gt; {escape(step.action)}</p>'
        + _text("observation before", step.observation)
        + said
        + _text("observation after", step.next_observation)
    )
    return (
        f'<div class="step"><div class="index">{index + 1}</div>'
        f"<div>{left}</div><div>{_worth(record)}</div></div>"
    )


def _text(label: str, text: str) -> str:
    return f'<div class="label">{label}</div><div class="text">{escape(text)}</div>'


def _worth(record: StepRecord) -> str:
    facts: list[str] = []
    if record.oracle is not None:
        name = {1: "good step", -1: "bad step"}[record.oracle]
        facts.append(badge(f"oracle: {name}", record.oracle))
    if split(record):
        facts.append(badge("split votes"))
    for name, value in (("reward", record.reward), ("advantage", record.advantage)):
        if value is not None:
            facts.append(badge(f"{name} {value:+.2f}".replace("-", "\u2212")))
    votes = "".join(
        f'<div class="vote">{badge(signed(vote.label), vote.label)}'
        f"<span>{escape(vote.rationale) or '<i>no rationale</i>'}</span></div>"
        for vote in record.step.votes
    )
    return (f"<p>{' '.join(facts)}</p>" if facts else "") + votes
