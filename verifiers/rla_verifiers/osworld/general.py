"""Metrics on strings, lists, JSON and CSV."""

from __future__ import annotations

import ast
import csv
import io
import json
import operator
import re
import sqlite3
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, cast

from rla_verifiers.osworld.guest import GuestFile
from rla_verifiers.osworld.matching import common_length, matches, similarity


def exact_match(result: Any, rules: Mapping[str, Any]) -> float:
    """Return 1 iff result equals rules["expected"]."""
    return float(result == rules["expected"])


def match_in_list(result: Any, rules: Mapping[str, Any]) -> float:
    """Return 1 iff result is one of rules["expected"]."""
    return float(result in rules["expected"])


def is_in_list(result: Iterable[Any] | None, rules: Mapping[str, Any]) -> float:
    """Return 1 iff rules["expected"] is one of the results."""
    return float(result is not None and rules["expected"] in result)


def fuzzy_match(result: str | None, rules: Mapping[str, Any]) -> float:
    """Return the similarity of result and rules["expected"], in [0, 1]."""
    return 0.0 if result is None else similarity(result, rules["expected"])


def literal_match(result: Any, expected: Any, **options: Any) -> float:
    """Return 1 iff both read the same as text, or as lists of text (type="list").

    Args:
        result: What was found.
        expected: What should be.
        **options: type ("str" or "list"), ignore_case.
    """
    fold = str.lower if options.get("ignore_case", False) else str
    if options.get("type", "str") == "str":
        return float(fold(str(result)) == fold(str(expected)))
    if not isinstance(result, (list, tuple)) or not isinstance(expected, (list, tuple)):
        return 0.0
    found, wanted = cast(list[Any], result), cast(list[Any], expected)
    return float([fold(str(item)) for item in found] == [fold(str(item)) for item in wanted])


def check_include_exclude(result: str | None, rules: Mapping[str, Sequence[str]]) -> float:
    """Return 1 iff result contains every text of "include" and none of "exclude"."""
    if result is None:
        return 0.0
    return float(
        all(text in result for text in rules.get("include", ()))
        and not any(text in result for text in rules.get("exclude", ()))
    )


def check_list(result: GuestFile | None, rules: Mapping[str, Sequence[str]]) -> float:
    """Return 1 iff each pattern of "expect" is found on some line, and none of "unexpect" is."""
    if result is None:
        return 0.0
    lines = result.text.splitlines()

    def seen(pattern: str) -> bool:
        return any(re.search(pattern, line) for line in lines)

    return float(
        all(map(seen, rules.get("expect", ()))) and not any(map(seen, rules.get("unexpect", ())))
    )


def compare_text_file(result: GuestFile | None, expected: GuestFile, **options: Any) -> float:
    """Return 1 iff both files hold the same text.

    Args:
        result: The agent's file.
        expected: The reference.
        **options: ignore_blanks (runs of blanks count as one, outer ones as none), ignore_case.
    """
    if result is None:
        return 0.0
    one, other = result.text, expected.text
    if options.get("ignore_blanks", False):
        one, other = " ".join(one.split()), " ".join(other.split())
    if options.get("ignore_case", False):
        one, other = one.lower(), other.lower()
    return float(one == other)


def diff_text_file(result: GuestFile | None, expected: GuestFile) -> float:
    """Return the share of common lines: 2 * common / (lines + lines), in [0, 1]."""
    if result is None:
        return 0.0
    one, other = result.text.splitlines(), expected.text.splitlines()
    total = len(one) + len(other)
    return 1.0 if total == 0 else 2 * common_length(one, other) / total


def compare_config(result: GuestFile | None, rules: Mapping[str, Any]) -> float:
    """Return 1 iff the file's text is rules["expected"]."""
    return float(result is not None and result.text == rules["expected"])


def file_contains(result: GuestFile | None, rules: Mapping[str, Sequence[str]]) -> float:
    """Return 1 iff every text of rules["expected"] is in the file."""
    return float(result is not None and all(text in result.text for text in rules["expected"]))


def check_line_number(result: GuestFile | None, rules: Mapping[str, Any]) -> float:
    """Return 1 iff as many lines contain a time HH:MM:SS as rules["expected"] says."""
    if result is None:
        return 0.0
    lines = result.text.splitlines()
    timed = sum(re.search(r"\d{2}:\d{2}:\d{2}", line) is not None for line in lines)
    return float(timed == int(rules["expected"]))


def check_lines(result: GuestFile | None, rules: Mapping[str, Sequence[str]]) -> float:
    """Return 1 iff the file's lines are rules["expected"], empty ones at the end aside."""
    if result is None:
        return 0.0
    lines = result.text.splitlines()
    while lines and not lines[-1].strip():
        lines.pop()
    return float(lines == list(rules["expected"]))


