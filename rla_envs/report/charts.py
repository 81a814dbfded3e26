"""Which charts a report has: a function of the metrics, in reading order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

from rla_envs.report.plots import Chart, Points, points
from rla_envs.tracking.metrics import METRICS

Rows = Sequence[Mapping[str, float]]
NULL_ACCEPT_TARGET = 0.05
OUTSIDE_MODELS_TARGET = 0.10


def learning(metrics: Rows) -> list[Chart]:
    """Return the charts about the policy's success."""
    return [
        Chart(
            title="Accuracy on fixed panels",
            note="The same tasks and seeds every time; neither panel trains.",
            series=_named(metrics, "accuracy/in_domain", "accuracy/out_of_domain"),
            unit="share",
        ),
        Chart(
            title="Accuracy on training tasks",
            note="The tasks change with the policy, so a flat line can hide progress.",
            series=_named(metrics, "accuracy/train", "oracle/good_share"),
            unit="share",
        ),
    ]


def judging(metrics: Rows) -> list[Chart]:
    """Return the charts about the reward model."""
    commoner = [(x, max(y, 1 - y)) for x, y in points(metrics, "oracle/good_share")]
    return [
        Chart(
            title="Judge against the step oracle",
            note="Raw accuracy is to be compared with always giving the commoner verdict, "
            "balanced accuracy with 50 %.",
            series=_named(metrics, "judge/process_accuracy", "judge/balanced_accuracy")
            | ({"commoner verdict": commoner} if points(metrics, "judge/process_accuracy") else {}),
            unit="share",
        ),
        Chart(
            title="Judge against the outcome",
            note="Whether mean votes tell won episodes from lost ones; the AUC needs no threshold.",
            series=_named(metrics, "judge/outcome_accuracy", "judge/outcome_auc"),
            unit="share",
            marks={"chance (AUC)": 0.5},
        ),
        Chart(
            title="Votes",
            note="Steps on which all votes agree do not train the judge under the published rule.",
            series=_named(
                metrics,
                "judge/agreement",
                "judge/split_rate",
                "judge/negative_share",
                "judge/unparsed_rate",
            ),
            unit="share",
        ),
    ] + (
        [
            Chart(
                title="Weight of the votes",
                note="λ in step reward = outcome + λ · mean vote.",
                series=_named(metrics, "lambda"),
            )
        ]
        if len({y for _, y in points(metrics, "lambda")}) > 1
        else []
    )


def tasks(metrics: Rows) -> list[Chart]:
    """Return the charts about the curriculum."""
    reasons = {
        name.removeprefix("tasks/rejected/").replace("_", " "): _added_up(metrics, name)
        for name in sorted({name for row in metrics for name in row})
        if name.startswith("tasks/rejected/")
    }
    return [
        Chart(
            title="Rewrites",
            note="Counts since the start; on trial is the number at the moment.",
            series=_named(
                metrics,
                "tasks/total/proposed",
                "tasks/total/rejected",
                "tasks/total/accepted",
                "tasks/total/rolled_back",
                "tasks/on_trial",
            ),
            unit="count",
        ),
        Chart(
            title="Rejected, by reason",
            note="Counts since the start, by static checks and by trials.",
            series=reasons,
            unit="count",
        ),
        Chart(
            title="Served tasks",
            note="In the band: neither too easy nor too hard for the present policy.",
            series=_named(metrics, "tasks/rewritten_share", "tasks/in_band_share"),
            unit="share",
        ),
        Chart(
            title="Null control",
            note="How often a rewrite that changes nothing is accepted: the false-accept rate.",
            series=_named(metrics, "tasks/null_accept_rate"),
            unit="rate",
            marks={"stated rate": NULL_ACCEPT_TARGET},
        ),
        Chart(
            title="Difficulty of the served tasks",
            note="Length of the planner's plan, next to how long episodes are.",
            series={
                "plan length": points(metrics, "tasks/difficulty"),
                "steps an episode": points(metrics, "episode_steps/mean"),
            },
            unit="steps",
        ),
    ]


def training(metrics: Rows) -> list[Chart]:
    """Return the charts about the two optimisers."""

    def both(what: str) -> dict[str, Points]:
        return {
            "policy": points(metrics, f"policy/{what}"),
            "judge": points(metrics, f"judge_trainer/{what}"),
        }

    return [
        Chart(title="KL", note="To the weights before the update.", series=both("kl"), unit="nats"),
        Chart(
            title="Entropy",
            note="Of the next token, before the update.",
            series=both("entropy"),
            unit="nats",
        ),
        Chart(
            title="Clip share",
            note="Share of tokens whose gradient the clip removes.",
            series=both("clip_share"),
            unit="rate",
        ),
        Chart(
            title="Samples",
            note="Samples given to the update: one a turn, one a vote.",
            series=both("samples"),
            unit="count",
        ),
    ]


def time(metrics: Rows) -> list[Chart]:
    """Return the charts about where the seconds go."""
    parts = ("model", "judge", "trainer", "evaluation", "env")
    series: dict[str, Points] = {part: points(metrics, f"seconds/{part}") for part in parts}
    series["other"] = [
        (
            row["iteration"],
            max(0.0, row["seconds/total"] - sum(row.get(f"seconds/{p}", 0.0) for p in parts)),
        )
        for row in metrics
        if "seconds/total" in row
    ]
    return [
        Chart(
            title="Seconds an iteration",
            note="Evaluation plays the panels; other is step oracle, curriculum and run folder.",
            series=series,
            unit="s",
            kind="bars",
        ),
        Chart(
            title="Share outside the models",
            note="Environments, oracle, curriculum and bookkeeping; evaluation counts as model.",
            series=_named(metrics, "share_outside_models"),
            unit="rate",
            marks={"aim": OUTSIDE_MODELS_TARGET},
        ),
    ]


def _named(metrics: Rows, *names: str) -> dict[str, Points]:
    return {METRICS[name].label: points(metrics, name) for name in names}


def _added_up(metrics: Rows, name: str) -> Points:
    """Return a count's running total; an iteration without it adds nothing."""
    totals = accumulate(row.get(name, 0.0) for row in metrics)
    return [(row["iteration"], total) for row, total in zip(metrics, totals, strict=True)]
