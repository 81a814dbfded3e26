"""How a run shows that it is alive: a protocol the loop calls, and what draws it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, TextIO

from rla_envs.errors import MissingExtra

HEADLINE = {
    "accuracy/in_domain": "in-domain",
    "accuracy/out_of_domain": "out-of-domain",
    "accuracy/train": "train",
    "judge/balanced_accuracy": "judge",
    "tasks/total/accepted": "tasks accepted",
}
"""What a line about an iteration says, in this order, when the metric is there."""


class Progress(Protocol):
    """What the loop tells while it runs. Keep it cheap: phases report every episode."""

    def begin(self, total_iterations: int, done: int = 0) -> None:
        """The run starts, or goes on after ``done`` iterations."""
        ...

    def phase(self, name: str, done: int, total: int) -> None:
        """``done`` of ``total`` units of a phase ("collect", "judge", ...) are finished."""
        ...

    def iteration(self, metrics: Mapping[str, float]) -> None:
        """An iteration is finished; metrics as in metrics.jsonl."""
        ...

    def end(self, report_path: Path | None) -> None:
        """The run is finished, or has failed (None). A second call says nothing more."""
        ...


class NoProgress:
    """Says nothing."""

    def begin(self, total_iterations: int, done: int = 0) -> None:
        """Say nothing."""

    def phase(self, name: str, done: int, total: int) -> None:
        """Say nothing."""

    def iteration(self, metrics: Mapping[str, float]) -> None:
        """Say nothing."""

    def end(self, report_path: Path | None) -> None:
        """Say nothing."""


class LineProgress:
    """One line an iteration: for logs and pipes."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._total = 0

    def begin(self, total_iterations: int, done: int = 0) -> None:
        """Remember how many iterations there will be."""
        self._total = total_iterations

    def phase(self, name: str, done: int, total: int) -> None:
        """Write a line a pass of the warm start; within iterations say nothing."""
        if name.startswith("warm start"):
            print(f"{name} {done}/{total}", file=self._stream, flush=True)

    def iteration(self, metrics: Mapping[str, float]) -> None:
        """Write the line."""
        print(_line(metrics, self._total), file=self._stream, flush=True)

    def end(self, report_path: Path | None) -> None:
        """Write where the report is."""
        if report_path is not None:
            print(f"report: {report_path}", file=self._stream, flush=True)


class RichProgress:
    """Two bars at the bottom (iterations, current phase) and one line an iteration above them.

    Raises:
        MissingExtra: rich is not installed.
    """

    def __init__(self) -> None:
        try:
            from rich import progress
            from rich.console import Console
        except ImportError as error:
            raise MissingExtra(
                "progress bars are drawn with rich: pip install 'rla-envs[train]'"
            ) from error
        self._console: Any = Console()
        self._bars: Any = progress.Progress(
            progress.TextColumn("{task.description:<12}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            progress.TimeRemainingColumn(),
            console=self._console,
        )
        self._total = 0
        self._phase_name = ""
        self._iterations = self._bars.add_task("iterations", total=None)
        self._phase = self._bars.add_task("", total=None)

    def begin(self, total_iterations: int, done: int = 0) -> None:
        """Draw the bars."""
        self._total = total_iterations
        self._bars.start()
        self._bars.update(self._iterations, total=total_iterations, completed=done)

    def phase(self, name: str, done: int, total: int) -> None:
        """Move the lower bar."""
        if name != self._phase_name:
            self._bars.reset(self._phase, description=name, total=total, completed=done)
            self._phase_name = name
        else:
            self._bars.update(self._phase, total=total, completed=done)

    def iteration(self, metrics: Mapping[str, float]) -> None:
        """Move the upper bar and print the line."""
        self._bars.advance(self._iterations)
        self._console.print(_line(metrics, self._total), highlight=False, markup=False)

    def end(self, report_path: Path | None) -> None:
        """Take the bars away and say where the report is."""
        self._bars.update(self._phase, visible=False)
        self._bars.stop()
        if report_path is not None:
            self._console.print(f"report: {report_path}", markup=False, soft_wrap=True)


def make_progress(stream: TextIO | None = None) -> Progress:
    """Return bars on a terminal and lines anywhere else."""
    out = stream or sys.stdout
    return RichProgress() if out.isatty() else LineProgress(out)


def _line(metrics: Mapping[str, float], total: int) -> str:
    parts = [f"iteration {metrics['iteration']:>3.0f}/{total}"]
    for name, label in HEADLINE.items():
        value: float | None = metrics.get(name)
        if value is not None:
            parts.append(f"{label} {value:.0f}" if "tasks/" in name else f"{label} {value:6.1%}")
    if "seconds/total" in metrics:
        parts.append(f"{metrics['seconds/total']:.0f} s")
    return "  ".join(parts)
