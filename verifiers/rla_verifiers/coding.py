"""Ground truth of programming problems: the tests decide, and mutants measure the tests."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from random import Random

from rla_envs.coding.grading import Grader
from rla_envs.coding.problem import problem_of
from rla_envs.prompts.coding import code_blocks
from rla_envs.types import Task


class TestsVerifier:
    """Says whether the last program that was submitted passes all ground-truth tests.

    Args:
        grader: Runs the programs.
    """

    __test__ = False

    def __init__(self, grader: Grader) -> None:
        self.grader = grader

    def verify(self, task: Task, actions: Sequence[str]) -> bool:
        """Return whether the last action with a program solves task.

        Raises:
            SandboxError: the sandbox failed, not the program.
        """
        programs = [block for action in actions for block in code_blocks(action)[-1:]]
        return bool(programs) and self.grader.grade(problem_of(task), programs[-1]).right


def expert_actions(task: Task) -> list[str]:
    """Return actions that solve task: its reference program, submitted.

    Raises:
        TaskError: the task has no reference program.
    """
    from rla_envs.errors import TaskError
    from rla_envs.prompts.coding import fenced

    problem = problem_of(task)
    if problem.reference is None:
        raise TaskError(f"task {task.id} has no reference program, so nothing is known to solve it")
    return [fenced(problem.reference, problem.language)]


def mutants(source: str, *, n: int, seed: int) -> list[str]:
    """Return up to n different programs that differ from source by one typical slip.

    Slips: another comparison, arithmetic or logical operator, a constant off by one, a condition
    turned round, an argument order changed, a returned value dropped. Some may still be right
    (equivalent mutants): run the ground-truth tests and keep those that fail.

    Args:
        source: A Python program.
        n: How many at most.
        seed: Of the choice among all slips.

    Raises:
        SyntaxError: source is no Python.
    """
    tree = ast.parse(source)
    original = ast.unparse(tree)
    found = dict.fromkeys(text for text in _all_slips(tree) if text != original)
    return sorted(Random(seed).sample(list(found), min(n, len(found))))


_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add,),
    ast.Div: (ast.FloorDiv,),
    ast.FloorDiv: (ast.Div,),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.BitXor: (ast.BitAnd,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}


def _all_slips(tree: ast.Module) -> Iterator[str]:
    places = [index for index, _ in enumerate(ast.walk(tree))]
    for index in places:
        node = _at(tree, index)
        for change in _changes(node):
            mutant = copy.deepcopy(tree)
            change(_at(mutant, index))
            yield ast.unparse(ast.fix_missing_locations(mutant))


def _at(tree: ast.AST, index: int) -> ast.AST:
    return next(node for place, node in enumerate(ast.walk(tree)) if place == index)


def _changes(node: ast.AST) -> Iterator[Callable[[ast.AST], None]]:
    """Yield functions that each make one slip in a node of this kind, in place."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            for other in _COMPARISONS.get(type(operator), ()):
                yield _setter("ops", [*node.ops[:place], other(), *node.ops[place + 1 :]])
    elif isinstance(node, ast.BinOp | ast.AugAssign):
        for other in _OPERATORS.get(type(node.op), ()):
            yield _setter("op", other())
    elif isinstance(node, ast.BoolOp):
        yield _setter("op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield _setter("value", not node.value)
        elif isinstance(node.value, int):
            yield _setter("value", node.value + 1)
            yield _setter("value", node.value - 1)
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        yield _setter("test", ast.UnaryOp(op=ast.Not(), operand=node.test))
    elif isinstance(node, ast.Call) and len(node.args) == 2:
        yield _setter("args", node.args[::-1])
    elif isinstance(node, ast.Return) and node.value is not None:
        yield _setter("value", ast.Constant(value=None))


def _setter(name: str, value: object) -> Callable[[ast.AST], None]:
    def change(node: ast.AST) -> None:
        setattr(node, name, copy.deepcopy(value))

    return change
