"""Programming contests: CodeContests, LiveCodeBench, LiveBench and APPS, from a local path."""

from __future__ import annotations

import base64
import binascii
import io
import json
import pickle
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from rla_envs.coding.problem import Case, Problem
from rla_envs.errors import TaskError
from rla_envs.types import Task

from .records import Record, Root, data_files, decoded, field, first_places, read_records, task_from

LARGEST_TESTS = 256 << 20
"""Bytes that packed private tests may unpack to."""


def load_codecontests(*, root: Root = None, split: str | None = None) -> list[Task]:
    """Return CodeContests: programs that read standard input, judged by words.

    Takes the published fields (public_tests, private_tests, generated_tests with input and output
    lists, solutions, incorrect_solutions, time_limit) and SandboxFusion's (content, test). The
    first right Python 3 solution becomes the reference, wrong ones the mutants.

    Args:
        root: A file, or a folder with one file a split.
        split: What the file's name begins with; all files when None.

    Raises:
        TaskUnavailable: no such file.
        TaskError: a record is malformed.
    """
    records = read_records(root, name="coding/codecontests", split=split)
    return [_codecontest(number, record) for number, record in enumerate(records)]


def load_livecodebench(*, root: Root = None, split: str | None = None) -> list[Task]:
    """Return LiveCodeBench's code generation problems, private tests included.

    Args:
        root: A file, or a folder with one file a split.
        split: What the file's name begins with; all files when None.

    Raises:
        TaskUnavailable: no such file.
        TaskError: a record is malformed.
    """
    records = read_records(root, name="coding/livecodebench", split=split)
    return [_live(record, "livecodebench") for record in records]


def load_livebench(*, root: Root = None, split: str | None = None) -> list[Task]:
    """Return LiveBench's coding problems: tests as LiveCodeBench's, statement in ``turns``.

    A completion problem ("coding_completion") keeps what is given as the starter; a submission is
    the whole program all the same.

    Args:
        root: A file, or a folder with one file a split.
        split: What the file's name begins with; all files when None.

    Raises:
        TaskUnavailable: no such file.
        TaskError: a record is malformed.
    """
    tasks: list[Task] = []
    for record in read_records(root, name="coding/livebench", split=split):
        original = decoded(record.get("original_json") or {}, "original_json")
        turns: Any = record.get("turns")
        merged = {**original, **{k: v for k, v in record.items() if v not in (None, "")}}
        if turns:
            merged["question_content"] = turns[0]
        if record.get("partial_solution"):
            merged["starter_code"] = record["partial_solution"]
        tasks.append(_live(merged, "livebench"))
    return tasks


def load_apps(*, root: Root = None, split: str | None = None) -> list[Task]:
    """Return APPS: the published folders (question.txt, input_output.json, ...) or JSON lines.

    Args:
        root: A file, a folder with one file a split, or one with a folder a split.
        split: "train" or "test"; whatever root holds when None.

    Raises:
        TaskUnavailable: nothing there.
        TaskError: a record is malformed.
    """
    folder = None if root is None else Path(root).expanduser()
    if folder is not None and folder.is_dir():
        base = folder / split if split and (folder / split).is_dir() else folder
        questions = sorted(base.glob("*/question.txt"))
        if questions:
            return [
                task
                for question in questions
                if (task := _apps(_apps_folder(question.parent), question.parent.name)) is not None
            ]
    data_files(root, name="coding/apps", split=split)
    records = read_records(root, name="coding/apps", split=split)
    found = (_apps(record, str(record.get("problem_id", n))) for n, record in enumerate(records))
    return [task for task in found if task is not None]


