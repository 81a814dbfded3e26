"""How a Python program is run inside a child, once isolation is complete.

The child is hostile from the first line of the program on: nothing here decides a verdict, it only
reports values and what was raised. File descriptors: 0 standard input (a regular file, as judges
redirect it), 1 and 2 output, 3 the answer or the dialogue with the other process.
"""

from __future__ import annotations

import atexit
import functools
import gc
import json
import os
import random
import sys
import threading
import traceback
import types
from typing import Any

from rla_envs.sandbox.inside import values

ANSWER_FD = 3


def _open_streams() -> None:
    """Make the standard streams anew: those of the zygote were made for its own pipes."""
    utf8 = functools.partial(open, encoding="utf-8", closefd=False)
    sys.stdin = utf8(0)
    sys.stdout = utf8(1, "w", newline="\n")
    sys.stderr = utf8(2, "w", buffering=1, errors="backslashreplace")
    for name in ("stdin", "stdout", "stderr"):
        setattr(sys, f"__{name}__", getattr(sys, name))


def run_program(source: str) -> int:
    """Run source as ``__main__`` and return the exit code, as the interpreter would."""
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = main
    sys.argv = ["solution.py"]
    code = 0
    try:
        exec(compile(source, "solution.py", "exec", dont_inherit=True), main.__dict__)
    except SystemExit as exit_:
        code = _exit_code(exit_)
    except BaseException:
        print_exception()
        code = 1
    return _finish(code)


def _finish(code: int) -> int:
    try:
        threading._shutdown()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
    except BaseException:
        print_exception()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except ValueError:
            pass  # closed by the program, and flushed then
        except (OSError, AttributeError):
            code = code or 120
    return code


def _exit_code(exit_: SystemExit) -> int:
    if exit_.code is None:
        return 0
    if isinstance(exit_.code, int):
        return exit_.code & 0xFF
    print(exit_.code, file=sys.stderr)
    return 1


def print_exception() -> None:
    """Print the traceback without the frames of this file."""
    kind, error, trace = sys.exc_info()
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith("<cell>"):
        trace = trace.tb_next
    try:
        traceback.print_exception(kind, error, trace, limit=-20)
    except BaseException:
        os.write(2, b"MemoryError\n" if kind is MemoryError else b"exception without a message\n")


def load(source: str, name: str = "solution") -> types.ModuleType:
    """Run source as the module ``solution`` and return it."""
    module = types.ModuleType(name)
    module.__dict__["__builtins__"] = __builtins__
    sys.modules[name] = module
    sys.argv = ["solution.py"]
    exec(compile(source, "solution.py", "exec", dont_inherit=True), module.__dict__)
    return module


def run_call(task: dict[str, Any]) -> int:
    """Call one function or method and write its encoded value to the answer file."""
    args = values.decode(task["args"])
    try:
        module = load(task["source"])
        owner: Any = module.__dict__["Solution"]() if task["method"] else module
        value = getattr(owner, task["function"])(*args)
        answer = {"value": values.encode(value), "repr": _repr(value)}
    except values.NotPlain as error:
        answer = {"error": str(error)}
    except SystemExit as exit_:
        answer = {"error": f"SystemExit: {exit_.code}"}
    except BaseException:
        print_exception()
        return _finish(1)
    with open(ANSWER_FD, "w", closefd=False) as file:
        json.dump(answer, file)
    return 0


def _repr(value: Any) -> str:
    try:
        return repr(value)[:2000]
    except Exception as error:
        return f"<repr raised {type(error).__name__}>"


def main(task_bytes: bytes) -> int:
    """Run the task that the supervisor sent and return the exit code."""
    gc.enable()
    _open_streams()
    random.seed(0)  # One program, one result: cells must not differ in what they inherited.
    task: dict[str, Any] = json.loads(task_bytes)
    if task["kind"] == "stdio":
        return run_program(task["source"])
    if task["kind"] == "call":
        return run_call(task)
    from rla_envs.sandbox.inside import examiner

    if task["kind"] == "serve":
        return examiner.serve(task["source"])
    return examiner.examine(task["code"], task["entry"])
