"""One SQLite file that holds a curriculum: what is served, what was seen, what was decided and why.

A connection writes in transactions; the file survives ``kill -9`` at any moment and opens again at
the last finished call. ``:memory:`` keeps nothing and costs no disk.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rla_envs.curriculum.schema import TABLES, VERSION
from rla_envs.errors import RunError
from rla_envs.types import Task


class Store:
    """A connection to a curriculum's database.

    Args:
        path: The file, created when absent, or ":memory:".

    Raises:
        RunError: the file is no curriculum of this version.
    """

    def __init__(self, path: str | Path = ":memory:") -> None:
        self.path = str(path)
        if self.path != ":memory:":
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        self.connection.row_factory = sqlite3.Row
        self._tasks: dict[str, Task] = {}
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            self.connection.close()
            raise RunError(
                f"{self.path} is not a curriculum: {error}; choose another file"
            ) from error

    def _prepare(self) -> None:
        # WAL with NORMAL loses nothing when the process dies, only (the last calls) when the
        # machine does.
        self.connection.execute("PRAGMA journal_mode=WAL")
        self.connection.execute("PRAGMA synchronous=NORMAL")
        self.connection.executescript(TABLES)
        version = self.meta("schema")
        if version is None:
            self.set_meta("schema", str(VERSION))
        elif version != str(VERSION):
            raise RunError(
                f"{self.path} has schema {version}, this package reads {VERSION}; start a new file"
            )

    @contextmanager
    def transaction(self) -> Generator[None, None, None]:
        """Make everything inside happen wholly or not at all."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def rows(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        """Return all rows of a query."""
        return self.connection.execute(sql, values).fetchall()

    def row(self, sql: str, *values: Any) -> sqlite3.Row | None:
        """Return the first row of a query, or None."""
        return self.connection.execute(sql, values).fetchone()

    def write(self, sql: str, *values: Any) -> int:
        """Run a statement and return the id of the row it inserted, if any."""
        return self.connection.execute(sql, values).lastrowid or 0

    def insert(self, table: str, **values: Any) -> int:
        """Insert one row."""
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        return self.write(f"INSERT INTO {table} ({names}) VALUES ({marks})", *values.values())

    def meta(self, key: str) -> str | None:
        """Return a setting of the file."""
        row = self.row("SELECT value FROM meta WHERE key = ?", key)
        return None if row is None else row["value"]

    def set_meta(self, key: str, value: str) -> None:
        """Set a setting of the file."""
        self.write("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, value)

    def task(self, task_id: str) -> Task:
        """Return a task by id.

        Raises:
            RunError: the file does not know it.
        """
        if task_id not in self._tasks:
            row = self.row("SELECT data FROM tasks WHERE id = ?", task_id)
            if row is None:
                raise RunError(f"task {task_id!r} is not in {self.path}; was another set given?")
            self._tasks[task_id] = task_from_json(row["data"])
        return self._tasks[task_id]

    def record(
        self,
        kind: str,
        task_id: str,
        reason: str,
        policy_version: int,
        *,
        trial: sqlite3.Row | None = None,
        transform: str | None = None,
        numbers: Mapping[str, float | None] | None = None,
    ) -> None:
        """Write one row into the decisions."""
        self.insert(
            "decisions",
            kind=kind,
            task_id=task_id,
            trial_id=None if trial is None else trial["id"],
            trial_kind=None if trial is None else trial["kind"],
            transform=transform,
            reason=reason,
            policy_version=policy_version,
            numbers=json.dumps(dict(numbers or {})),
        )

    def snapshot(self, path: str | Path) -> None:
        """Write a consistent copy into path, replacing it only when the copy is complete."""
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(target.name + ".partial")
        partial.unlink(missing_ok=True)
        copy = sqlite3.connect(partial)
        try:
            self.connection.backup(copy)
            # The copy must be one file: a -wal file beside it would be left behind by the rename.
            copy.execute("PRAGMA journal_mode=DELETE")
        finally:
            copy.close()
        partial.replace(target)

    def load(self, path: str | Path) -> None:
        """Replace this store's whole content by a snapshot.

        Raises:
            RunError: no such file.
        """
        if not Path(path).is_file():
            raise RunError(f"no curriculum snapshot at {path}")
        source = sqlite3.connect(path)
        try:
            source.backup(self.connection)
        finally:
            source.close()
        self._tasks.clear()
        self._prepare()

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def task_to_json(task: Task) -> str:
    """Return a task as JSON."""
    return json.dumps(
        {
            "id": task.id,
            "domain": task.domain,
            "instruction": task.instruction,
            "payload": task.payload,
            "parent_id": task.parent_id,
            "root_id": task.root_id,
            "difficulty": task.difficulty,
        },
        default=dict,
    )


def task_from_json(text: str) -> Task:
    """Return the task in JSON."""
    return Task(**json.loads(text))
