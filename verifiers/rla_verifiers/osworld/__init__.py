"""Ground truth on desktops: OSWorld's getters and metrics, as pure functions on files and text.

A metric gets what a getter found (text, JSON, a ``GuestFile``) and what the task file expects, and
returns a score in [0, 1]. What the agent did not do is a 0; what keeps a verifier from saying
anything is a ``VerifierError``, and the sample is masked.
"""

from __future__ import annotations

from rla_verifiers.osworld.evaluate import INFEASIBLE, METRICS, evaluate, unsupported
from rla_verifiers.osworld.getters import GETTERS
from rla_verifiers.osworld.guest import HOME, Guest, GuestFile

__all__ = [
    "GETTERS",
    "HOME",
    "INFEASIBLE",
    "METRICS",
    "Guest",
    "GuestFile",
    "evaluate",
    "unsupported",
]
