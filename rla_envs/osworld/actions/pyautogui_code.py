"""pyautogui code, read as a syntax tree: calls with plain values, names, small arithmetic, loops.

Nothing is executed. What lies outside the list of calls is refused with a reason.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any, cast

from rla_envs.osworld.actions.action import Action, NotUnderstood
from rla_envs.osworld.actions.calls import call_action
from rla_envs.osworld.actions.limits import MAX_ACTIONS, MAX_TEXT, Frame

_MODULES = {"pyautogui", "time", "pyperclip"}
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda left, right: left / right,
    ast.FloorDiv: lambda left, right: left // right,
}
_LARGEST = 1e9


def read_code(code: str, frame: Frame) -> list[Action]:
    """Return the actions of a snippet.

    Raises:
        NotUnderstood: it is no Python, or does anything but to move mouse and keyboard.
    """
    if len(code) > 4 * MAX_TEXT:
        raise NotUnderstood(f"code of {len(code)} characters is too long, {4 * MAX_TEXT} are fine")
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotUnderstood(f"this is neither an action nor Python: {error}") from None
    reader = _Reader(frame)
    try:
        reader.block(tree.body)
    except RecursionError:
        raise NotUnderstood("this code is nested too deeply") from None
    return reader.actions


class _Reader:
    """Walks statements, keeping the names that were assigned and the actions found."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.actions: list[Action] = []
        self.names: dict[str, Any] = {}
        self.modules = {"pyautogui": "pyautogui", "time": "time", "pyperclip": "pyperclip"}

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)
            if len(self.actions) > MAX_ACTIONS:
                raise NotUnderstood(f"at most {MAX_ACTIONS} actions at a time")

    def statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Import(names=names):
                for alias in names:
                    if alias.name not in _MODULES:
                        raise NotUnderstood(f"{alias.name} cannot be imported")
                    self.modules[alias.asname or alias.name] = alias.name
            case ast.ImportFrom(module=module) if module in _MODULES:
                for alias in statement.names:
                    self.modules[alias.asname or alias.name] = f"{module}.{alias.name}"
            case ast.Expr(value=ast.Call()):
                self.call(cast(ast.Call, statement.value))
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Assign(targets=[target], value=value):
                self.assign(target, self.value(value))
            case ast.For(target=target, iter=values, orelse=[]):
                for value in self.items(values):
                    self.assign(target, value)
                    self.block(statement.body)
            case ast.With(items=[ast.withitem(context_expr=ast.Call() as held)]):
                self.hold(held, statement.body)
            case _:
                raise NotUnderstood(f"only calls are understood, not {_shown(statement)}")

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, ast.Tuple) and isinstance(value, (tuple, list)):
            values = cast(Sequence[Any], value)
            if len(values) != len(target.elts):
                raise NotUnderstood(f"{_shown(target)} and {value!r} differ in length")
            for part, one in zip(target.elts, values, strict=True):
                self.assign(part, one)
        else:
            raise NotUnderstood(f"nothing can be assigned to {_shown(target)}")

    def items(self, values: ast.expr) -> Sequence[Any]:
        match values:
            case ast.Call(func=ast.Name(id="range"), args=arguments, keywords=[]):
                bounds = [self.value(argument) for argument in arguments]
                if not 1 <= len(bounds) <= 3 or not all(type(b) is int for b in bounds):
                    raise NotUnderstood(f"{_shown(values)} is no range")
                if len(bounds) == 3 and bounds[2] == 0:
                    raise NotUnderstood("a range cannot have the step 0")
                found: Sequence[Any] = range(*bounds)
            case _:
                found = self.value(values)
                if not isinstance(found, (list, tuple, str)):
                    raise NotUnderstood(f"a loop over {_shown(values)} is not understood")
        # With MAX_ACTIONS checked after each statement, an empty loop must not run for long.
        if len(found) > MAX_ACTIONS:
            raise NotUnderstood(f"a loop runs {MAX_ACTIONS} times at most, not {len(found)}")
        return found

    def hold(self, held: ast.Call, body: Sequence[ast.stmt]) -> None:
        if self.function(held) != "pyautogui.hold":
            raise NotUnderstood(f"only pyautogui.hold can stand in with, not {_shown(held)}")
        given = [self.value(argument) for argument in held.args]
        keys = cast(list[Any], given[0]) if given and isinstance(given[0], list) else given
        for key in keys:
            self.actions += call_action("pyautogui.keyDown", [key], {}, self.frame)
        self.block(body)
        for key in reversed(keys):
            self.actions += call_action("pyautogui.keyUp", [key], {}, self.frame)

    def function(self, call: ast.Call) -> str:
        match call.func:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in self.modules:
                return f"{self.modules[module]}.{name}"
            case ast.Name(id=name) if name in self.modules:
                return self.modules[name]
            case _:
                raise NotUnderstood(f"only pyautogui calls are understood, not {_shown(call)}")

    def call(self, call: ast.Call) -> None:
        given: list[Any] = []
        for argument in call.args:
            if isinstance(argument, ast.Starred):
                given += self.value(argument.value)
            else:
                given.append(self.value(argument))
        named = {word.arg: self.value(word.value) for word in call.keywords if word.arg}
        if len(named) != len(call.keywords):
            raise NotUnderstood(f"** is not understood in {_shown(call)}")
        self.actions += call_action(self.function(call), given, named, self.frame)

    def value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value) if isinstance(value, (str, int, float)) or value is None:
                found: Any = value
            case ast.Name(id=name) if name in self.names:
                found = self.names[name]
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                values = [self.value(part) for part in parts]
                found = tuple(values) if isinstance(node, ast.Tuple) else values
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                found = -self.number(operand)
            case ast.BinOp(left=left, op=ast.Add(), right=right) if isinstance(
                self.value(left), str
            ):
                second = self.value(right)
                if not isinstance(second, str):
                    raise NotUnderstood(f"{_shown(node)} adds no text")
                found = self.value(left) + second
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                try:
                    found = _OPERATORS[type(op)](self.number(left), self.number(right))
                except ZeroDivisionError:
                    raise NotUnderstood(f"{_shown(node)} divides by zero") from None
            case ast.Subscript(value=whole, slice=place):
                values, index = self.value(whole), self.value(place)
                try:
                    found = values[index]
                except (TypeError, IndexError, KeyError):
                    raise NotUnderstood(f"{_shown(node)} is nothing") from None
            case _:
                raise NotUnderstood(f"plain values are understood, not {_shown(node)}")
        # Assignments in a loop could grow a number or a text without end.
        if isinstance(found, (int, float)) and not abs(found) <= _LARGEST:
            raise NotUnderstood(f"{_shown(node)} is too large")
        if isinstance(found, str) and len(found) > MAX_TEXT:
            raise NotUnderstood(f"at most {MAX_TEXT} characters are typed, got {len(found)}")
        return found

    def number(self, node: ast.expr) -> int | float:
        found = self.value(node)
        if isinstance(found, bool) or not isinstance(found, (int, float)):
            raise NotUnderstood(f"{_shown(node)} is no number")
        return found


def _shown(node: ast.AST) -> str:
    return repr(ast.unparse(node)[:80])
