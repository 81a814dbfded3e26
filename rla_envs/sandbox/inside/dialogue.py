"""Test code and program in two processes: calls go one way, plain values come back.

The program's side serves lines of JSON on its descriptor 3; the test's side sees the program's
names as ``Remote`` objects. What is not plain stays where it is and travels as a handle. A handle
never equals a plain value, whatever its class claims, and arguments that a function changed in
place are changed in the caller's process too.
"""

# The objects that pass through here are of any type by nature.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false

from __future__ import annotations

import builtins
import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

from rla_envs.sandbox.inside import library, values

_FD = 3


class Line:
    """One side of the conversation; either side may ask while it waits for an answer."""

    def __init__(self, answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        self._socket = socket.socket(fileno=_FD)
        self._reader = self._socket.makefile("rb")
        self._answer = answer

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send request and return the reply, answering questions meanwhile."""
        self.send(request)
        while True:
            message = self.receive()
            if "op" not in message:
                return message
            self.send(self._answer(message))

    def serve(self) -> None:
        """Answer until the other side is gone."""
        while True:
            try:
                message = self.receive()
            except EOFError:
                return
            self.send(self._answer(message))

    def send(self, message: dict[str, Any]) -> None:
        """Send one message."""
        try:
            self._socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            raise EOFError("the other process has ended") from None

    def receive(self) -> dict[str, Any]:
        """Return the next message; EOFError if the other side is gone or talks nonsense."""
        line = self._reader.readline(64 << 20)
        if not line.endswith(b"\n"):
            raise EOFError("the other process has ended")
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if type(message) is not dict:
            raise EOFError("the other process talks nonsense")
        return message


class Endpoint:
    """Handles of our objects, and stand-ins for theirs."""

    def __init__(self) -> None:
        self.line = Line(self.answer)
        self._objects: list[Any] = []

    def pack(self, value: Any) -> str:
        """Encode value; what is not plain becomes a handle."""
        return values.encode(value, self._handle)

    def unpack(self, text: str) -> Any:
        """Decode text; handles become Remote objects or our own."""
        return values.decode(text, self._resolve)

    def _handle(self, value: Any) -> Any:
        if type(value) is Remote:
            return ["theirs", object.__getattribute__(value, "_handle")]
        packed = library.pack(value)
        if packed is not None:
            return packed
        if isinstance(value, values.PLAIN):
            if type(value).__module__ != "solution":
                return None  # Counter, namedtuple, ...: what it stores says it all
            return [*self.publish(value), _stored(value)]
        return self.publish(value)

    def publish(self, value: Any) -> list[Any]:
        """Keep value here and return its handle."""
        self._objects.append(value)
        return ["mine", len(self._objects) - 1]

    def _resolve(self, packed: list[Any]) -> Any:
        if packed[0] == "mine":
            stored = values.decode(packed[2]) if len(packed) > 2 else NotImplemented
            return Remote(self, int(packed[1]), stored)
        if packed[0] == "theirs":
            return self._objects[int(packed[1])]
        return library.unpack(packed)

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """Do what the other side asks for; its errors travel back."""
        try:
            return self._do(message)
        except EOFError:
            raise
        except BaseException as error:
            return {"raised": _describe(error)}

    def _do(self, message: dict[str, Any]) -> dict[str, Any]:
        target = self._objects[message["target"]]
        args = [self.unpack(text) for text in message["args"]]
        keywords = {name: self.unpack(text) for name, text in message["keywords"].items()}
        before = [values.encode(arg) if type(arg) in _MUTABLE else None for arg in args]
        value = _operate(message["op"], target, args, keywords)
        changed: dict[int, str] = {}
        for index, (arg, old) in enumerate(zip(args, before, strict=True)):
            if old is not None and (new := self.pack(arg)) != old:
                changed[index] = new
        return {"value": self.pack(value), "changed": changed}

    def request(self, op: str, target: int, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Ask the other side to operate on its object ``target``; raises what it raised."""
        reply = self.line.ask(
            {
                "op": op,
                "target": target,
                "args": [self.pack(arg) for arg in args],
                "keywords": {name: self.pack(value) for name, value in keywords.items()},
            }
        )
        if "raised" in reply:
            raise _rebuild(reply["raised"])
        for index, text in reply["changed"].items():
            _change(args[int(index)], self.unpack(text))
        return self.unpack(reply["value"])


_MUTABLE = (list, dict, set)


def _stored(value: Any) -> str:
    try:
        return values.encode(value)
    except values.NotPlain:
        return values.encode(None)


def _change(old: Any, new: Any) -> None:
    if type(old) is not type(new):
        return
    if type(old) is list:
        old[:] = new
    elif type(old) in (dict, set):
        old.clear()
        old.update(new)


def _operate(op: str, target: Any, args: list[Any], keywords: dict[str, Any]) -> Any:
    if op == "call":
        return target(*args, **keywords)
    if op == "get":
        return getattr(target, args[0])
    if op == "set":
        return setattr(target, args[0], args[1])
    if op == "next":
        return next(target)
    if op == "isinstance":
        return isinstance(args[0], target)
    special = getattr(type(target), op, None)
    if special is None:
        raise TypeError(f"{type(target).__name__!r} object has no {op}")
    return special(target, *args)


_PLAIN_ERRORS = {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, BaseException)
}


