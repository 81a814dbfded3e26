"""What a domain has to say about talking to models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rla_envs.types import Completion, Conversation, Step, Task, Trajectory, Vote


class Prompts(Protocol):
    """Turns episodes into conversations and completions into actions and votes."""

    def policy(
        self, task: Task, steps: Sequence[Step], observation: str, admissible: Sequence[str]
    ) -> Conversation:
        """Return the chat from which the policy chooses its next action."""
        ...

    def action(self, completion: Completion) -> str:
        """Return the action in a completion; whatever it says, an unusable one included."""
        ...

    def judge(self, trajectory: Trajectory, index: int) -> Conversation:
        """Return the chat that asks for a vote on step ``index``. It never shows the outcome."""
        ...

    def vote(self, completion: Completion) -> Vote:
        """Return the vote in a completion; label None when there is no verdict."""
        ...
