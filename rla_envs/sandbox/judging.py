"""From a program and a test to jobs for a cell, and from their outcomes to a verdict.

``verdict_steps`` is a coroutine: it yields jobs, is sent their outcomes, and returns the result, so
that one scheduler serves tests of one, two or three runs. No expected value is ever in a job, but
for a custom checker's, which no tested program shares a process with.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

from rla_envs.errors import ConfigError, SandboxError
from rla_envs.sandbox import checking
from rla_envs.sandbox.cell import End, Job, Outcome
from rla_envs.sandbox.inside import values
from rla_envs.sandbox.types import (
    CallTest,
    Custom,
    Limits,
    Program,
    Reason,
    Result,
    ScriptTest,
    SolutionTest,
    StdioTest,
    Test,
)

ANSWER_BYTES = 64 << 20
_SHOWN = 2000
COMPILE_LIMITS = Limits(cpu_s=60, memory_mb=2048, output_bytes=64 << 20)

Steps = Generator[Job, Outcome, Result]
Binaries = dict[Program, bytes | Result]


def compile_steps(program: Program, binaries: Binaries) -> Steps:
    """Compile a C++ program into binaries[program]: the binary, or the result of every test."""
    job = Job(
        roles=[{"kind": "compile", "task": 0}],
        blobs=[program.source.encode("utf-8", "replace")],
        limits=_limits(COMPILE_LIMITS, disk=256),
    )
    outcome = yield job
    end = outcome.ends[0]
    result = _result("passed", outcome)
    if end.status == 0 and end.answer:
        binaries[program] = end.answer
    else:
        detail = f"does not compile: {_text(end.error)}"
        result = binaries[program] = _result(
            _stopped(outcome, COMPILE_LIMITS) or "exception", outcome, detail
        )
    return result


def verdict_steps(program: Program, test: Test, limits: Limits, binaries: Binaries) -> Steps:
    """Run program on test within limits; C++ must have been compiled."""
    if program.language != "python" and not isinstance(test, StdioTest):
        raise ConfigError(f"{program.language} programs take StdioTests, got {type(test).__name__}")
    if program.language == "cpp":
        binary = binaries[program]
        if isinstance(binary, Result):
            return binary
        task = binary
    else:
        task = b""
    job = _job(program, test, limits, task)
    outcome = yield job
    if _only_wall(outcome, limits):
        # A right program of 0.5 CPU seconds fails a wall limit on a machine that is busy enough.
        outcome = yield job
    reason = _stopped(outcome, limits)
    if isinstance(test, ScriptTest):
        return _script_result(outcome, reason)
    end = outcome.ends[0]
    if reason is None and len(end.output) >= limits.output_bytes:
        reason = "output_limit"
    if reason is None and end.status < 0:
        reason = "killed"
    if reason is None and end.status != 0:
        reason = "memory_limit" if _ran_out(end) else "exception"
    if reason is not None:
        return _result(reason, outcome, _death(end))
    if isinstance(test, StdioTest):
        return (yield from _judge_text(test, outcome, limits))
    return (yield from _judge_value(test, outcome, limits))


def _job(program: Program, test: Test, limits: Limits, binary: bytes) -> Job:
    match test:
        case StdioTest():
            kind = program.language
            task = binary
            if kind == "python":
                task = _task(kind="stdio", source=program.source)
            elif kind == "javascript":
                task = program.source.encode("utf-8", "replace")
            roles = [{"kind": kind, "task": 0, "stdin": 1}]
            blobs = [task, test.stdin.encode("utf-8", "surrogateescape")]
        case CallTest() | SolutionTest():
            method = isinstance(test, SolutionTest)
            task = _task(
                kind="call",
                source=program.source,
                function=test.method if method else test.function,
                method=method,
                args=encode(list(test.args)),
            )
            roles, blobs = [{"kind": "python", "task": 0}], [task]
        case ScriptTest():
            roles = [
                {"kind": "python", "task": 0},
                {"kind": "python", "task": 1, "verdict": True},
            ]
            blobs = [
                _task(kind="serve", source=program.source),
                _task(kind="examine", code=test.code, entry=test.entry),
            ]
    return Job(roles=roles, blobs=blobs, limits=_limits(limits, disk=16))


def encode(value: Any) -> str:
    """Encode an argument or expected value of a test; TypeError names what is no plain value."""
    return values.encode(value)


def _task(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def _limits(limits: Limits, *, disk: int) -> dict[str, float]:
    return {
        "cpu": limits.cpu_s,
        "wall": limits.wall,
        "memory": limits.memory_mb,
        "output": limits.output_bytes,
        "answer": ANSWER_BYTES,
        "processes": limits.processes,
        "disk": disk,
    }


def _only_wall(outcome: Outcome, limits: Limits) -> bool:
    return outcome.stop == "wall" and all(end.cpu < limits.cpu_s for end in outcome.ends)


def _stopped(outcome: Outcome, limits: Limits) -> Reason | None:
    """Return the limit that ended a process, if one did."""
    if outcome.stop == "cpu" or any(end.cpu >= limits.cpu_s for end in outcome.ends):
        return "cpu_limit"
    if outcome.stop == "wall":
        return "wall_limit"
    if outcome.out_of_memory and any(end.status == -signal.SIGKILL for end in outcome.ends):
        return "memory_limit"
    return None


def _judge_text(test: StdioTest, outcome: Outcome, limits: Limits) -> Steps:
    try:
        output = outcome.ends[0].output.decode("utf-8")
    except UnicodeDecodeError as error:
        return _result("wrong_answer", outcome, f"output is not UTF-8: {error}")
    if isinstance(test.checker, Custom):
        return (yield from _ask(test.checker, [test.stdin, output, test.expected], outcome, limits))
    return _decide(outcome, checking.text_difference(test.checker, output, test.expected))


def _judge_value(test: CallTest | SolutionTest, outcome: Outcome, limits: Limits) -> Steps:
    end = outcome.ends[0]
    try:
        answer = json.loads(end.answer)
        if "error" in answer:
            return _result("exception", outcome, str(answer["error"]))
        value = values.decode(answer["value"])
        shown = str(answer["repr"])
    except (values.NotPlain, ValueError, TypeError, KeyError, RecursionError):
        return _result("exception", outcome, "the program ended before it answered")
    if isinstance(test.checker, Custom):
        result = yield from _ask(
            test.checker, [list(test.args), value, test.expected], outcome, limits
        )
    else:
        result = _decide(outcome, checking.value_difference(test.checker, value, test.expected))
    return replace(result, output=shown[:_SHOWN])


def _ask(checker: Custom, args: list[Any], outcome: Outcome, limits: Limits) -> Steps:
    """Run a custom checker in a cell."""
    verdict = yield _job(
        Program(checker.source), CallTest("check", args, True), replace(limits, memory_mb=1024), b""
    )
    result = yield from _judge_value(CallTest("check", args, True), verdict, limits)
    if result.output not in ("True", "False") or result.reason not in ("passed", "wrong_answer"):
        text = result.detail or _text(verdict.ends[0].error)
        return _result("invalid", outcome, f"the checker failed: {text}")
    return _decide(outcome, None if result.passed else "the checker refused the answer")


def _decide(outcome: Outcome, difference: str | None) -> Result:
    if difference is None:
        return _result("passed", outcome)
    return _result("wrong_answer", outcome, difference)


_SCRIPT_REASONS: tuple[Reason, ...] = ("passed", "wrong_answer", "exception", "invalid")


def _script_result(outcome: Outcome, reason: Reason | None) -> Result:
    program, test = outcome.ends
    if reason is None and test.status < 0:
        reason = "killed"
    detail = _text(test.error)
    if reason is None:
        try:
            verdict = json.loads(test.answer)
            reason = next(r for r in _SCRIPT_REASONS if r == verdict["reason"])
            detail = str(verdict["detail"])
        except (ValueError, TypeError, KeyError, StopIteration, RecursionError):
            reason, detail = "invalid", f"the test code ended without a verdict: {detail}"
    if reason == "exception" and _ran_out(program):
        reason = "memory_limit"
    return _result(reason, outcome, detail[-_SHOWN:])


def _result(reason: Reason, outcome: Outcome, detail: str = "") -> Result:
    return Result(
        passed=reason == "passed",
        reason=reason,
        cpu_s=sum(end.cpu for end in outcome.ends),
        wall_s=outcome.wall,
        memory_mb=max(end.memory for end in outcome.ends),
        output=outcome.ends[0].output[: 4 * _SHOWN].decode("utf-8", "replace")[:_SHOWN],
        detail=detail,
    )


def _ran_out(end: End) -> bool:
    """Whether Python's last words are a MemoryError, or C++'s a bad_alloc."""
    last = end.error.rstrip().rsplit(b"\n", 1)[-1]
    return last.startswith(b"MemoryError") or b"std::bad_alloc" in last or b"heap out of" in last


def _death(end: End) -> str:
    if end.status < 0:
        try:
            name = signal.Signals(-end.status).name
        except ValueError:
            name = f"signal {-end.status}"
        return f"killed by {name}\n{_text(end.error)}".strip()
    return _text(end.error) or f"exit code {end.status}"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")[-_SHOWN:].strip()


def probe(language: str) -> tuple[Program, StdioTest]:
    """Return a program that any sound cell runs, to tell a broken cell from a broken program."""
    sources: dict[str, Callable[[], Program]] = {
        "python": lambda: Program("print(input())"),
        "cpp": lambda: Program(
            "#include <iostream>\nint main(){int x;std::cin>>x;std::cout<<x;}", "cpp"
        ),
        "javascript": lambda: Program(
            "console.log(require('fs').readFileSync(0,'utf8'))", "javascript"
        ),
    }
    if language not in sources:
        raise SandboxError(f"language must be one of {', '.join(sources)}, got {language!r}")
    return sources[language](), StdioTest("7\n", "7\n")