def _codecontest(number: int, record: Record) -> Task:
    if "test" in record and "public_tests" not in record:
        return _fusion_contest(number, record)
    where = str(record.get("name", number))
    public = _pairs(record.get("public_tests"), where)
    hidden = _pairs(record.get("private_tests"), where)
    hidden += _pairs(record.get("generated_tests"), where)
    limit: Any = record.get("time_limit") or {}
    seconds = float(limit.get("seconds") or 0) + float(limit.get("nanos") or 0) / 1e9
    right = _python_solutions(record.get("solutions"))
    problem = Problem(
        kind="stdio",
        tests=tuple(public + hidden),
        public=tuple(range(len(public))),
        checker={"name": "tokens"},
        reference=right[0] if right else None,
        mutants=tuple(_python_solutions(record.get("incorrect_solutions"))[:4]),
        # Published limits are for C++.
        cpu_seconds=max(2.0, 5 * seconds),
    )
    said = str(field(record, "description", where))
    return task_from(problem, task_id=f"codecontests/{where}", instruction=_reading(said))


def _fusion_contest(number: int, record: Record) -> Task:
    where = str(record.get("id", number))
    cases = decoded(record["test"], where)
    tests = [
        {"stdin": str(case["input"]["stdin"]), "stdout": str(case["output"]["stdout"])}
        for case in cases
    ]
    problem = Problem(
        kind="stdio",
        tests=tuple(tests),
        public=first_places(len(tests), 1),
        checker={"name": "tokens"},
        cpu_seconds=10.0,
    )
    said = str(field(record, "content", where))
    return task_from(problem, task_id=f"codecontests/{where}", instruction=_reading(said))


def _pairs(tests: Any, where: str) -> list[Case]:
    tests = decoded(tests or {}, where)
    inputs, outputs = tests.get("input", []), tests.get("output", [])
    if len(inputs) != len(outputs):
        raise TaskError(f"{where} has {len(inputs)} inputs but {len(outputs)} outputs")
    return [
        {"stdin": str(given), "stdout": str(wanted)}
        for given, wanted in zip(inputs, outputs, strict=True)
    ]


PYTHON3 = 3
"""CodeContests' number of the language."""


def _python_solutions(solutions: Any) -> list[str]:
    solutions = solutions or {}
    pairs = zip(solutions.get("language", []), solutions.get("solution", []), strict=False)
    return [str(text) for language, text in pairs if language in (PYTHON3, "PYTHON3")]


def _live(record: Record, source: str) -> Task:
    where = str(record.get("question_id") or record.get("id") or "a record")
    public = _live_cases(field(record, "public_test_cases", where), where)
    hidden = _live_cases(record.get("private_test_cases") or [], where)
    cases = [*public, *hidden]
    kinds = {str(case.get("testtype", "stdin")) for case in cases}
    if len(kinds) != 1 or not kinds <= {"stdin", "functional"}:
        raise TaskError(f"{where} needs tests of one type, stdin or functional, got {kinds}")
    starter = str(record.get("starter_code") or "")
    said = str(field(record, "question_content", where))
    title = str(record.get("question_title") or "")
    said = f"{title}\n\n{said}".strip() if title and title not in said else said
    problem = Problem(
        kind="stdio",
        tests=tuple({"stdin": str(c["input"]), "stdout": str(c["output"])} for c in cases),
        public=tuple(range(len(public))),
        checker={"name": "tokens"},
        starter=starter,
        reference=record.get("solution") or None,
        cpu_seconds=10.0,
    )
    if kinds == {"functional"}:
        metadata = decoded(record.get("metadata") or {}, where)
        name = str(metadata.get("func_name") or "")
        method = "class Solution" in starter or "class Solution" in said
        problem = replace(
            problem,
            kind="solution" if method else "call",
            entry_point=name,
            tests=tuple(_functional(case, where) for case in cases),
            checker={"name": "exact"},
        )
    else:
        said = _reading(said)
    return task_from(problem, task_id=f"{source}/{where}", instruction=said)


def _functional(case: Mapping[str, Any], where: str) -> Case:
    lines = [line for line in str(case["input"]).split("\n") if line.strip()]
    arguments = tuple(decoded(line, where) for line in lines)
    return {"args": repr(arguments), "expected": repr(decoded(str(case["output"]), where))}


