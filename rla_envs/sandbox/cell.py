"""The supervisor's side of one cell: frames go in, what the processes left comes back."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from rla_envs.errors import SandboxError

_LENGTH = struct.Struct("<Q")

# What solutions import; found once by the zygote and shared by all its children.
PRELOAD = (
    "abc",
    "bisect",
    "collections",
    "copy",
    "dataclasses",
    "datetime",
    "decimal",
    "enum",
    "fractions",
    "functools",
    "hashlib",
    "heapq",
    "itertools",
    "json",
    "math",
    "operator",
    "random",
    "re",
    "statistics",
    "string",
    "threading",
    "time",
    "traceback",
    "typing",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a cell runs at a time: one process, or a program's and a test's.

    Attributes:
        roles: For each process its "kind" (see inside/stages.py) and the numbers of its blobs.
        blobs: Tasks and standard inputs.
        limits: cpu and wall (seconds), memory and disk (MiB), output and answer (bytes),
            processes.
    """

    roles: Sequence[Mapping[str, Any]]
    blobs: Sequence[bytes]
    limits: Mapping[str, float]

    def frame(self) -> bytes:
        """Return the bytes that travel."""
        sizes = [len(blob) for blob in self.blobs]
        header = {"roles": [*self.roles], "limits": dict(self.limits), "sizes": sizes}
        text = json.dumps(header).encode()
        return b"".join([_LENGTH.pack(len(text)), text, *self.blobs])


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How one process ended: exit code (or minus the signal), resources, and what it wrote."""

    status: int
    cpu: float
    memory: float
    output: bytes
    error: bytes
    answer: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a job left behind."""

    ends: Sequence[End]
    wall: float
    stop: Literal["cpu", "wall"] | None
    """The limit that ended it, if one did."""
    out_of_memory: bool = field(default=False)
    """The kernel killed for memory while the job ran."""


class Cell(Protocol):
    """A zygote that runs one job at a time."""

    def send(self, job: Job) -> None:
        """Start a job. Raises CellDied."""
        ...

    @property
    def process_id(self) -> int:
        """Process id, outside, of the cell's first process."""
        ...

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when the job is done."""
        ...

    def receive(self) -> Outcome:
        """Wait for the job's outcome. Raises CellDied."""
        ...

    def worn(self) -> bool:
        """Whether the cell should be replaced before its next job."""
        ...

    def close(self) -> None:
        """End the cell and all in it."""
        ...


class CellDied(SandboxError):
    """The cell ended, or did not answer, during a job."""


Read = Callable[[int], bytes]
"""Return exactly so many bytes; raises CellDied at the end of the stream."""


def read_header(read: Read) -> dict[str, Any]:
    """Return the header of the next frame."""
    (length,) = _LENGTH.unpack(read(_LENGTH.size))
    if length > 1 << 20:
        raise CellDied(f"the cell announced a header of {length} bytes")
    return json.loads(read(length))


def read_outcome(read: Read) -> Outcome:
    """Return the outcome that the zygote sends; raises SandboxError if isolation failed."""
    header = read_header(read)
    blobs = [read(size) for size in header["sizes"]]
    ends: list[End] = []
    for number, end in enumerate(header["ends"]):
        output, error, answer = blobs[3 * number : 3 * number + 3]
        # A program may be ended before it is locked in, and so before it runs, when its test was
        # over at once; the last process is the one that decides.
        never_ran = end["status"] == -9 and number + 1 < len(header["ends"])
        if not end["locked"] and not never_ran:
            raise SandboxError(f"a test could not be isolated: {error.decode(errors='replace')}")
        ends.append(
            End(
                status=end["status"],
                cpu=end["cpu"],
                memory=end["memory"],
                output=output,
                error=error,
                answer=answer,
            )
        )
    return Outcome(
        ends=ends,
        wall=header["wall"],
        stop=header["stop"],
        out_of_memory=header["out_of_memory"],
    )