def check_json(result: GuestFile | None, rules: Mapping[str, Any]) -> float:
    """Return 1 iff the values at "expect"'s keys match their rules and those of "unexpect" do not.

    A key is a path: a list of object keys and list indices. A file that is no JSON scores 0.
    """
    if result is None:
        return 0.0
    try:
        data = json.loads(result.text)
    except ValueError:
        return 0.0
    for rule in rules.get("expect", ()):
        found, value = _at(data, rule["key"])
        if not found or not matches(value, rule):
            return 0.0
    return float(
        not any(matches(_at(data, rule["key"])[1], rule) for rule in rules.get("unexpect", ()))
    )


def check_json_settings(result: GuestFile | None, rules: Mapping[str, Any]) -> float:
    """Return 1 iff the JSON object has every key of rules["expected"] with that value."""
    if result is None:
        return 0.0
    try:
        data = json.loads(result.text)
    except ValueError:
        return 0.0
    return float(
        isinstance(data, dict)
        and all(_at(data, [key]) == (True, value) for key, value in rules["expected"].items())
    )


def check_direct_json_object(result: Any, rules: Mapping[str, Any]) -> float:
    """Return 1 iff the result object has the values of rules["expected"].

    Text is read as JSON, or as a Python literal when it is quoted that way. Rules may say
    "expect_in_result" (the wanted value, or one of a list, is contained in the found list) and
    "ignore_list_order".
    """
    parsed = _object(result)
    if not isinstance(parsed, dict):
        return 0.0
    found = cast(dict[str, Any], parsed)
    wanted: Mapping[str, Any] = rules["expected"]
    for key, value in wanted.items():
        actual: Any = found.get(key)
        if rules.get("expect_in_result", False):
            options = cast(list[Any], value) if isinstance(value, list) else [value]
            if actual is None or not any(option in actual for option in options):
                return 0.0
        elif rules.get("ignore_list_order", False):
            if sorted(value) != sorted(actual or ()):
                return 0.0
        elif actual != value:
            return 0.0
    return 1.0


def check_csv(result: GuestFile | None, rules: Mapping[str, Any]) -> float:
    """Return 1 iff each record of "expect" occurs and none of "unexpect" does.

    A record names some columns and their text; other columns do not matter.
    """
    if result is None:
        return 0.0
    rows = list(csv.DictReader(io.StringIO(result.text)))

    def seen(record: Mapping[str, str]) -> bool:
        return any(all(row.get(key) == value for key, value in record.items()) for row in rows)

    return float(
        all(map(seen, rules.get("expect", ()))) and not any(map(seen, rules.get("unexpect", ())))
    )


def compare_csv(
    result: GuestFile | None, expected: GuestFile | Sequence[GuestFile], **options: Any
) -> float:
    """Return 1 iff the lines equal those of the reference, or of one of several.

    Args:
        result: The agent's file.
        expected: One reference or several.
        **options: strict (default True; otherwise blanks around a line do not count), ignore_case.
    """
    if result is None:
        return 0.0

    def lines(file: GuestFile) -> list[str]:
        found = file.text.splitlines()
        if not options.get("strict", True):
            found = [line.strip() for line in found]
        return [line.lower() for line in found] if options.get("ignore_case", False) else found

    references = [expected] if isinstance(expected, GuestFile) else expected
    return float(any(lines(result) == lines(reference) for reference in references))


def run_sqlite3(result: GuestFile | None, rules: Mapping[str, Any]) -> float:
    """Return the first value that the query rules["sql"] gives on the database file, 0 for none."""
    if result is None:
        return 0.0
    with tempfile.NamedTemporaryFile(suffix=".sqlite") as copy:
        copy.write(result.data)
        copy.flush()
        with closing(sqlite3.connect(f"file:{copy.name}?mode=ro", uri=True)) as database:
            row = database.execute(rules["sql"]).fetchone()
    return float((row[0] if row else 0) or 0)


def check_number(value: Any, relation: str, reference: float) -> float:
    """Return 1 iff ``value relation reference``, with relation a name such as "eq" or "ge"."""
    return float(getattr(operator, relation)(value, reference))


def _at(data: Any, path: Sequence[Any]) -> tuple[bool, Any]:
    for key in path:
        try:
            data = data[key]
        except (KeyError, IndexError, TypeError):
            return False, None
    return True, data


def _object(result: Any) -> Any:
    if not isinstance(result, str):
        return result
    try:
        return json.loads(result)
    except ValueError:
        pass
    try:
        return ast.literal_eval(result.strip())
    except (ValueError, SyntaxError):
        return None
