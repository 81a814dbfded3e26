"""A memory and process limit around a cell, where this machine lets us make one."""

from __future__ import annotations

import itertools
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

from rla_envs.sandbox.cell import Outcome

_ROOT = Path("/sys/fs/cgroup")
_PREFIX = "rla-cell"
_PROCESSES = 512
# The zygote, the memory files of inputs and outputs, and the private tmpfs.
_OVERHEAD_MIB = 192
_numbers = itertools.count()


@dataclass(slots=True)
class Group:
    """A group of cgroup v2, or of the v1 controllers "memory" and "pids"."""

    memory: Path
    pids: Path
    v2: bool
    limit_mib: int = 0
    kills: int = 0

    @property
    def enter(self) -> list[str]:
        """Return a command prefix that moves the command into the group first."""
        script = (
            'for group in "$1" "$2"; do echo $$ > "$group/cgroup.procs"; done; shift 2; exec "$@"'
        )
        return ["/bin/sh", "-c", script, "sh", str(self.memory), str(self.pids)]

    def limit(self, memory_mib: int) -> None:
        """Let the whole cell use memory_mib besides what the zygote needs."""
        if memory_mib != self.limit_mib:
            name = "memory.max" if self.v2 else "memory.limit_in_bytes"
            (self.memory / name).write_text(str(memory_mib + _OVERHEAD_MIB << 20))
            self.limit_mib = memory_mib

    def explain(self, outcome: Outcome) -> Outcome:
        """Return outcome, marked if the kernel killed for memory since the last call."""
        name = "memory.events" if self.v2 else "memory.oom_control"
        words = (self.memory / name).read_text().split()
        kills = int(words[words.index("oom_kill") + 1])
        ran_out, self.kills = kills > self.kills, kills
        return replace(outcome, out_of_memory=ran_out)

    def remove(self) -> None:
        """Remove the group; its last processes may take a moment to be gone."""
        for folder in {self.memory, self.pids}:
            for _ in range(200):
                try:
                    folder.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.005)
                else:
                    break


def make_group() -> Group | None:
    """Return a new group, or None where cgroups are absent or not ours to make."""
    parents = _parents()
    if parents is None:
        return None
    name = f"{_PREFIX}-{os.getpid()}-{next(_numbers)}"
    memory, pids = (parent / name for parent in parents)
    v2 = memory == pids
    try:
        for folder in {memory, pids}:
            folder.mkdir()
        (pids / "pids.max").write_text(str(_PROCESSES))
    except OSError:
        return None
    group = Group(memory, pids, v2)
    group.limit(1024)
    return group


def _parents() -> tuple[Path, Path] | None:
    """Return the folders below which groups for memory and for processes can be made."""
    if (_ROOT / "cgroup.controllers").is_file():
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        own = _ROOT / lines[-1].split("::/")[-1]
        for folder in (own, _ROOT):
            control = folder / "cgroup.subtree_control"
            if os.access(folder, os.W_OK) and {"memory", "pids"} <= {*control.read_text().split()}:
                return folder, folder
        return None
    memory, pids = _ROOT / "memory", _ROOT / "pids"
    if os.access(memory, os.W_OK) and os.access(pids, os.W_OK):
        return memory, pids
    return None


def remove_leftovers() -> None:
    """Remove empty groups of owners that were killed."""
    parents = _parents()
    for folder in {*(parents or ())}:
        for group in folder.glob(f"{_PREFIX}-*"):
            owner = group.name.split("-")[2]
            if not Path(f"/proc/{owner}").exists():
                try:
                    group.rmdir()
                except OSError:
                    continue
