"""From a test function full of asserts to one test script an assert."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from rla_envs.errors import TaskError

_MODULES = frozenset({"collections", "heapq", "itertools", "math", "random", "re", "sys"})


def split_check(source: str, *, entry_point: str, where: str) -> list[str]:
    """Return one script for every statement of ``check`` that asserts something.

    Each script has the statements before it that assert nothing, what stands around the function,
    and calls the program's entry point by its own name. A program passes all of them iff it passes
    the whole check, and how many it passes says how close it is. Statements that assert a constant
    are left out.

    Args:
        source: Python with a function ``check(candidate)``.
        entry_point: What the candidate is called in the program.
        where: For errors.

    Raises:
        TaskError: no such function, or nothing in it asserts anything.
    """
    try:
        module = ast.parse(source)
    except SyntaxError as error:
        raise TaskError(f"{where}: its tests are no Python: {error}") from error
    check = next(
        (n for n in module.body if isinstance(n, ast.FunctionDef) and n.name == "check"), None
    )
    if check is None:
        raise TaskError(f"{where}: its tests have no function check(candidate)")
    around = [node for node in module.body if node is not check and not _is_metadata(node)]
    given = check.args.args[0].arg if check.args.args else "candidate"
    start = ast.parse(f"{given} = {entry_point}").body if given != entry_point else []
    return _scripts([*around, *start], check.body, where)


def split_asserts(lines: Sequence[str], *, setup: str, where: str) -> list[str]:
    """Return one script a line of asserts, each after setup.

    Raises:
        TaskError: there is none.
    """
    scripts = [f"{setup}\n{line}".strip() for line in lines if line.strip()]
    if not scripts:
        raise TaskError(f"{where} has no asserts")
    return scripts


def missing_imports(code: str) -> str:
    """Return import lines for the standard modules that code uses but does not import.

    MBPP's published tests say ``math.isclose`` and import nothing.
    """
    tree = ast.parse(code)
    bound = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and _binds(n)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    used = {
        node.value.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    return "".join(f"import {name}\n" for name in sorted((used & _MODULES) - bound))


def _binds(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _scripts(before: Sequence[ast.stmt], body: Sequence[ast.stmt], where: str) -> list[str]:
    setup, scripts = list(before), list[str]()
    for statement in body:
        if not any(isinstance(node, ast.Assert) for node in ast.walk(statement)):
            setup.append(statement)
        elif not (isinstance(statement, ast.Assert) and isinstance(statement.test, ast.Constant)):
            scripts.append(ast.unparse(ast.Module(body=[*setup, statement], type_ignores=[])))
    if not scripts:
        raise TaskError(f"{where} asserts nothing")
    return scripts


def _is_metadata(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == "METADATA"
    )
