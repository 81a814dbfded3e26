"""Reading published data sets from a local path: JSON lines, plain or gzipped."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from rla_envs.coding.problem import Problem
from rla_envs.errors import TaskError, TaskUnavailable
from rla_envs.types import Task

Record = Mapping[str, Any]
Root = str | os.PathLike[str] | None

SUFFIXES = (".jsonl", ".jsonl.gz", ".json", ".json.gz")


def read_records(root: Root, *, name: str, split: str | None = None) -> Iterator[Record]:
    """Yield the records of a file, or of the files of a folder in alphabetical order.

    Args:
        root: A file, or a folder; of a folder, files whose name begins with split (all when None).
        name: Of the data set, for errors.
        split: Of a data set with one file a split.

    Raises:
        TaskUnavailable: no root was given, or there is no such file.
        TaskError: a line is no JSON object.
    """
    for path in data_files(root, name=name, split=split):
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", encoding="utf-8") as lines:
            if ".json" in path.suffixes[-2:] and ".jsonl" not in path.suffixes[-2:]:
                yield from _from_array(path, lines.read())
                continue
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                yield _object(line, f"{path}:{number}")


def data_files(root: Root, *, name: str, split: str | None = None) -> list[Path]:
    """Return the files that ``read_records`` reads.

    Raises:
        TaskUnavailable: no root was given, or there is no such file.
    """
    if root is None:
        raise TaskUnavailable(f"{name} needs root=: the file, or the folder with the files, of it")
    folder = Path(root).expanduser()
    if folder.is_file():
        return [folder]
    found = sorted(
        path
        for path in (folder.iterdir() if folder.is_dir() else ())
        if path.name.endswith(SUFFIXES) and (split is None or path.name.startswith(split))
    )
    if not found:
        begin = "" if split is None else f" whose name begins with {split!r}"
        raise TaskUnavailable(f"no {' or '.join(SUFFIXES)} file{begin} in {folder} ({name})")
    return found


def task_from(
    problem: Problem, *, task_id: str, instruction: str, difficulty: float | None = None
) -> Task:
    """Return the task of a problem."""
    return Task(
        id=task_id,
        domain="coding",
        instruction=instruction,
        payload=problem.payload(),
        difficulty=difficulty,
    )


def field(record: Record, key: str, where: str) -> Any:
    """Return record[key].

    Raises:
        TaskError: there is no such key.
    """
    if key not in record:
        raise TaskError(f"{where} has no {key!r}; it has {sorted(record)}")
    return record[key]


def decoded(value: Any, where: str) -> Any:
    """Return value, parsed first if it is JSON text.

    Raises:
        TaskError: it is text, but not JSON.
    """
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError as error:
        raise TaskError(f"{where} is no JSON: {error}") from error


def first_places(n: int, wanted: int) -> tuple[int, ...]:
    """Return the places of the first tests, as public ones; one test stays hidden."""
    return tuple(range(max(0, min(wanted, n - 1))))


def _from_array(path: Path, text: str) -> Sequence[Record]:
    data: Any = decoded(text, str(path))
    rows = cast("list[Any]", data) if isinstance(data, list) else [data]
    if any(not isinstance(row, dict) for row in rows):
        raise TaskError(f"{path} must hold one JSON object or an array of them")
    return cast("list[Record]", rows)


def _object(line: str, where: str) -> Record:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise TaskError(f"{where} is no JSON: {error}") from error
    if not isinstance(row, dict):
        raise TaskError(f"{where} must be a JSON object, got {type(row).__name__}")
    return cast("Record", row)
