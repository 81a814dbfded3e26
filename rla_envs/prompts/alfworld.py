"""ALFWorld's conversations, in two sizes.

``ChatPrompts`` speak to an instruction-tuned LLM: rules, history, admissible commands, a sentence
of reasoning. ``CompactPrompts`` speak to a small word-level model: the compact view of the
environment is the whole prompt, the reply is the bare command, and the judge sees before, action
and after, then answers with one short reason and a verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from rla_envs.prompts.parsing import parse_vote
from rla_envs.types import Completion, Conversation, Message, Step, Task, Trajectory, Vote


class CompactPrompts:
    """Prompts of a few dozen words, for ``view="compact"``."""

    def policy(
        self, task: Task, steps: Sequence[Step], observation: str, admissible: Sequence[str]
    ) -> Conversation:
        """Return the observation alone: the compact view carries the episode's memory."""
        del task, steps, admissible
        return (_user(observation),)

    def action(self, completion: Completion) -> str:
        """Return the reply as it is."""
        return completion.text.strip()

    def judge(self, trajectory: Trajectory, index: int) -> Conversation:
        """Return what was known before the step, the action, and what changed in what is known."""
        step = trajectory.steps[index]
        before = step.observation.split(" | ")
        changed = [part for part in step.next_observation.split(" | ") if part not in before]
        return (_user(f"{step.observation} | do : {step.action} | then | {' | '.join(changed)}"),)

    def vote(self, completion: Completion) -> Vote:
        """Return the vote in the reply."""
        return parse_vote(completion)


class ChatPrompts:
    """Prompts for an instruction-tuned model, for ``view="full"``.

    Args:
        history: How many earlier steps are shown; older ones are left out, the first observation
            never is.
    """

    def __init__(self, history: int = 20) -> None:
        self.history = history

    def policy(
        self, task: Task, steps: Sequence[Step], observation: str, admissible: Sequence[str]
    ) -> Conversation:
        """Return rules, the last steps as turns, the observation and the admissible commands."""
        first = steps[0].observation if steps else observation
        messages = [
            _message("system", _text("alfworld_policy").format(instruction=task.instruction))
        ]
        shown = steps[-self.history :] if self.history else ()
        if len(shown) < len(steps):
            messages += [_user(first), _message("assistant", "...")]
        for step in shown:
            messages += [_user(step.observation), _message("assistant", step.action)]
        commands = "\n".join(admissible)
        messages.append(_user(f"{observation}\n\nAdmissible commands:\n{commands}"))
        return tuple(messages)

    def action(self, completion: Completion) -> str:
        """Return the last line that is not blank, without quotes or a leading "Action:"."""
        lines = [line.strip() for line in completion.text.splitlines() if line.strip()]
        last = lines[-1] if lines else ""
        return last.removeprefix("Action:").strip(" `*\"'.>")

    def judge(self, trajectory: Trajectory, index: int) -> Conversation:
        """Return the published judge's view of the step: goal, history, choices, reply, result."""
        steps = trajectory.steps
        step = steps[index]
        before = "\n".join(
            f"> {past.action}\n{past.next_observation}"
            for past in steps[max(0, index - self.history) : index]
        )
        prompt = _text("alfworld_judge").format(
            instruction=trajectory.task.instruction,
            history=before or "(this is the first step)",
            observation=step.observation,
            admissible="\n".join(step.info.get("admissible_commands", ())),
            reply=step.completion.text or step.action,
            next_observation=step.next_observation,
        )
        return (_user(prompt),)

    def vote(self, completion: Completion) -> Vote:
        """Return the vote in the reply."""
        return parse_vote(completion)


@cache
def _text(name: str) -> str:
    return (files("rla_envs.prompts") / f"{name}.md").read_text(encoding="utf-8")


def _user(content: str) -> Message:
    return _message("user", content)


def _message(role: str, content: str) -> Message:
    return {"role": role, "content": content}  # pyright: ignore[reportReturnType]
