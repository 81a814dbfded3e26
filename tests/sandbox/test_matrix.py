"""The pass matrix, cancelling, failing cells, killed owners, random programs."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rla_envs.errors import ConfigError
from rla_envs.sandbox import (
    CallTest,
    Limits,
    LocalSandbox,
    Program,
    SandboxError,
    ScriptTest,
    StdioTest,
    bubblewrap,
)

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAMS = [Program(f"def f(x): return x * {k}") for k in range(4)]
TESTS = [CallTest("f", [c], c * 2) for c in range(5)]


def test_matrix_has_a_row_for_each_program_and_does_not_depend_on_order(sandbox):
    # Program k returns k * c; the tests want 2 * c: row 2 passes, and column 0 (0 == 0) everywhere.
    wanted = [[c == 0 or k == 2 for c in range(5)] for k in range(4)]
    assert sandbox.matrix(PROGRAMS, TESTS).passed_KC.tolist() == wanted
    turned = sandbox.matrix(PROGRAMS[::-1], TESTS[::-1]).passed_KC[::-1, ::-1]
    assert turned.tolist() == wanted


def test_identical_pairs_run_once(local):
    # os.urandom differs between runs, so equal outputs come from one run.
    program = Program("import os\nprint(os.urandom(8).hex())")
    row = local.matrix([program] * 2, [StdioTest("", "x")] * 3).results
    assert len({result.output for results in row for result in results}) == 1


def test_results_are_deterministic_over_cells(make_sandbox):
    program = Program("import random\nprint(random.random(), hash('a'), list({'b', 'c', 'd'}))")
    outputs = set()
    for _ in range(2):
        with make_sandbox(1) as sandbox:
            outputs.add(sandbox.run(program, StdioTest("", "")).output)
    assert len(outputs) == 1


def test_results_stream_and_raising_cancels(local):
    seen: list[tuple[int, int]] = []

    class EnoughError(Exception):
        pass

    def stop_after_three(k, c, result):
        seen.append((k, c))
        if len(seen) == 3:
            raise EnoughError

    programs = [*PROGRAMS, Program("import time\ntime.sleep(1000)\ndef f(x): return x")]
    start = time.monotonic()
    with pytest.raises(EnoughError):
        local.matrix(programs, TESTS, Limits(wall_s=500), on_result=stop_after_three)
    assert len(seen) == 3
    assert time.monotonic() - start < 400
    assert local.run(PROGRAMS[2], TESTS[1]).passed


def test_a_generator_that_is_closed_leaves_the_sandbox_usable(local):
    stream = local.stream(PROGRAMS, TESTS)
    next(stream)
    stream.close()
    assert local.matrix(PROGRAMS, TESTS).passed_KC[2].all()


def test_a_cell_that_is_killed_from_outside_costs_no_result(local):
    local.warm_up()
    for pid in local.process_ids:
        os.kill(pid, signal.SIGKILL)
    assert local.matrix(PROGRAMS, TESTS).passed_KC[2].all()


def test_empty_matrix_and_wrong_kinds_are_errors(local):
    with pytest.raises(ConfigError, match="at least one"):
        local.matrix(PROGRAMS, [])
    with pytest.raises(ConfigError, match="StdioTests"):
        local.run(Program("int main() {}", "cpp"), ScriptTest("assert 1"))
    with pytest.raises(ConfigError, match="cpu_s"):
        Limits(cpu_s=0)
    with pytest.raises(ConfigError, match="isolation"):
        LocalSandbox(isolation="none")  # pyright: ignore


def test_closed_sandbox_says_so():
    sandbox = LocalSandbox(workers=1)
    sandbox.close()
    with pytest.raises(SandboxError, match="closed"):
        sandbox.run(PROGRAMS[0], TESTS[0])


def test_missing_bubblewrap_is_an_error_that_names_the_way_out(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with (
        LocalSandbox(workers=1) as sandbox,
        pytest.raises(SandboxError, match="apt-get install bubblewrap"),
    ):
        sandbox.run(PROGRAMS[0], TESTS[0])


def test_refused_namespaces_are_explained():
    said = "bwrap: No permissions to create new namespace"
    assert "unprivileged_userns_clone" in bubblewrap.explain(said)


def test_weak_isolation_is_reported_in_every_result_and_still_ends_what_it_started():
    daemon = Program(
        "import os, time\nif not os.fork():\n    open('/tmp/x', 'w') if 0 else time.sleep(1000)\nprint(1)"
    )
    with LocalSandbox(workers=1, isolation="weak") as sandbox:
        results = sandbox.matrix([daemon, PROGRAMS[2]], [StdioTest("", "1\n")]).results
        assert [row[0].isolation for row in results] == ["weak", "weak"]
        assert results[0][0].passed
        family = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(sandbox.process_ids[0])],
            capture_output=True,
            text=True,
            check=False,
        )
        assert family.stdout.split() == []


OWNER = """
import sys, time
from rla_envs.sandbox import DockerSandbox, LocalSandbox, Program, StdioTest
sandbox = {kind}(workers=1)
sandbox.warm_up()
print(*sandbox.process_ids, flush=True)
sandbox.run(Program("import time\\ntime.sleep(1000)"), StdioTest("", ""))
"""


def test_cells_of_an_owner_that_was_killed_end_by_themselves(make_sandbox, sandbox):
    kind = type(sandbox).__name__
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER.format(kind=kind)], stdout=subprocess.PIPE, cwd=REPOSITORY
    )
    assert owner.stdout is not None
    cell = int(owner.stdout.readline())
    time.sleep(1)
    owner.kill()
    owner.wait()
    owner.stdout.close()
    for _ in range(300):
        if not Path(f"/proc/{cell}").exists():
            break
        time.sleep(0.1)
    assert not Path(f"/proc/{cell}").exists()


@pytest.mark.docker
def test_container_of_a_dead_owner_is_removed_at_the_next_start():
    docker = pytest.importorskip("docker")
    from rla_envs.sandbox.docker import IMAGE, LABEL, DockerSandbox, owner

    try:
        client = docker.from_env()
        label = owner(2**22 + 1)  # above the largest process id there can be
        container = client.containers.create(IMAGE, "sleep 1", labels={LABEL: label})
    except docker.errors.DockerException as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    with DockerSandbox(workers=1) as sandbox:
        assert sandbox.removed_at_start >= 1
    with pytest.raises(docker.errors.NotFound):
        container.reload()
    client.close()


SYSTEM_CALLS = """
import ctypes, random, signal
rng = random.Random({seed})
libc = ctypes.CDLL(None)
area = ctypes.create_string_buffer(1 << 16)
def argument():
    return rng.choice([0, 1, 2, 3, -1, 4096, rng.getrandbits(12), rng.getrandbits(64),
                       ctypes.addressof(area) + rng.randrange(1 << 15)])
