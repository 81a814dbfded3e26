"""The viewer's pages: iterations, the groups of one iteration, one trajectory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from urllib.parse import urlencode

from rla_envs.errors import RunError
from rla_envs.report.page import badge, escape, page
from rla_envs.report.transcript import OUTCOMES, all_votes, split, summary_line, transcript
from rla_envs.tracking import RunFolder, TrajectoryRecord

Query = Mapping[str, str]
FILTERS = ("task", "outcome", "votes")


class Pages:
    """Turns routes into pages, below whatever prefix the server puts them."""

    def __init__(self, run: RunFolder) -> None:
        self._run = run
        self._name = run.path.resolve().name

        # Files are replaced in one step and never change in place, so the time of change is a key.
        @lru_cache(maxsize=4)
        def load(iteration: int, changed: int) -> list[TrajectoryRecord]:
            del changed
            return run.trajectories(iteration)

        self._load = load

    def answer(self, route: str, query: Query) -> str | None:
        """Return the page at route, or None when there is none.

        Raises:
            RunError: the query names an iteration or a trajectory that does not exist.
        """
        match route:
            case "":
                return self._overview()
            case "iteration":
                return self._iteration(_number(query, "n"), query)
            case "trajectory":
                return self._trajectory(_number(query, "n"), query)
            case "report":
                if not self._run.report.exists():
                    raise RunError(f"no report yet; write one with: rla report {self._run.path}")
                return self._run.report.read_text(encoding="utf-8")
            case _:
                return None

    def _records(self, iteration: int) -> list[TrajectoryRecord]:
        path = self._run.path / "trajectories" / f"iteration-{iteration:05d}.parquet"
        changed = path.stat().st_mtime_ns if path.exists() else 0
        return self._load(iteration, changed)

    def _overview(self) -> str:
        metrics = {int(row["iteration"]): row for row in self._run.metrics()}
        columns = ("accuracy/train", "judge/balanced_accuracy", "judge/split_rate")
        rows = "".join(
            f'<tr><td class="n"><a href="iteration?n={i}">iteration {i}</a></td>'
            + "".join(f'<td class="n">{_share(metrics.get(i, {}).get(c))}</td>' for c in columns)
            + "</tr>"
            for i in self._run.trajectory_iterations()
        )
        table = (
            "<table><tr><th>Trajectories</th><th>Accuracy</th><th>Judge, balanced</th>"
            f"<th>Split votes</th></tr>{rows}</table>"
            if rows
            else "<p>No trajectories are stored yet.</p>"
        )
        report = '<a href="report">Report</a>' if self._run.report.exists() else ""
        return page(
            self._name,
            f"<h1>{escape(self._name)}</h1><p>{report}</p><div class='card'>{table}</div>",
        )

    def _iteration(self, iteration: int, query: Query) -> str:
        records = self._records(iteration)
        shown = [record for record in records if _matches(record, query)]
        groups = "".join(
            self._group(list(members), query)
            for _, members in groupby(shown, key=lambda record: record.group)
        )
        return page(
            f"{self._name}, iteration {iteration}",
            f'<nav><a href="./">{escape(self._name)}</a> / iteration {iteration}'
            f" &middot; {self._neighbours(iteration)}</nav><h1>Iteration {iteration}</h1>"
            f"{_form(iteration, records, query)}"
            f'<p class="soft">{len(shown)} of {len(records)} trajectories</p>{groups}',
        )

    def _group(self, records: Sequence[TrajectoryRecord], query: Query) -> str:
        head = records[0]
        played = [record.outcome for record in records if record.outcome is not None]
        won = f"{sum(outcome == 1 for outcome in played)} of {len(played)} won"
        facts = badge(won) + (" " + badge("on trial") if head.on_trial else "")
        if head.parent_id:
            facts += " " + badge("rewritten")
        rows = "".join(
            f'<tr><td><a href="{_link(record, query)}">#{record.index}</a></td>'
            f"<td>{badge(OUTCOMES.get(record.outcome or 0, 'masked'), record.outcome)}</td>"
            f'<td class="n">{len(record.steps)} steps</td><td>{escape(record.stop_reason)}</td>'
            f'<td class="n">{_votes(record)}</td></tr>'
            for record in records
        )
        return (
            f"<h2>{escape(head.instruction)}</h2>"
            f'<p class="note"><code>{escape(head.task_id)}</code> {facts}</p>'
            f'<div class="card scroll"><table>{rows}</table></div>'
        )

    def _trajectory(self, iteration: int, query: Query) -> str:
        place = (_number(query, "g"), _number(query, "k"))
        shown = [r for r in self._records(iteration) if _matches(r, query)]
        places = [(record.group, record.index) for record in shown]
        if place not in places:
            raise RunError(
                f"iteration {iteration} has no trajectory {place[1]} in group {place[0]}"
            )
        at = places.index(place)
        record = shown[at]
        back = "iteration?" + urlencode({"n": iteration} | _kept(query))
        links = [
            f'<a href="{_link(shown[to], query)}">{label}</a>'
            for label, to in (("previous", at - 1), ("next", at + 1))
            if 0 <= to < len(shown)
        ]
        return page(
            f"{self._name}, iteration {iteration}, {record.instruction}",
            f'<nav><a href="./">{escape(self._name)}</a> / <a href="{escape(back)}">iteration'
            f" {iteration}</a> / trajectory {at + 1} of {len(shown)}"
            f" &middot; {' &middot; '.join(links)}</nav><h1>{escape(record.instruction)}</h1>"
            f"<p>{summary_line(record, name_task=False)}</p>"
            f'<div class="card">{transcript(record)}</div>',
        )

    def _neighbours(self, iteration: int) -> str:
        stored = self._run.trajectory_iterations()
        before = [i for i in stored if i < iteration][-1:]
        after = [i for i in stored if i > iteration][:1]
        return " &middot; ".join(
            f'<a href="iteration?n={i}">iteration {i}</a>' for i in before + after
        )


def _number(query: Query, name: str) -> int:
    text = query.get(name, "")
    if not text.isdecimal() or len(text) > 9:
        raise RunError(f"the address needs a number {name}, got {text!r}")
    return int(text)


def _matches(record: TrajectoryRecord, query: Query) -> bool:
    outcome = OUTCOMES.get(record.outcome or 0, "masked")
    splits = [split(step) for step in record.steps]
    return (
        query.get("task", "") in ("", record.task_id)
        and query.get("outcome", "") in ("", outcome)
        and {"split": any(splits), "unanimous": not any(splits), "wrong": _misjudged(record)}.get(
            query.get("votes", ""), True
        )
    )


def _misjudged(record: TrajectoryRecord) -> bool:
    return any(
        step.oracle is not None and vote.label == -step.oracle
        for step in record.steps
        for vote in step.step.votes
    )


def _kept(query: Query) -> dict[str, str]:
    return {name: query[name] for name in FILTERS if query.get(name)}


def _link(record: TrajectoryRecord, query: Query) -> str:
    place = {"n": record.iteration, "g": record.group, "k": record.index}
    return escape("trajectory?" + urlencode(place | _kept(query)))


def _form(iteration: int, records: Sequence[TrajectoryRecord], query: Query) -> str:
    tasks = sorted({record.task_id for record in records})
    choices = {
        "task": ("Task", [(task, task) for task in tasks]),
        "outcome": ("Outcome", [(name, name) for name in ("won", "lost", "masked")]),
        "votes": (
            "Votes",
            [
                ("split", "some step split"),
                ("unanimous", "no step split"),
                ("wrong", "against the oracle"),
            ],
        ),
    }
    fields = "".join(
        f'<label>{label}<select name="{name}"><option value="">all</option>'
        + "".join(
            f'<option value="{escape(value)}"{" selected" if query.get(name) == value else ""}>'
            f"{escape(text)}</option>"
            for value, text in options
        )
        + "</select></label>"
        for name, (label, options) in choices.items()
    )
    return (
        '<form class="filters" action="iteration">'
        f'<input type="hidden" name="n" value="{iteration}">'
        f"{fields}<button>Filter</button></form>"
    )


def _votes(record: TrajectoryRecord) -> str:
    votes = all_votes(record)
    if not votes:
        return "no votes"
    plus, minus = (sum(vote.label == sign for vote in votes) for sign in (1, -1))
    splits = sum(map(split, record.steps))
    return f"+{plus} &minus;{minus}" + (f", split on {splits}" if splits else "")


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}&nbsp;%"
