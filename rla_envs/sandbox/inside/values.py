"""Exact-typed values as JSON text: both sides of the cell wall speak it.

Encoding reads what an object really stores (``int.__add__(x, 0)``), never what its class claims, so
a subclass that equals everything arrives as the plain value it holds. Decoding builds nothing but
the literals listed in ``PLAIN``.
"""

# The objects that pass through here are of any type by nature.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

PLAIN = (type(None), bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset)
MAX_DEPTH = 200


class NotPlain(TypeError):
    """The object is no literal; the message names its type."""


def encode(value: Any, other: Callable[[Any], Any] | None = None) -> str:
    """Return value as text; ``other`` may return the tagged list of what is not plain.

    Raises:
        NotPlain: For other objects, cycles and nesting beyond 200.
    """
    return json.dumps(_pack(value, other, 0), separators=(",", ":"))


def decode(text: str, other: Callable[[list[Any]], Any] | None = None) -> Any:
    """Return the value; ``other`` is called with tagged lists that are not plain.

    Raises:
        NotPlain: If text is no encoding.
    """
    try:
        return _unpack(json.loads(text), other, 0)
    except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
        raise NotPlain(f"no encoded value: {error}") from None


def _pack(value: Any, other: Callable[[Any], Any] | None, depth: int) -> Any:
    kind = type(value)
    if value is None or kind is bool:
        return value
    if depth > MAX_DEPTH:
        raise NotPlain("nested too deeply")
    if kind is str:
        return value
    if kind is int:
        # Hexadecimal: decimal text is limited to 4,300 digits and takes quadratic time.
        return value if -(2**53) < value < 2**53 else ["i", hex(value)]
    if kind is float:
        return ["f", value.hex()]
    if kind is list:
        return ["l", *[_pack(item, other, depth + 1) for item in value]]
    if kind is tuple:
        return ["t", *[_pack(item, other, depth + 1) for item in value]]
    if kind is dict:
        return ["d", *[_pack(item, other, depth + 1) for pair in value.items() for item in pair]]
    if kind is set or kind is frozenset:
        items = [_pack(item, other, depth + 1) for item in value]
        return ["s" if kind is set else "z", *sorted(items, key=repr)]
    if kind is bytes:
        return ["b", value.hex()]
    if kind is complex:
        return ["c", value.real.hex(), value.imag.hex()]
    if other is not None:
        packed = other(value)
        if packed is not None:
            return packed
    return _pack_subclass(value, other, depth)


def _pack_subclass(value: Any, other: Callable[[Any], Any] | None, depth: int) -> Any:
    kind = type(value)
    for base, read in _STORED:
        if issubclass(kind, base):
            return _pack(read(value), other, depth)
    if kind.__module__ == "numpy" and hasattr(value, "tolist"):
        plain = value.tolist()
        if type(plain) in PLAIN:
            return _pack(plain, other, depth)
    raise NotPlain(f"{kind.__module__}.{kind.__qualname__} is no plain value")


_STORED: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (int, lambda x: int.__add__(x, 0)),
    (float, lambda x: float.__add__(x, 0.0)),
    (complex, lambda x: complex.__add__(x, 0j)),
    (str, lambda x: "".join(str.__iter__(x))),
    (bytes, lambda x: bytes(bytes.__iter__(x))),
    (bytearray, lambda x: bytes(bytearray.__iter__(x))),
    (list, lambda x: list(list.__iter__(x))),
    (tuple, lambda x: tuple(tuple.__iter__(x))),
    (dict, lambda x: dict(dict.items(x))),
    (set, lambda x: set(set.__iter__(x))),
    (frozenset, lambda x: frozenset(frozenset.__iter__(x))),
)


def _unpack(packed: Any, other: Callable[[list[Any]], Any] | None, depth: int) -> Any:
    if packed is None or type(packed) in (bool, int, str):
        return packed
    if type(packed) is not list or depth > MAX_DEPTH + 1:
        raise NotPlain(f"no encoded value: {str(packed)[:80]}")
    tag, *items = packed
    if tag in _SCALARS:
        return _SCALARS[tag](*items)
    if tag in _SEQUENCES:
        return _SEQUENCES[tag]([_unpack(item, other, depth + 1) for item in items])
    if tag == "d":
        flat = [_unpack(item, other, depth + 1) for item in items]
        return dict(zip(flat[::2], flat[1::2], strict=True))
    if other is not None:
        return other(packed)
    raise NotPlain(f"no encoded value: {str(packed)[:80]}")


_SCALARS: dict[Any, Callable[..., Any]] = {
    "i": lambda text: int(text, 16),
    "f": float.fromhex,
    "b": bytes.fromhex,
    "c": lambda real, imag: complex(float.fromhex(real), float.fromhex(imag)),
}
_SEQUENCES: dict[Any, Callable[[list[Any]], Any]] = {
    "l": list,
    "t": tuple,
    "s": set,
    "z": frozenset,
}
