"""Seeds derived from what they are for: no generator is carried along or restored."""

from __future__ import annotations

from hashlib import blake2b


def derive_seed(*parts: int | str) -> int:
    """Return a seed in [0, 2**63) that depends on every part and on nothing else.

    ``derive_seed(run, "episode", iteration, task_index)`` gives independent streams to independent
    purposes, and the same ones after a resume.
    """
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in parts)
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") >> 1
