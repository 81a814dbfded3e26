"""HumanEval, MBPP and QuixBugs: functions with known solutions."""

from __future__ import annotations

import re
from typing import Any, cast

from rla_envs.coding.problem import Problem
from rla_envs.types import Task

from .asserts import missing_imports, split_asserts, split_check
from .records import Record, Root, field, first_places, read_records, task_from

_DEF = re.compile(r"^def\s+(\w+)\s*\(", re.MULTILINE)
_DOCSTRING = re.compile(r"\s*(\"\"\"|''')(.*?)\1", re.DOTALL)


def load_humaneval(*, root: Root = None, split: str = "test") -> list[Task]:
    """Return HumanEval (also HumanEval+ and EvoEval in the same fields), one script an assert.

    Args:
        root: The file, e.g. HumanEval.jsonl.gz, or its folder.
        split: "test", the only one.

    Raises:
        TaskUnavailable: no such file or split.
        TaskError: a record is malformed.
    """
    _only_test(split, "coding/humaneval")
    tasks: list[Task] = []
    for record in read_records(root, name="coding/humaneval"):
        where = str(field(record, "task_id", "a HumanEval record"))
        name = str(field(record, "entry_point", where))
        prompt = str(field(record, "prompt", where))
        tests = split_check(str(field(record, "test", where)), entry_point=name, where=where)
        solution = record.get("canonical_solution") or ""
        problem = Problem(
            kind="script",
            entry_point=name,
            # Whatever the prompt defines beside the function may be used by the tests.
            tests=tuple({"code": code} for code in tests),
            public=first_places(len(tests), 1),
            starter=prompt,
            reference=prompt + solution if solution.strip() else None,
            cpu_seconds=10.0,
        )
        said = f"Complete this Python function:\n```python\n{prompt.rstrip()}\n```"
        tasks.append(task_from(problem, task_id=where, instruction=said))
    return tasks


def load_mbpp(*, root: Root = None, split: str = "test") -> list[Task]:
    """Return MBPP: the published fields (text, code, test_list) or HumanEval's.

    In HumanEval's fields, prompt and solution of MBPP are indented differently; joined as they
    stand most are no Python. The docstring takes the solution's indentation here.

    Args:
        root: The file or its folder.
        split: "test", the only one.

    Raises:
        TaskUnavailable: no such file or split.
        TaskError: a record is malformed.
    """
    _only_test(split, "coding/mbpp")
    tasks: list[Task] = []
    for record in read_records(root, name="coding/mbpp"):
        where = str(record.get("task_id", record.get("id", "an MBPP record")))
        if "test_list" in record:
            tasks.append(_published_mbpp(record, where))
            continue
        name = str(field(record, "entry_point", where))
        prompt = str(field(record, "prompt", where))
        tests = split_check(str(field(record, "test", where)), entry_point=name, where=where)
        solution = str(record.get("canonical_solution") or "")
        problem = Problem(
            kind="script",
            entry_point=name,
            tests=tuple({"code": missing_imports(code) + code} for code in tests),
            public=first_places(len(tests), 1),
            starter=prompt,
            reference=join_solution(prompt, solution) if solution.strip() else None,
            # MbppEval/123 needs about 5 s of an idle core.
            cpu_seconds=30.0,
        )
        said = f"Complete this Python function:\n```python\n{prompt.rstrip()}\n```"
        tasks.append(task_from(problem, task_id=where, instruction=said))
    return tasks


def load_quixbugs(*, root: Root = None, split: str = "test") -> list[Task]:
    """Return QuixBugs: repair a program with one wrong line; its buggy version is the mutant.

    Args:
        root: The file (JSON lines with name, buggy, correct and cases) or its folder.
        split: "test", the only one.

    Raises:
        TaskUnavailable: no such file or split.
        TaskError: a record is malformed.
    """
    _only_test(split, "coding/quixbugs")
    return [_quixbug(record) for record in read_records(root, name="coding/quixbugs")]


def join_solution(prompt: str, solution: str) -> str:
    """Return prompt (signature and docstring) and solution as one program.

    The docstring is moved to the indentation of the solution's first line of code.
    """
    code = (line for line in solution.splitlines() if line.strip() and line.lstrip()[0] != "#")
    first = next(code, "")
    indent = first[: len(first) - len(first.lstrip())]
    found = _DOCSTRING.search(prompt)
    if found is None or not indent:
        return prompt + solution
    signature = prompt[: found.start()].rstrip()
    words = " ".join(found[2].split()).replace("\\", "\\\\")
    return f'{signature}\n{indent}"""{words}"""\n{solution}'


def _published_mbpp(record: Record, where: str) -> Task:
    code = str(record.get("code") or record.get("canonical_solution") or "").replace("\r\n", "\n")
    asserts = [str(line) for line in field(record, "test_list", where)]
    labels: Any = record.get("labels")
    inner: Record = cast("Record", labels) if isinstance(labels, dict) else {}
    setup = str(record.get("test_setup_code") or inner.get("test_setup_code") or "")
    tests = split_asserts(asserts, setup=setup, where=where)
    words = str(record.get("text") or record.get("prompt") or record.get("content") or "")
    names = _DEF.findall(code)
    called = next((name for name in names if f"{name}(" in asserts[0]), names[-1] if names else "")
    problem = Problem(
        kind="script",
        entry_point=called,
        tests=tuple({"code": test} for test in tests),
        public=first_places(len(tests), 1),
        reference=code or None,
        cpu_seconds=10.0,
    )
    said = f"{words}\nYour code should pass this test:\n{asserts[0]}"
    return task_from(problem, task_id=f"mbpp/{where}", instruction=said)


def _quixbug(record: Record) -> Task:
    name = str(field(record, "name", "a QuixBugs record"))
    buggy = str(field(record, "buggy", name)).strip()
    cases = field(record, "cases", name)
    tests = tuple(
        {
            "args": repr(tuple(cast("list[Any]", given) if isinstance(given, list) else [given])),
            "expected": repr(expected),
        }
        for given, expected in cases
    )
    problem = Problem(
        kind="call",
        entry_point=name,
        tests=tests,
        public=first_places(len(tests), 1),
        # Published cases are JSON: floats are rounded, and what generators yield is listed.
        checker={"name": "float", "tolerance": 1e-6} if name in _FLOATS else {"name": "exact"},
        starter=buggy + "\n",
        reference=str(field(record, "correct", name)).strip() + "\n",
        mutants=(buggy + "\n",),
        epilogue=_LIST.format(name=name) if name in _YIELDS else "",
        cpu_seconds=10.0,
    )
    said = (
        f"One line of this Python function is wrong. Repair it; keep the name `{name}`.\n"
        f"```python\n{buggy}\n```"
    )
    return task_from(problem, task_id=f"quixbugs/{name}", instruction=said)


_YIELDS = frozenset({"flatten", "kheapsort"})
_LIST = """
_{name} = {name}
def {name}(*arguments):
    return list(_{name}(*arguments))
"""
_FLOATS = frozenset({"sqrt", "rpn_eval"})


def _only_test(split: str, name: str) -> None:
    from rla_envs.errors import TaskUnavailable

    if split != "test":
        raise TaskUnavailable(f"{name} has the split 'test' only, got {split!r}")