for _ in range(3000):
    number = rng.randrange(470)
    if number in (15, 34, 60, 61, 130, 219, 231, 247):
        continue  # ends or waits, which other programs try
    libc.syscall(number, *[ctypes.c_long(argument() & (1 << 64) - 1) for _ in range(6)])
"""


def test_random_system_calls_and_bytes_neither_pass_nor_break_the_sandbox(sandbox, family):
    rng = random.Random(0)
    programs = [Program(SYSTEM_CALLS.format(seed=seed)) for seed in range(6)]
    words = [
        "def",
        "f(x):",
        "return",
        "\n",
        "if",
        "while",
        "1",
        "+",
        "[",
        "]",
        "(",
        ")",
        ":",
        "import",
        "os",
        ";",
        "lambda",
        "yield",
        "'\\x00'",
        "*",
        "**",
    ]
    for _ in range(40):
        programs.append(Program(" ".join(rng.choice(words) for _ in range(12))))
        programs.append(Program("".join(chr(rng.randrange(1, 0x3000)) for _ in range(40))))
    limits = Limits(cpu_s=0.5, wall_s=1.5, memory_mb=256)
    matrix = sandbox.matrix(programs, [StdioTest("", "a right answer\n")], limits)
    assert not matrix.passed_KC.any()
    sandbox.warm_up()
    assert max(len(family(pid)) for pid in sandbox.process_ids) <= 3
    assert sandbox.matrix(PROGRAMS, TESTS).passed_KC[2].all()