def describe_type(kind: type[BaseException]) -> list[str]:
    """Return [its name, the name of the nearest builtin exception it derives from]."""
    names = [base.__name__ for base in kind.__mro__]
    return [names[0], next(name for name in names if name in _PLAIN_ERRORS)]


def _describe(error: BaseException) -> dict[str, Any]:
    name, known = describe_type(type(error))
    try:
        text, args = str(error), values.encode(error.args)
    except Exception:
        text, args = "", values.encode(())
    return {"type": name, "known": known, "text": text[:2000], "args": args}


class FromProgram:
    """Marks exceptions that came over the wall."""


_error_types: dict[tuple[str, str], type[BaseException]] = {}


def error_type(name: str, known: str) -> type[BaseException]:
    """Return our stand-in for a program's exception class that derives from builtin ``known``."""
    base = _PLAIN_ERRORS[known]
    if not issubclass(base, Exception):
        # SystemExit and KeyboardInterrupt of the program must not end the test's process.
        name, base = f"{name} in the program", RuntimeError
    key = name, base.__name__
    if key not in _error_types:
        _error_types[key] = type(name, (base, FromProgram), {"__module__": "solution"})  # pyright: ignore
    return _error_types[key]


def _rebuild(raised: dict[str, Any]) -> BaseException:
    kind = error_type(str(raised["type"]), str(raised["known"]))
    args = values.decode(raised["args"])
    try:
        return kind(*args)
    except TypeError:
        error = kind.__new__(kind)
        error.args = (raised["text"],)
        return error


class Remote:
    """An object that lives in the program's process."""

    def __init__(self, endpoint: Endpoint, handle: int, stored: Any) -> None:
        object.__setattr__(self, "_endpoint", endpoint)
        object.__setattr__(self, "_handle", handle)
        object.__setattr__(self, "_stored", stored)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Call it over there."""
        return _request(self, "call", args, keywords)

    def __getattr__(self, name: str) -> Any:
        return _request(self, "get", (name,), {})

    def __setattr__(self, name: str, value: Any) -> None:
        _request(self, "set", (name, value), {})

    def __iter__(self) -> Iterator[Any]:
        iterator = _request(self, "__iter__", (), {})
        return _Iterator(iterator) if type(iterator) is Remote else iter(iterator)

    def __next__(self) -> Any:
        """Return the next item of an iterator or generator of the program."""
        return _request(self, "next", (), {})

    def __eq__(self, other: object) -> bool:
        if type(other) is not Remote:
            return _truth(object.__getattribute__(self, "_stored") == other)
        return _truth(_request(self, "__eq__", (other,), {}))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(_request(self, "__hash__", (), {}))

    def __bool__(self) -> bool:
        try:
            return _truth(_request(self, "__bool__", (), {}))
        except TypeError:
            pass
        try:
            return bool(_request(self, "__len__", (), {}))
        except TypeError:
            return True

    def __str__(self) -> str:
        return str(_request(self, "__str__", (), {}))

    def __repr__(self) -> str:
        return str(_request(self, "__repr__", (), {}))

    def __instancecheck__(self, instance: Any) -> bool:
        return type(instance) is Remote and _truth(_request(self, "isinstance", (instance,), {}))


def _truth(value: Any) -> bool:
    return value is True


class _Iterator:
    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return _request(self._remote, "next", (), {})


def _request(remote: Remote, op: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    endpoint: Endpoint = object.__getattribute__(remote, "_endpoint")
    return endpoint.request(op, object.__getattribute__(remote, "_handle"), args, keywords)


def _operator(name: str) -> Callable[..., Any]:
    def method(self: Remote, *args: Any) -> Any:
        return _request(self, name, args, {})

    return method


for _name in (
    *("lt", "le", "gt", "ge", "len", "contains", "getitem", "setitem", "delitem", "abs", "neg"),
    *("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "floordiv", "mod", "pow", "and"),
    *("or", "xor", "int", "float", "index", "enter", "exit", "reversed", "invert", "pos"),
):
    setattr(Remote, f"__{_name}__", _operator(f"__{_name}__"))
