"""A space of Unicode strings that survives vector environments.

``gymnasium.spaces.Text`` refuses blanks, newlines and accents unless each character is listed, and
``AsyncVectorEnv`` decodes it once, before the first reset, when observations travel through shared
memory. ``Unicode`` holds any text, and importing this module registers it with Gymnasium's vector
functions, so that synchronous and asynchronous vector environments return equal strings.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from types import ModuleType
from typing import Any

import numpy as np
from gymnasium.spaces import Space, Tuple
from gymnasium.spaces.utils import is_space_dtype_shape_equiv
from gymnasium.vector.utils import (
    batch_differing_spaces,  # pyright: ignore[reportUnknownVariableType]
    create_empty_array,
    create_shared_memory,  # pyright: ignore[reportUnknownVariableType]
    read_from_shared_memory,
    write_to_shared_memory,
)

from rla_envs.errors import ConfigError

SAMPLE_ALPHABET = "abcdefghijklmnopqrstuvwxyz 0123456789.,:'-\n"
"""What ``sample`` draws from by default; membership is wider: any Unicode text."""

_BYTES_PER_CHARACTER = 4  # UTF-8 needs at most four.


class Unicode(Space[str]):
    r"""All strings of min_length to max_length Unicode characters.

    Lone surrogates are no members, because they are no text and no encoding carries them.

    Example:
        >>> from rla_envs.spaces import Unicode
        >>> space = Unicode(40, seed=0)
        >>> "You arrive at café 1. On it, you see a mug 1." in space
        False
        >>> "You arrive at café 1." in space
        True
        >>> space.sample() == Unicode(40, seed=0).sample()
        True
    """

    def __init__(
        self,
        max_length: int,
        *,
        min_length: int = 0,
        alphabet: str = SAMPLE_ALPHABET,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        """Make the space.

        Args:
            max_length: Longest member, in characters (code points).
            min_length: Shortest member, in characters.
            alphabet: Characters that ``sample`` draws from; says nothing about membership.
            seed: Seed or generator of ``sample``.

        Raises:
            ConfigError: the lengths contradict each other or the alphabet is empty.
        """
        if not 0 <= min_length <= max_length:
            raise ConfigError(
                "lengths must satisfy 0 <= min_length <= max_length, "
                f"got min_length={min_length}, max_length={max_length}"
            )
        if not alphabet or not _is_text(alphabet):
            raise ConfigError(f"alphabet must be non-empty Unicode text, got {alphabet!r}")
        self.min_length = int(min_length)
        self.max_length = int(max_length)
        self.alphabet = alphabet
        super().__init__(seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """Return False: text has no fixed-size array form."""
        return False

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str:
        """Return a string of uniform length with characters drawn uniformly from the alphabet.

        Raises:
            ConfigError: a mask or probability was given; neither has a meaning here.
        """
        if mask is not None or probability is not None:
            raise ConfigError("Unicode.sample takes neither mask nor probability; leave them None")
        length = int(self.np_random.integers(self.min_length, self.max_length + 1))
        drawn = self.np_random.integers(0, len(self.alphabet), size=length)
        return "".join(self.alphabet[i] for i in drawn)

    def contains(self, x: Any) -> bool:
        """Return whether x is a string of allowed length without lone surrogates."""
        return isinstance(x, str) and self.min_length <= len(x) <= self.max_length and _is_text(x)

    def to_jsonable(self, sample_n: Iterable[str]) -> list[str]:
        """Return the strings as a list."""
        return [str(text) for text in sample_n]

    def from_jsonable(self, sample_n: list[Any]) -> list[str]:
        """Return the strings that to_jsonable gave."""
        return [str(text) for text in sample_n]

    def __repr__(self) -> str:
        return f"Unicode({self.min_length}, {self.max_length})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Unicode)
            and self.min_length == other.min_length
            and self.max_length == other.max_length
            and self.alphabet == other.alphabet
        )

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # Mutable RNG inside, like all spaces.


class SharedTexts(Sequence[str]):
    """A live view of n strings that worker processes write; a deep copy of it is a plain tuple.

    ``AsyncVectorEnv`` reads shared memory once and hands out a deep copy of what it read after
    every step, so the reading has to happen at the time of the copy.
    """

    def __init__(self, space: Unicode, memory: tuple[Any, Any], n: int) -> None:
        self._stride = space.max_length * _BYTES_PER_CHARACTER
        self._memory = memory
        self._n = n

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self)[index]
        place = range(self._n)[int(index)]
        lengths, data = self._memory
        start = place * self._stride
        view = memoryview(data.get_obj()).cast("B")
        return bytes(view[start : start + lengths[place]]).decode("utf-8")

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(self._n))

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        return tuple(self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SharedTexts):
            return tuple(self) == tuple(other)
        return tuple(self) == other

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # It changes with every step.

    def __repr__(self) -> str:
        return f"SharedTexts({tuple(self)!r})"


def _is_text(value: str) -> bool:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


@batch_differing_spaces.register(Unicode)
def _batch_differing(spaces: Sequence[Unicode]) -> Tuple[Any]:
    return Tuple([deepcopy(space) for space in spaces], seed=deepcopy(spaces[0].np_random))


@is_space_dtype_shape_equiv.register(Unicode)
def _is_equivalent(space_1: Unicode, space_2: Space[Any]) -> bool:
    # The stride in shared memory follows from max_length, so it has to agree.
    return isinstance(space_2, Unicode) and space_1.max_length == space_2.max_length


@create_empty_array.register(Unicode)
def _create_empty(space: Unicode, n: int = 1, fn: Any = np.zeros) -> tuple[str, ...]:
    return (space.alphabet[0] * space.min_length,) * n


@create_shared_memory.register(Unicode)
def _create_shared(
    space: Unicode, n: int = 1, ctx: ModuleType = multiprocessing
) -> tuple[Any, Any]:
    stride = space.max_length * _BYTES_PER_CHARACTER
    return ctx.Array("i", n), ctx.Array("B", max(1, n * stride))


@read_from_shared_memory.register(Unicode)
def _read_shared(space: Unicode, shared_memory: tuple[Any, Any], n: int = 1) -> Any:
    return SharedTexts(space, shared_memory, n)


@write_to_shared_memory.register(Unicode)
def _write_shared(space: Unicode, index: int, value: str, shared_memory: tuple[Any, Any]) -> None:
    if value not in space:
        # Cut or mangled text would look like a valid observation.
        raise ConfigError(
            f"observation of {len(value)} characters is not in {space}; "
            "raise max_observation or use shared_memory=False"
        )
    lengths, data = shared_memory
    encoded = value.encode("utf-8")
    start = index * space.max_length * _BYTES_PER_CHARACTER
    memoryview(data.get_obj()).cast("B")[start : start + len(encoded)] = encoded
    lengths[index] = len(encoded)
