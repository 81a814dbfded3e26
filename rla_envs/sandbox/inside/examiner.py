"""The test's process of a ScriptTest: runs asserts, pytest-style functions and unittest classes.

The program's names are stand-ins (``dialogue.Remote``); the verdict is written to a file that the
program's process cannot reach.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import sys
import traceback
import types
import unittest
from collections.abc import Callable
from typing import Any

from rla_envs.sandbox.inside import dialogue, harness, pytest_like

VERDICT_FD = 4


def serve(source: str) -> int:
    """Load the program and answer the test's questions until it hangs up."""
    endpoint: dialogue.Endpoint | None = None
    try:
        module = harness.load(source)
    except BaseException as error:
        harness.print_exception()
        endpoint = dialogue.Endpoint()
        endpoint.line.send({"failed": f"{type(error).__name__}: {error}"[:2000]})
        return 1
    endpoint = dialogue.Endpoint()
    names: dict[str, Any] = {}
    for name, value in module.__dict__.items():
        if name.startswith("__") or isinstance(value, types.ModuleType):
            continue
        if isinstance(value, type) and issubclass(value, BaseException):
            names[name] = {"error": dialogue.describe_type(value)}
        else:
            names[name] = {"value": endpoint.pack(value)}
    endpoint.line.send({"names": names})
    with contextlib.suppress(EOFError):
        endpoint.line.serve()
    return 0


def examine(code: str, entry: str | None) -> int:
    """Run the test code against the other process and write the verdict; return the exit code."""
    try:
        tree = ast.parse(code, "test.py")
        compiled = compile(tree, "test.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError) as error:
        return _write("invalid", f"test code does not compile: {error}")
    if not _tests_something(tree):
        return _write("invalid", "test code tests nothing: no assert, test function or TestCase")
    endpoint = dialogue.Endpoint()
    try:
        hello = endpoint.line.receive()
    except EOFError:
        return _write("exception", "the program ended before it answered")
    if "names" not in hello:
        return _write("exception", str(hello.get("failed")))
    program = _program_names(hello["names"], endpoint)
    try:
        return _examine(compiled, entry, program)
    except AssertionError as error:
        return _write("wrong_answer", _report(error))
    except BaseException as error:
        return _write("exception", _report(error))


def _program_names(names: dict[str, Any], endpoint: dialogue.Endpoint) -> dict[str, Any]:
    return {
        name: dialogue.error_type(*item["error"])
        if "error" in item
        else endpoint.unpack(item["value"])
        for name, item in names.items()
    }


def _examine(code: types.CodeType, entry: str | None, program: dict[str, Any]) -> int:
    sys.modules["pytest"] = pytest_like.module()
    solution = types.ModuleType("solution")
    solution.__dict__.update(program)
    sys.modules["solution"] = solution
    module = types.ModuleType("test_solution")
    sys.modules["test_solution"] = module
    namespace = module.__dict__
    namespace["__builtins__"] = __builtins__
    namespace.update(program)
    exec(code, namespace)
    if entry is not None:
        if entry not in program:
            raise NameError(f"the program defines no {entry!r}")
        namespace["check"](program[entry])
    for name, value in list(namespace.items()):
        if name.startswith("test") and isinstance(value, types.FunctionType):
            pytest_like.run_function(value)
        elif isinstance(value, type) and issubclass(value, unittest.TestCase):
            _run_unittest(value)
        elif isinstance(value, type) and name.startswith("Test"):
            _run_class(value)
    return _write("passed", "")


def _run_class(kind: type) -> None:
    for name in [name for name in vars(kind) if name.startswith("test")]:
        instance = kind()
        _call_if_there(instance, "setup_method")
        pytest_like.run_function(getattr(instance, name))
        _call_if_there(instance, "teardown_method")


def _call_if_there(instance: Any, name: str) -> None:
    method: Callable[[], None] | None = getattr(instance, name, None)
    if method is not None:
        method()


def _run_unittest(kind: type[unittest.TestCase]) -> None:
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(kind)
    result = unittest.TestResult()
    suite.run(result)
    if result.failures:
        raise AssertionError(result.failures[0][1])
    if result.errors:
        raise RuntimeError(result.errors[0][1])


def _tests_something(tree: ast.Module) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert | ast.Raise):
            return True
        if isinstance(node, ast.Attribute) and node.attr.startswith(("assert", "raises", "fail")):
            return True
    return False


def _report(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith("<cell>"):
        trace = trace.tb_next
    try:
        return "".join(traceback.format_exception(type(error), error, trace, limit=-5))[-2000:]
    except Exception:
        return type(error).__name__


def _write(reason: str, detail: str) -> int:
    with open(VERDICT_FD, "w", closefd=False) as file:
        json.dump({"reason": reason, "detail": detail}, file)
    sys.stdout.flush()
    os._exit(0)
