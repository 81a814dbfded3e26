r"""Reading verdicts: free reasoning, then ``\boxed{+1}`` or ``\boxed{-1}`` (arXiv 2602.02488)."""

from __future__ import annotations

import re

from rla_envs.types import Completion, Vote

_BOXED = re.compile(r"\\boxed\s*\{\s*([^{}]*?)\s*\}")
_LABELS = {"+1": 1, "1": 1, "-1": -1, "\N{MINUS SIGN}1": -1}


def parse_vote(completion: Completion) -> Vote:
    """Return the vote of a judge's reply.

    The last boxed group counts. Anything but +1 or -1 in it, or no box at all, is no verdict (label
    None), never a guess. The rationale is the text before the last box, with blanks collapsed.
    """
    boxes = list(_BOXED.finditer(completion.text))
    if not boxes:
        return Vote(label=None, rationale=_collapse(completion.text), completion=completion)
    last = boxes[-1]
    label = _LABELS.get(last.group(1))
    rationale = _collapse(completion.text[: last.start()])
    return Vote(
        label=None if label is None else (1 if label > 0 else -1),
        rationale=rationale,
        completion=completion,
    )


def _collapse(text: str) -> str:
    return " ".join(text.split())
