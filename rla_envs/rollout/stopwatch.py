"""Where the seconds of an iteration go."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import perf_counter


class Stopwatch:
    """Adds up wall-clock seconds under names.

    Args:
        clock: Returns seconds; injected so that tests can set the time.
    """

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self.seconds: dict[str, float] = {}

    @contextmanager
    def measure(self, name: str) -> Generator[None]:
        """Add the time spent in the block to ``seconds[name]``."""
        start = self._clock()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + self._clock() - start
