"""A run as one page: numbers first, then how they came about, then what was played."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rla_envs.report import charts
from rla_envs.report.lineage import Change, changes
from rla_envs.report.page import badge, escape, page
from rla_envs.report.plots import Chart, has_data, points, svg
from rla_envs.report.transcript import all_votes, split, summary_line, transcript
from rla_envs.tracking.files import write_text
from rla_envs.tracking.metrics import METRICS, Metrics
from rla_envs.tracking.run_folder import RunFolder
from rla_envs.tracking.trajectories import TrajectoryRecord

HEADLINE = {
    "accuracy/in_domain": "accuracy, in-domain",
    "accuracy/out_of_domain": "accuracy, out-of-domain",
    "accuracy/train": "accuracy, training tasks",
    "judge/balanced_accuracy": "judge, balanced",
    "judge/outcome_auc": "judge, outcome AUC",
    "tasks/difficulty": "plan length of tasks",
    "tasks/total/accepted": "rewrites accepted",
    "share_outside_models": "time outside the models",
}
"""Metric -> what its first and last value are called on top of the page."""
LONGEST_TABLE = 200
EXAMPLES = 4


def write_report(run: Path) -> Path:
    """Write report.html into a run folder and return its path.

    Works on a run that is still going, and with whatever metrics an arm has.

    Raises:
        RunError: run is no run folder, or one of its files is broken.
        MissingExtra: matplotlib or pyarrow is not installed.
    """
    folder = RunFolder.open(run)
    metrics = folder.metrics()
    body = [
        _head(folder, metrics),
        _section("Policy", charts.learning(metrics)),
        _section("Judge", charts.judging(metrics)),
        _section("Tasks", charts.tasks(metrics)),
        _lineage(changes(folder.archive)),
        _section("Training", charts.training(metrics)),
        _section("Time", charts.time(metrics)),
        _examples(folder),
        _settings(folder.config),
    ]
    write_text(folder.report, page(f"Report of {_name(folder)}", "\n".join(filter(None, body))))
    return folder.report


def _name(folder: RunFolder) -> str:
    return folder.path.resolve().name


def _head(folder: RunFolder, metrics: Sequence[Metrics]) -> str:
    done = max((int(row["iteration"]) for row in metrics), default=0)
    loop = folder.config.get("loop", {})
    facts = [f"{done} iterations"]
    if folder.config.get("arm"):
        facts.insert(0, f"arm <b>{escape(folder.config['arm'])}</b>")
    if folder.config.get("tasks"):
        facts.append(f"{escape(folder.config['tasks'])} games")
    if isinstance(loop, Mapping) and "seed" in loop:
        facts.append(f"seed {escape(loop['seed'])}")  # pyright: ignore[reportUnknownArgumentType]
    cards = "".join(_number(metrics, name) for name in HEADLINE)
    empty = "" if metrics else "<p>No iteration has finished yet.</p>"
    return (
        f"<h1>{escape(_name(folder))}</h1>"
        f'<p class="soft">{" &middot; ".join(facts)}</p>{empty}<div class="numbers">{cards}</div>'
    )


def _number(metrics: Sequence[Metrics], name: str) -> str:
    values = points(metrics, name)
    if not values:
        return ""
    (start, first), (end, last) = values[0], values[-1]
    unit = METRICS[name].unit
    before = ""
    if end > start:
        before = f"<span>{_value(first, unit)} at iteration {start:.0f}</span>"
    return (
        f'<div class="card number"><span>{escape(HEADLINE[name])}</span>'
        f"<b>{_value(last, unit)}</b>{before}</div>"
    )


def _value(value: float, unit: str) -> str:
    if unit == "share":
        return f"{100 * value:.1f}&nbsp;%"
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.2f}"


def _section(title: str, drawn: Sequence[Chart]) -> str:
    cards = "".join(
        f'<div class="card"><h3>{escape(chart.title)}</h3>'
        f'<p class="note">{escape(chart.note)}</p>{svg(chart)}</div>'
        for chart in drawn
        if has_data(chart)
    )
    return f'<h2>{escape(title)}</h2><div class="charts">{cards}</div>' if cards else ""


def _lineage(history: Sequence[Change]) -> str:
    if not history:
        return ""
    rows = "".join(_change(change) for change in history[-LONGEST_TABLE:])
    left_out = len(history) - LONGEST_TABLE
    note = f'<p class="note">The first {left_out} are left out.</p>' if left_out > 0 else ""
    return (
        "<h2>Accepted rewrites</h2>"
        '<p class="note">Won / played episodes of both tasks under the same policy versions; the '
        "e-value is the evidence that the rewrite does what it should, or, for a rollback, "
        "that it is beyond the band.</p>"
        f'{note}<div class="card scroll"><table><tr><th>Version</th><th>Change</th>'
        "<th>Old task</th><th>New task</th><th>Old won</th><th>New won</th><th>Evidence</th></tr>"
        f"{rows}</table></div>"
    )


def _change(change: Change) -> str:
    numbers = change.numbers
    did = {"rolled_back": badge("rolled back", -1), "restored": badge("restored")}
    named = f"{change.direction or ''}: {(change.transform or '').replace('_', ' ')}"
    what = f"{did.get(change.kind, '')} {escape(named)}"
    reason = change.why if change.kind == "accepted" else change.ground
    why = f'<div class="note">{escape(reason)}</div>' if reason else ""
    shown = [
        f"{label}&nbsp;{numbers[name]:.3g}"
        for name, label in (("e_value", "e"), ("in_band", "in band"))
        if name in numbers
    ]
    return (
        f'<tr><td class="n">{change.policy_version}</td><td>{what}{why}</td>'
        f"<td>{_task(change.old)}</td><td>{_task(change.new)}</td>"
        f'<td class="n">{_won(numbers, "old")}</td><td class="n">{_won(numbers, "new")}</td>'
        f'<td class="n">{"<br>".join(shown)}</td></tr>'
    )


def _task(task: tuple[str, float | None]) -> str:
    instruction, difficulty = task
    length = "" if difficulty is None else f'<div class="note">plan of {difficulty:g} steps</div>'
    return escape(instruction) + length


def _won(numbers: Mapping[str, float], side: str) -> str:
    wins, played = numbers.get(f"{side}_wins"), numbers.get(f"{side}_n")
    return "" if wins is None or played is None else f"{wins:.0f}&nbsp;/&nbsp;{played:.0f}"


def _examples(folder: RunFolder) -> str:
    iterations = folder.trajectory_iterations()
    if not iterations:
        return ""
    chosen = _choose(folder.trajectories(iterations[-1]))
    blocks = "".join(
        f"<details><summary>{summary_line(record)}</summary>"
        f'<div class="inside">{transcript(record)}</div></details>'
        for record in chosen
    )
    return (
        f"<h2>Examples from iteration {iterations[-1]}</h2>"
        f'<p class="note">All trajectories: <code>rla view {escape(folder.path)}</code></p>{blocks}'
    )


def _choose(records: Sequence[TrajectoryRecord]) -> list[TrajectoryRecord]:
    """Pick a win, a loss, the most disputed and the most often wrongly judged, none twice."""

    def wrong(record: TrajectoryRecord) -> int:
        return sum(
            vote.label is not None and vote.label != step.oracle
            for step in record.steps
            if step.oracle is not None
            for vote in step.step.votes
        )

    def first(wanted: Sequence[TrajectoryRecord]) -> list[TrajectoryRecord]:
        return [record for record in wanted if record not in chosen][:1]

    played = [record for record in records if record.steps]
    chosen: list[TrajectoryRecord] = []
    chosen += first(sorted((r for r in played if r.outcome == 1), key=lambda r: len(r.steps)))
    chosen += first(sorted((r for r in played if r.outcome == -1), key=lambda r: len(r.steps)))
    if any(all_votes(record) for record in played):
        chosen += first(sorted(played, key=lambda r: -sum(map(split, r.steps))))
        chosen += first(sorted(played, key=wrong, reverse=True))
    return chosen[:EXAMPLES]


def _settings(config: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(name)}</code></td><td><code>{escape(value)}</code></td></tr>"
        for name, value in _flat(config)
    )
    return (
        "<h2>Settings</h2><details><summary>config.json</summary>"
        f'<div class="inside scroll"><table>{rows}</table></div></details>'
    )


def _flat(config: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    flat: list[tuple[str, Any]] = []
    for name, value in config.items():
        if isinstance(value, Mapping):
            flat += _flat(value, f"{prefix}{name}.")  # pyright: ignore[reportUnknownArgumentType]
        else:
            flat.append((prefix + name, value))
    return flat
