"""The run folder: everything a run leaves behind, in open formats, whole after any kill.

A checkpoint is the only place where a run can be taken up again. Whatever was written after it
(metrics, trajectories, task archive) is cut back to it by ``resume``, and the seeds derive from the
iteration, so that a run that was killed and resumed gives the numbers of one that was not.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import time
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from rla_envs.errors import RunError
from rla_envs.tracking import trajectories as parquet
from rla_envs.tracking.files import TMP, remove, sync, sync_tree, write_text
from rla_envs.tracking.lock import Lock
from rla_envs.tracking.metrics import Metrics, append_metrics, cut_metrics, read_metrics
from rla_envs.tracking.trajectories import Ragged, TrajectoryRecord
from rla_envs.types import Group


class RunFolder:
    """One run on disk. ``create`` and ``resume`` make the writer; ``open`` alone only reads.

    Use it as a context manager, or call ``close``, so that the next writer need not find out that
    we are gone.

    Attributes:
        path: The folder.
        config: The run's settings as they were stored.
    """

    def __init__(self, path: Path, config: Mapping[str, Any], lock: Lock | None = None) -> None:
        self.path = path
        self.config = config
        self._lock = lock

    @classmethod
    def create(cls, path: Path | str, config: Mapping[str, Any]) -> RunFolder:
        """Start a run in a new or empty folder and become its writer.

        Args:
            path: The folder; parents are made.
            config: Settings, JSON-serialisable.

        Raises:
            RunError: path holds a run or something else, or another process is writing to it.
        """
        path = Path(path)
        if path.exists() and not path.is_dir():
            raise RunError(f"{path} is a file; a run needs a folder of its own")
        if (path / "config.json").exists():
            raise RunError(f"{path} already holds a run; resume it, or choose another folder")
        strangers = [name for name in _names(path) if name != "lock" and not name.endswith(TMP)]
        if strangers:
            raise RunError(
                f"{path} is not empty ({', '.join(strangers[:3])}); choose another folder"
            )
        path.mkdir(parents=True, exist_ok=True)
        lock = Lock(path)
        # The settings first: whatever else is there, a folder that has them can be resumed.
        _write_config(path, config)
        for name in ("trajectories", "checkpoints"):
            (path / name).mkdir(exist_ok=True)
        return cls(path, json.loads(json.dumps(config)), lock)

    @classmethod
    def open(cls, path: Path | str) -> RunFolder:
        """Open a run for reading; works while another process writes to it.

        Raises:
            RunError: there is no run at path.
        """
        path = Path(path)
        try:
            config = json.loads((path / "config.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise RunError(
                f"{path} is not a run folder: it has no config.json; start one with `rla train`"
            ) from None
        except ValueError as error:
            raise RunError(f"{path / 'config.json'} is not JSON: {error}") from error
        return cls(path, config)

    def resume(
        self, config: Mapping[str, Any] | None = None, *, may_differ: Collection[str] = ()
    ) -> tuple[int, Path] | None:
        """Become the writer and cut everything back to the latest checkpoint.

        Call it before anything else opens a file of the run, the task archive above all.

        Args:
            config: What the caller is about to run with; None takes the stored one.
            may_differ: Names of fields, dotted when nested, that may have changed; the new values
                are stored.

        Returns:
            (iteration, folder of the checkpoint); None when the run died before its first one. It
            then starts over in the same, now empty, folder.

        Raises:
            RunError: config differs in another field, or another process is writing.
        """
        new = self.config if config is None else json.loads(json.dumps(config))
        self._check_same(new, may_differ)
        if self._lock is None:
            self._lock = Lock(self.path)
        if new != self.config:
            _write_config(self.path, new)
            self.config = new
        checkpoint = self.latest_checkpoint()
        last = checkpoint[0] if checkpoint else None
        for folder in (self.path, self.path / "trajectories", self.path / "checkpoints"):
            folder.mkdir(exist_ok=True)
            for name in _names(folder):
                if name.endswith(TMP):
                    remove(folder / name)
        cut_metrics(self._metrics_file, last)
        for iteration in self.trajectory_iterations():
            if last is None or iteration > last:
                remove(self._trajectory_file(iteration))
        self._restore_archive(checkpoint[1] if checkpoint else None)
        self.log("resumed", iteration=last)
        return checkpoint

    def _check_same(self, config: Mapping[str, Any], may_differ: Collection[str]) -> None:
        old, new = _flat(self.config), _flat(config)
        changed = [
            f"{name}: {_shown(old, name)} in the run, {_shown(new, name)} now"
            for name in sorted(old.keys() | new.keys())
            if _shown(old, name) != _shown(new, name)
            and not any(name == free or name.startswith(free + ".") for free in may_differ)
        ]
        if changed:
            raise RunError(
                f"{self.path} was started with other settings ({'; '.join(changed)}); "
                "resume it with its own, or start a new run in another folder"
            )

    # ---- what a running loop writes

    def append_metrics(self, metrics: Mapping[str, float]) -> None:
        """Add one iteration's metrics, "iteration" among them; NaN and infinities become null."""
        self._require_lock()
        append_metrics(self._metrics_file, metrics)

    def write_trajectories(
        self,
        iteration: int,
        groups: Sequence[Group],
        *,
        oracle: Ragged | None = None,
        rewards: Ragged | None = None,
        advantages: Ragged | None = None,
    ) -> Path:
        """Store an iteration's groups; see tracking.trajectories.write_trajectories."""
        self._require_lock()
        path = self._trajectory_file(iteration)
        parquet.write_trajectories(
            path, iteration, groups, oracle=oracle, rewards=rewards, advantages=advantages
        )
        return path

    @contextlib.contextmanager
    def checkpoint(self, iteration: int, *, keep: int = 2) -> Generator[Path]:
        """Yield a folder to save into; when the block ends, it becomes the checkpoint in one step.

        The task archive (curriculum.sqlite) is copied into it as committed. Append the iteration's
        metrics and write its trajectories before, or a kill in between loses them. If the block
        raises, there is no checkpoint.

        Args:
            iteration: The iteration that is now complete; 0 for the state before the first.
            keep: How many of the latest checkpoints stay.
        """
        self._require_lock()
        final = self.path / "checkpoints" / f"iteration-{iteration:05d}"
        if final.exists():
            raise RunError(f"{final} exists; an iteration is checkpointed once")
        temporary = final.with_name(final.name + TMP)
        remove(temporary)
        temporary.mkdir(parents=True)
        yield temporary
        if self.archive.exists():
            _copy_database(self.archive, temporary / self.archive.name)
        sync_tree(temporary)
        temporary.rename(final)
        sync(final.parent)
        for _, old in self.checkpoints()[: -max(keep, 1)]:
            remove(old)

    def log(self, event: str, **fields: Any) -> None:
        """Add {"time", "event", **fields} to events.jsonl, for people; nothing reads it back."""
        line = json.dumps({"time": round(time.time(), 3), "event": event, **fields}, default=str)
        with (self.path / "events.jsonl").open("a", encoding="utf-8") as events:
            events.write(line + "\n")

    # ---- what everybody reads

    @property
    def archive(self) -> Path:
        """The curriculum's SQLite file."""
        return self.path / "curriculum.sqlite"

    @property
    def report(self) -> Path:
        """Where the HTML report goes."""
        return self.path / "report.html"

    def metrics(self) -> list[Metrics]:
        """Return the metrics of all iterations; see tracking.metrics.read_metrics."""
        return read_metrics(self._metrics_file)

    def trajectory_iterations(self) -> list[int]:
        """Return the iterations whose trajectories are stored, ascending."""
        return sorted(_numbers(self.path / "trajectories", ".parquet"))

    def trajectories(self, iteration: int) -> list[TrajectoryRecord]:
        """Return the trajectories of one iteration.

        Raises:
            RunError: there are none.
        """
        path = self._trajectory_file(iteration)
        if not path.exists():
            raise RunError(f"{self.path} has no trajectories of iteration {iteration}")
        return parquet.read_trajectories(path)

    def checkpoints(self) -> list[tuple[int, Path]]:
        """Return the complete checkpoints as (iteration, folder), ascending."""
        folder = self.path / "checkpoints"
        return [
            (iteration, folder / f"iteration-{iteration:05d}")
            for iteration in sorted(_numbers(folder, ""))
        ]

    def latest_checkpoint(self) -> tuple[int, Path] | None:
        """Return the latest complete checkpoint, or None."""
        checkpoints = self.checkpoints()
        return checkpoints[-1] if checkpoints else None

    def require_checkpoint(self) -> tuple[int, Path]:
        """Return the latest complete checkpoint.

        Raises:
            RunError: there is none.
        """
        checkpoint = self.latest_checkpoint()
        if checkpoint is None:
            raise RunError(
                f"{self.path} has no complete checkpoint yet; resume it with"
                f" `rla train --resume {self.path}`"
            )
        return checkpoint

    def close(self) -> None:
        """Stop being the writer."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def _metrics_file(self) -> Path:
        return self.path / "metrics.jsonl"

    def _trajectory_file(self, iteration: int) -> Path:
        return self.path / "trajectories" / f"iteration-{iteration:05d}.parquet"

    def _require_lock(self) -> None:
        if self._lock is None:
            raise RunError(f"{self.path} is open for reading; call resume() to write to it")

    def _restore_archive(self, checkpoint: Path | None) -> None:
        # The write-ahead log belongs to the state that is given up.
        for suffix in ("-wal", "-shm", "-journal"):
            remove(self.archive.with_name(self.archive.name + suffix))
        saved = checkpoint / self.archive.name if checkpoint else None
        if saved is None or not saved.exists():
            remove(self.archive)
            return
        temporary = self.archive.with_name(self.archive.name + TMP)
        shutil.copyfile(saved, temporary)
        sync(temporary)
        os.replace(temporary, self.archive)


def _write_config(folder: Path, config: Mapping[str, Any]) -> None:
    text = json.dumps(config, indent=2, ensure_ascii=False)
    write_text(folder / "config.json", text + "\n")


def _names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []


def _numbers(folder: Path, suffix: str) -> Iterator[int]:
    for name in _names(folder):
        number = name.removeprefix("iteration-").removesuffix(suffix)
        if name == f"iteration-{number}{suffix}" and number.isdecimal():
            yield int(number)


def _flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")  # pyright: ignore[reportUnknownArgumentType]
        else:
            flat[prefix + name] = value
    return flat


def _shown(flat: Mapping[str, Any], name: str) -> str:
    return json.dumps(flat[name], ensure_ascii=False) if name in flat else "absent"


def _copy_database(source: Path, target: Path) -> None:
    with (
        contextlib.closing(
            sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True)
        ) as old,
        contextlib.closing(sqlite3.connect(target)) as new,
    ):
        old.backup(new)
        # One file, whatever journal the original uses.
        new.execute("PRAGMA journal_mode = DELETE")