def _live_cases(cases: Any, where: str) -> Sequence[Mapping[str, Any]]:
    """Return test cases that are a list, JSON text, or JSON text pickled, zipped and in base64."""
    if isinstance(cases, str):
        try:
            cases = json.loads(cases)
        except ValueError:
            cases = decoded(unpack(cases, where), where)
    if not isinstance(cases, list):
        raise TaskError(f"{where}: test cases must be a list, got {type(cases).__name__}")
    return cases  # pyright: ignore[reportUnknownVariableType]


def unpack(text: str, where: str) -> str:
    """Return the JSON in private tests: text that was pickled, zipped and put in base64.

    Raises:
        TaskError: it is packed otherwise, unpacks to more than LARGEST_TESTS bytes, or the pickle
            holds anything but text.
    """
    try:
        unzip = zlib.decompressobj()
        data = unzip.decompress(base64.b64decode(text, validate=True), LARGEST_TESTS)
        if unzip.unconsumed_tail:
            raise TaskError(f"{where}: private tests unpack to more than {LARGEST_TESTS} bytes")
        value = _OnlyText(io.BytesIO(data)).load()
    except (binascii.Error, zlib.error, pickle.UnpicklingError, EOFError, ValueError) as error:
        raise TaskError(f"{where}: private tests are not packed as published: {error}") from error
    if not isinstance(value, str):
        raise TaskError(f"{where}: private tests must be text, got {type(value).__name__}")
    return value


class _OnlyText(pickle.Unpickler):
    """Unpickles plain values; a pickle that names any class or function is refused."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        raise pickle.UnpicklingError(f"it wants to load {module_name}.{global_name}")

    def persistent_load(self, pid: Any, /) -> Any:
        raise pickle.UnpicklingError("it refers to something outside")


def _apps(record: Record, where: str) -> Task | None:
    tests = decoded(record.get("input_output") or "{}", where)
    inputs, outputs = tests.get("inputs", []), tests.get("outputs", [])
    if not inputs or len(inputs) != len(outputs):
        # Some published problems have no tests; they cannot be judged.
        return None
    solutions = decoded(record.get("solutions") or "[]", where)
    name = str(tests.get("fn_name") or "")
    starter = str(record.get("starter_code") or "")
    said = str(field(record, "question", where))
    reference = solutions[0] if solutions else None
    if name:
        cases = tuple(
            # Published results of functions stand in a list of one.
            {"args": repr(tuple(given)), "expected": repr(_unwrapped(wanted))}
            for given, wanted in zip(inputs, outputs, strict=True)
        )
        method = "class Solution" in starter or "class Solution" in (reference or "")
        problem = Problem(
            kind="solution" if method else "call",
            entry_point=name,
            tests=cases,
            public=first_places(len(cases), 1),
            starter=starter,
            reference=reference,
            cpu_seconds=10.0,
        )
    else:
        cases = tuple(
            {"stdin": _lines(given), "stdout": _lines(wanted)}
            for given, wanted in zip(inputs, outputs, strict=True)
        )
        said = _reading(said)
        problem = Problem(
            kind="stdio",
            tests=cases,
            public=first_places(len(cases), 1),
            checker={"name": "tokens"},
            reference=reference,
            cpu_seconds=10.0,
        )
    return task_from(problem, task_id=f"apps/{where}", instruction=said)


def _apps_folder(folder: Path) -> Record:
    record: dict[str, Any] = {"question": (folder / "question.txt").read_text(encoding="utf-8")}
    for key, name in (
        ("input_output", "input_output.json"),
        ("solutions", "solutions.json"),
        ("starter_code", "starter_code.py"),
    ):
        if (folder / name).is_file():
            record[key] = (folder / name).read_text(encoding="utf-8")
    return record


def _unwrapped(wanted: Any) -> Any:
    if isinstance(wanted, list):
        listed = cast("list[Any]", wanted)
        return listed[0] if len(listed) == 1 else listed
    return wanted


def _lines(text: Any) -> str:
    return "\n".join(map(str, text)) if isinstance(text, list) else str(text)  # pyright: ignore[reportUnknownArgumentType]


def _reading(statement: str) -> str:
    return f"{statement.strip()}\n\nRead standard input and write standard output."
