"""The embedded sandbox: bubblewrap cells on this machine, no daemon."""

from __future__ import annotations

import json
import os
import platform
import selectors
import shutil
import subprocess
import sys
import tempfile
import weakref

from rla_envs.errors import ConfigError, SandboxError
from rla_envs.sandbox import bubblewrap
from rla_envs.sandbox.bundle import cell_source
from rla_envs.sandbox.cell import PRELOAD, Cell, CellDied, Job, Outcome, read_header, read_outcome
from rla_envs.sandbox.cgroups import Group, make_group, remove_leftovers
from rla_envs.sandbox.scheduling import PooledSandbox
from rla_envs.sandbox.types import Isolation

_START_S = 20.0
# User ids that distributions leave alone, above those of system containers.
_UID_BASE = 1_879_048_192


class LocalSandbox(PooledSandbox):
    """Hostile programs in bubblewrap cells.

    Args:
        workers: Number of cells; None means one a core.
        isolation: "strong" needs bubblewrap and user namespaces. "weak" keeps resource limits, the
            system call filter and a process group, and none of the walls: programs can read this
            machine's files.
    """

    def __init__(self, *, workers: int | None = None, isolation: Isolation = "strong") -> None:
        super().__init__(workers or os.cpu_count() or 1)
        if isolation not in ("strong", "weak"):
            raise ConfigError(f'isolation must be "strong" or "weak", got {isolation!r}')
        if sys.platform != "linux" or platform.machine() != "x86_64":
            raise SandboxError(
                f"LocalSandbox knows Linux on x86-64, not {sys.platform} on {platform.machine()}; "
                "use DockerSandbox on such a host"
            )
        self.isolation = isolation
        remove_leftovers()

    def start_cell(self) -> Cell:
        """Start a zygote in a cell of its own."""
        return LocalCell(self.isolation)


class LocalCell:
    """A zygote behind two pipes."""

    def __init__(self, isolation: Isolation) -> None:
        root = os.geteuid() == 0
        home = tempfile.mkdtemp(prefix="rla-cell-") if isolation == "weak" else None
        if home is not None:
            os.chmod(home, 0o777)
        config = {
            "mode": "namespaces" if isolation == "strong" else "weak",
            "uid_base": _UID_BASE if root else None,
            "home": home,
            "preload": PRELOAD,
        }
        zygote = [bubblewrap.interpreter(), "-S", "-s", "-B", "-X", "utf8", "-c"]
        zygote += [cell_source(), json.dumps(config)]
        line = bubblewrap.command(zygote, root=root) if isolation == "strong" else zygote
        self._group: Group | None = make_group()
        if self._group is not None:
            line = [*self._group.enter, *line]
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the cell
        self._process = subprocess.Popen(
            line,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            bufsize=0,
            start_new_session=True,
            env=bubblewrap.ENVIRONMENT,
        )
        self._errors = errors
        self._end = weakref.finalize(self, _end, self._process, self._group, home)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._write_fd = self._process.stdin.fileno()
        self._read_fd = self._process.stdout.fileno()
        self._await_ready()

    def _await_ready(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._read_fd, selectors.EVENT_READ)
            selector.select(_START_S)
        try:
            read_header(self._read)
        except CellDied:
            self._process.wait(timeout=5)
            message = self._said()
            self.close()
            raise SandboxError(bubblewrap.explain(message)) from None

    def _read(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size:
            part = os.read(self._read_fd, min(size, 1 << 20))
            if not part:
                raise CellDied("the cell hung up")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _said(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode("utf-8", "replace")[-2000:].strip() or "nothing"

    def send(self, job: Job) -> None:
        """Start a job. Raises CellDied."""
        if self._group is not None:
            self._group.limit(int(job.limits["memory"]) * len(job.roles))
        data = memoryview(job.frame())
        try:
            while data:
                data = data[os.write(self._write_fd, data) :]
        except BrokenPipeError:
            raise CellDied("the cell hung up") from None

    @property
    def process_id(self) -> int:
        """Process id, on this machine, of the cell's first process."""
        return self._process.pid

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when the job is done."""
        return self._read_fd

    def receive(self) -> Outcome:
        """Wait for the job's outcome. Raises CellDied."""
        try:
            outcome = read_outcome(self._read)
        except CellDied as error:
            raise CellDied(f"{error}; it said: {self._said()}") from None
        if self._group is not None and any(end.status == -9 for end in outcome.ends):
            return self._group.explain(outcome)
        return outcome

    def worn(self) -> bool:
        """Never: nothing of a test stays in a cell."""
        return False

    def close(self) -> None:
        """End the cell and all in it."""
        self._end()
        self._errors.close()


def _end(process: subprocess.Popen[bytes], group: Group | None, home: str | None) -> None:
    # Without its input the zygote kills what runs and ends, and its CPU time is accounted for.
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    try:
        process.wait(timeout=2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if group is not None:
        group.remove()
    if home is not None:
        shutil.rmtree(home, ignore_errors=True)
