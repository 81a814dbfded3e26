"""Metrics on spreadsheets, read with openpyxl: what is stored, and what was last computed."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from typing import Any

from rla_verifiers.osworld.guest import GuestFile, library
from rla_verifiers.osworld.matching import matches, similarity

Cell = str | float | bool | None


class Book:
    """One workbook, with formulas (``stored``) and with the values they had (``computed``).

    Raises:
        ValueError: the bytes are no workbook.
    """

    def __init__(self, file: GuestFile) -> None:
        openpyxl = library("openpyxl")
        self.file = file
        try:
            self.stored: Any = openpyxl.load_workbook(io.BytesIO(file.data))
            self.computed: Any = openpyxl.load_workbook(io.BytesIO(file.data), data_only=True)
        except Exception as error:
            raise ValueError(f"{file.name} is no workbook: {error}") from error
        self.names: list[str] = list(self.stored.sheetnames)


def cell_values(sheet: Any, precision: int = 4) -> list[list[Cell]]:
    """Return a sheet's computed values, row by row, without empty rows and columns at the end.

    Numbers are rounded; 3 and 3.0 are equal, dates and times are ISO text.
    """
    rows = [
        [_plain(value, precision) for value in row] for row in sheet.iter_rows(values_only=True)
    ]
    while rows and all(value is None for value in rows[-1]):
        rows.pop()
    width = max(
        (i + 1 for row in rows for i, value in enumerate(row) if value is not None), default=0
    )
    return [[*row[:width], *[None] * (width - len(row))] for row in rows]


def cell_value(book: Book, sheet: str, coordinate: str) -> Cell:
    """Return one computed value, unrounded, e.g. of "C2"."""
    return _plain(book.computed[sheet][coordinate].value, 12)


def compare_table(
    result: GuestFile | None, expected: GuestFile | None = None, **options: Any
) -> float:
    """Return 1 iff every rule of options["rules"] holds.

    Rules, by "type": sheet_name, sheet_data (computed values), sheet_print (the CSV export),
    sheet_fuzzy (cells of ranges), style (number formats, fonts and fills), freeze, zoom, filter,
    chart, row_props, col_props, data_validation, check_cell. A sheet is 0, "RI0" or "RNSheet1"
    of the result, "EI0" or "ENSheet1" of the reference.

    Raises:
        ValueError: a rule of another type, or a reference that is no workbook.
    """
    if result is None:
        return 0.0
    try:
        found = Book(result)
    except ValueError:
        return 0.0
    wanted = None if expected is None else Book(expected)
    return float(all(_holds(rule, found, wanted) for rule in options["rules"]))


def _holds(rule: Mapping[str, Any], found: Book, wanted: Book | None) -> bool:
    kind = rule["type"]
    if kind == "sheet_name":
        return wanted is not None and found.names == wanted.names
    if kind in _ONE_SHEET:
        book, name = _sheet(rule["sheet_idx"], found, wanted)
        return name in book.names and _ONE_SHEET[kind](rule, book, name)
    if kind in _TWO_SHEETS:
        one, first = _sheet(rule["sheet_idx0"], found, wanted)
        other, second = _sheet(rule["sheet_idx1"], found, wanted)
        if first not in one.names or second not in other.names:
            return False
        return _TWO_SHEETS[kind](rule, (one, first), (other, second))
    raise ValueError(f"compare_table has no rule of type {kind!r}")


def _sheet(index: int | str, found: Book, wanted: Book | None) -> tuple[Book, str]:
    text = f"RI{index}" if isinstance(index, int) else index
    book = found if text[0] == "R" else wanted
    if book is None or text[:2] not in ("RI", "RN", "EI", "EN"):
        raise ValueError(f"sheet {index!r} cannot be looked up; use RI0, RNName, EI0 or ENName")
    if text[1] == "N":
        return book, text[2:]
    place = int(text[2:])
    return book, book.names[place] if place < len(book.names) else ""


_Side = tuple[Book, str]


def _same_data(rule: Mapping[str, Any], one: _Side, other: _Side) -> bool:
    precision = int(rule.get("precision", 4))
    return cell_values(one[0].computed[one[1]], precision) == cell_values(
        other[0].computed[other[1]], precision
    )


def _same_print(rule: Mapping[str, Any], one: _Side, other: _Side) -> bool:
    def lines(side: _Side) -> list[str] | None:
        book, name = side
        stem = book.file.name.rpartition(".")[0]
        data = book.file.siblings.get(f"{stem}-{name}.csv")
        if data is None:
            return None
        text = GuestFile(name=name, data=data).text
        found = [line.strip() for line in text.rstrip().splitlines()]
        return [line.lower() for line in found] if rule.get("ignore_case", False) else found

    printed = lines(one)
    return printed is not None and printed == lines(other)


def _same_fuzzy(rule: Mapping[str, Any], one: _Side, other: _Side) -> bool:
    return all(
        _alike(part, _text(cell_value(*one, place)), _text(cell_value(*other, place)))
        for part in rule["rules"]
        for area in part["range"]
        for place in _places(area)
    )


def _alike(rule: Mapping[str, Any], one: str, other: str) -> bool:
    def tidy(text: str) -> str:
        for old, new in rule.get("normalization", ()):
            text = text.replace(old, new)
        text = text.lstrip(rule.get("trim_leadings") or None) if "trim_leadings" in rule else text
        text = text.rstrip(rule.get("trim_trailings") or None) if "trim_trailings" in rule else text
        text = "".join(c for c in text if c not in rule.get("ignore_chars", ""))
        return text.lower() if rule.get("ignore_case", False) else text

    one, other = tidy(one), tidy(other)
    kind = rule["type"]
    if kind == "includes":
        return other in one
    if kind == "included_by":
        return one in other
    if kind == "fuzzy_match":
        return 100 * similarity(one, other) >= rule.get("threshold", 85.0)
    return one == other


def _same_style(rule: Mapping[str, Any], one: _Side, other: _Side) -> bool:
    def styles(side: _Side) -> dict[str, list[Any]]:
        return {
            cell.coordinate: [cell_style(prop, cell) for prop in rule["props"]]
            for row in side[0].stored[side[1]].iter_rows()
            for cell in row
            if cell.value is not None or cell.has_style
        }

    return styles(one) == styles(other)


def cell_style(prop: str, cell: Any) -> Any:
    """Return a named style of an openpyxl cell.

    Known: number_format, font_name, font_family, font_color, font_bold, font_italic,
    font_underline, font_size, fill_type, fgcolor, bgcolor, horizontal, vertical, hyperlink, merge.

    Raises:
        ValueError: another name.
    """
    font, fill = cell.font, cell.fill
    if prop == "number_format":
        return None if cell.value is None or cell.data_type != "n" else cell.number_format.lower()
    if prop == "hyperlink":
        return cell.hyperlink.target if cell.hyperlink else None
    if prop == "merge":
        return type(cell).__name__ == "MergedCell"
    styles: dict[str, Any] = {
        "font_name": font.name,
        "font_family": font.family,
        "font_color": font.color.rgb if font.color else None,
        "font_bold": bool(font.bold),
        "font_italic": bool(font.italic),
        "font_underline": font.underline,
        "font_size": font.size,
        "fill_type": fill.fill_type,
        "fgcolor": fill.fgColor.rgb if fill.fgColor else None,
        "bgcolor": fill.bgColor.rgb if fill.bgColor else None,
        "horizontal": cell.alignment.horizontal,
        "vertical": cell.alignment.vertical,
    }
    if prop not in styles:
        raise ValueError(f"no cell style is called {prop!r}; known are {sorted(styles)}")
    return styles[prop]


def _same_freeze(rule: Mapping[str, Any], one: _Side, other: _Side) -> bool:
    del rule
    return one[0].stored[one[1]].freeze_panes == other[0].stored[other[1]].freeze_panes


def _same_filter(rule: Mapping[str, Any], one: _Side, other: _Side) -> bool:
    del rule

    def filters(side: _Side) -> tuple[Any, list[Any]]:
        auto = side[0].stored[side[1]].auto_filter
        return auto.ref, [
            (c.colId, sorted(c.filters.filter) if c.filters else []) for c in auto.filterColumn
        ]

    return filters(one) == filters(other)


def _same_charts(rule: Mapping[str, Any], one: _Side, other: _Side) -> bool:
    props = set(rule.get("chart_props", ()))
    return _charts(one, props) == _charts(other, props)


def _charts(side: _Side, props: set[str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for chart in side[0].stored[side[1]]._charts:
        series = ";".join(f"{_source(s.val)},{_source(s.cat)}" for s in chart.series)
        known = {
            "title": _title(chart),
            "type": chart.tagname,
            "legend": chart.legend.position if chart.legend else None,
            "direction": getattr(chart, "barDir", None),
            "xtitle": _title(getattr(chart, "x_axis", None)),
            "ytitle": _title(getattr(chart, "y_axis", None)),
            "width": chart.width,
            "height": chart.height,
        }
        found[series] = {prop: known[prop] for prop in sorted(props) if prop in known}
    return found


def _source(data: Any) -> str:
    for kind in ("numRef", "strRef"):
        reference = getattr(data, kind, None)
        if reference is not None:
            return str(reference.f)
    return ""


def _title(titled: Any) -> str | None:
    try:
        return "".join(run.t for run in titled.title.tx.rich.p[0].r)
    except (AttributeError, IndexError, TypeError):
        return None


def _same_rows(rule: Mapping[str, Any], one: _Side, other: _Side) -> bool:
    return _lines(rule, one, "row_dimensions") == _lines(rule, other, "row_dimensions")


def _same_columns(rule: Mapping[str, Any], one: _Side, other: _Side) -> bool:
    return _lines(rule, one, "column_dimensions") == _lines(rule, other, "column_dimensions")


def _lines(rule: Mapping[str, Any], side: _Side, kind: str) -> dict[Any, list[Any]]:
    dimensions = getattr(side[0].stored[side[1]], kind)
    return {
        key: [getattr(line, prop, None) for prop in rule["props"]]
        for key, line in dimensions.items()
    }


def _zoomed(rule: Mapping[str, Any], book: Book, name: str) -> bool:
    return matches(book.stored[name].sheet_view.zoomScale or 100.0, rule)


def _validated(rule: Mapping[str, Any], book: Book, name: str) -> bool:
    present: Sequence[Any] = book.stored[name].data_validations.dataValidation
    return len(present) >= len(rule["dv_props"]) and all(
        any(
            all(matches(getattr(one, prop), wanted) for prop, wanted in props.items())
            for props in rule["dv_props"]
        )
        for one in present
    )


def _cell_holds(rule: Mapping[str, Any], book: Book, name: str) -> bool:
    cell = book.stored[name][rule["coordinate"]]
    return all(
        matches(
            cell_value(book, name, rule["coordinate"])
            if prop == "value"
            else cell.value
            if prop == "formula"
            else cell_style(prop, cell),
            wanted,
        )
        for prop, wanted in rule["props"].items()
    )


_TWO_SHEETS = {
    "sheet_data": _same_data,
    "sheet_print": _same_print,
    "sheet_fuzzy": _same_fuzzy,
    "style": _same_style,
    "freeze": _same_freeze,
    "filter": _same_filter,
    "chart": _same_charts,
    "row_props": _same_rows,
    "col_props": _same_columns,
}
_ONE_SHEET = {"zoom": _zoomed, "data_validation": _validated, "check_cell": _cell_holds}


def _places(area: str) -> list[str]:
    utils = library("openpyxl.utils")
    left, top, right, bottom = utils.range_boundaries(area)
    return [
        f"{utils.get_column_letter(column)}{row}"
        for row in range(top, bottom + 1)
        for column in range(left, right + 1)
    ]


def _plain(value: Any, precision: int) -> Cell:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, (int, float)):
        return round(float(value), precision)
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    return str(value)


def _text(value: Cell) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
