"""Charts as inline SVG whose colours are CSS variables: one drawing for light and dark pages."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rla_envs.errors import MissingExtra

Points = list[tuple[float, float]]
"""(iteration, value), ascending."""

INK, FAINT = "#010203", "#010204"
COLOURS = tuple(f"#01030{index}" for index in range(8))
"""Stand-ins that become var(--ink), var(--faint) and var(--c0).. in the SVG text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """What to draw.

    Attributes:
        title: Heading of the chart.
        note: One sentence under the heading: how to read it.
        series: Label -> points. Empty ones are left out.
        unit: "share" fixes the axis to 0..100 %, "rate" is a percentage with a free axis.
        kind: "line", "stack" (filled, values add up) or "bars" (stacked bars, one an iteration).
        marks: Label -> height of a dashed horizontal line to compare with.
    """

    title: str
    note: str
    series: Mapping[str, Points]
    unit: Literal["share", "rate", "count", "s", "nats", "steps", ""] = ""
    kind: Literal["line", "bars"] = "line"
    marks: Mapping[str, float] | None = None


def has_data(chart: Chart) -> bool:
    """Return whether there is anything to draw."""
    return any(chart.series.values())


def svg(chart: Chart) -> str:
    """Return the chart as an <svg> element without title.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    figure_class, style = _matplotlib()
    with style(_RC | {"svg.hashsalt": chart.title}):
        figure: Any = figure_class(figsize=(5.6, 2.9), layout="constrained")
        axes: Any = figure.add_subplot()
        (_bars if chart.kind == "bars" else _lines)(axes, chart)
        _dress(axes, chart)
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    return _themed(out.getvalue(), chart.title)


def _lines(axes: Any, chart: Chart) -> None:
    for colour, (label, points) in _drawn(chart):
        sparse = len(points) <= 40
        axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            color=colour,
            label=label,
            linewidth=1.8,
            marker="o" if sparse else None,
            markersize=3.2,
        )


def _bars(axes: Any, chart: Chart) -> None:
    floor: dict[float, float] = {}
    for colour, (label, points) in _drawn(chart):
        at = [x for x, _ in points]
        axes.bar(
            at,
            [y for _, y in points],
            bottom=[floor.get(x, 0.0) for x in at],
            width=0.86,
            color=colour,
            label=label,
            linewidth=0,
        )
        for x, y in points:
            floor[x] = floor.get(x, 0.0) + y


def _drawn(chart: Chart) -> list[tuple[str, tuple[str, Points]]]:
    shown = [(label, points) for label, points in chart.series.items() if points]
    return [(COLOURS[i % len(COLOURS)], item) for i, item in enumerate(shown)]


def _dress(axes: Any, chart: Chart) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    for label, height in (chart.marks or {}).items():
        axes.axhline(height, color=FAINT, linewidth=1.2, linestyle=(0, (4, 3)), label=label)
    if chart.unit == "share":
        axes.set_ylim(-0.02, 1.02)
    elif chart.unit in ("count", "s", "steps", "rate"):
        top = axes.get_ylim()[1]
        axes.set_ylim(0, max(top, 1e-9) if chart.unit != "count" else max(top, 1.05))
    if chart.unit in ("share", "rate"):
        axes.yaxis.set_major_formatter(FuncFormatter(_percent))
    if chart.unit == "count":
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    else:
        axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_locator(MaxNLocator(7, integer=True))
    low, high = axes.get_xlim()
    if high - low < 1:
        axes.set_xlim((low + high) / 2 - 1, (low + high) / 2 + 1)
    axes.set_xlabel("iteration", color=FAINT)
    if chart.unit in ("s", "nats", "steps"):
        axes.set_ylabel({"s": "seconds"}.get(chart.unit, chart.unit), color=FAINT)
    axes.grid(axis="y", color=FAINT, linewidth=0.5, alpha=0.35)
    axes.set_axisbelow(True)
    labels: list[str] = axes.get_legend_handles_labels()[1]
    # A lone curve out of several possible ones needs its name.
    if labels and len(chart.series) + len(chart.marks or {}) > 1:
        axes.legend(
            loc="lower left",
            bbox_to_anchor=(-0.02, 1.0),
            ncols=next(n for n in (5, 4, 3, 2, 1) if n * (max(map(len, labels)) + 5) <= 72),
            frameon=False,
            handlelength=1.3,
            columnspacing=1.2,
            borderaxespad=0.2,
        )


def _percent(value: float, _position: int) -> str:
    percent = 100 * value
    return f"{percent:.0f} %" if abs(percent - round(percent)) < 1e-6 else f"{percent:.1f} %"


_RC: dict[str, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    "text.color": INK,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "ytick.major.size": 0,
    "xtick.major.size": 3,
}

_VARIABLES = {INK: "var(--ink)", FAINT: "var(--faint)"} | {
    colour: f"var(--c{index})" for index, colour in enumerate(COLOURS)
}


def _themed(text: str, title: str) -> str:
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, variable)
    text = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font: \1px var(--sans)", text)
    # A CSS class rule instead of fixed points lets the page decide how wide a chart is.
    text = re.sub(r'width="[\d.]+pt" height="[\d.]+pt"', 'class="chart" role="img"', text, count=1)
    # Inlined drawings share one name space for ids.
    prefix = re.sub(r"\W+", "-", title.lower())
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r'(xlink:href="|url\()#', rf"\1#{prefix}-", text)
    return text


def _matplotlib() -> tuple[Any, Any]:
    try:
        from matplotlib import rc_context  # pyright: ignore[reportUnknownVariableType]
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra(
            "reports are drawn with matplotlib: pip install 'rla-envs[train]'"
        ) from error
    return Figure, rc_context  # pyright: ignore[reportUnknownVariableType]


def points(metrics: Sequence[Mapping[str, float]], name: str) -> Points:
    """Return one metric over the iterations in which it was measured."""
    return [(m["iteration"], m[name]) for m in metrics if name in m]
