"""Conversations of the coding domain, in two sizes.

``ChatPrompts`` speak to an instruction-tuned LLM, which answers with a code block.
``CompactPrompts`` speak to a small word-level model, which answers with the bare program, or with a
test in the form "[1, 2] gives 3". The judge of this domain writes tests; it sees the problem and
nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Protocol

from rla_envs.prompts.parsing import parse_vote
from rla_envs.types import Completion, Conversation, Message, Step, Task, Trajectory, Vote

_BLOCK = re.compile(
    r"^[ \t]*```[ \t]*([A-Za-z0-9_+#-]*)[^\n`]*\n(.*?)^[ \t]*```[ \t]*$", re.MULTILINE | re.DOTALL
)
_SPLIT_OPERATOR = re.compile(r"([=!<>*/]) (?=[=*/])")


def code_blocks(text: str) -> list[str]:
    """Return the contents of the closed fenced code blocks of text, in order."""
    return [match[2] for match in _BLOCK.finditer(text.replace("\r\n", "\n") + "\n")]


def labelled_blocks(text: str) -> dict[str, str]:
    """Return label -> content of the closed fenced code blocks; the last of a label counts."""
    normal = text.replace("\r\n", "\n") + "\n"
    return {match[1].lower(): match[2] for match in _BLOCK.finditer(normal)}


def fenced(program: str, language: str = "python") -> str:
    """Return program in a code block: the form of an action."""
    return f"```{language}\n{program.rstrip()}\n```"


class TestPrompts(Protocol):
    """How a model is asked for a test."""

    def test(self, task: Task) -> Conversation:
        """Return the chat that asks for one test of task; it shows the problem and no program."""
        ...

    def written(self, completion: Completion, task: Task) -> str | None:
        """Return the test in a completion as source, None when there is none."""
        ...


class CompactPrompts:
    """Prompts of a few dozen words, for ``view="compact"`` and generated problems."""

    def policy(
        self, task: Task, steps: Sequence[Step], observation: str, admissible: Sequence[str]
    ) -> Conversation:
        """Return the observation alone."""
        del task, steps, admissible
        return (_user(f"{observation} | program"),)

    def action(self, completion: Completion) -> str:
        """Return the reply as a code block; operators that the tokenizer split are joined."""
        return fenced(join_operators(completion.text.strip()))

    def test(self, task: Task) -> Conversation:
        """Return the problem in a few words and the demand for a test."""
        return (_user(f"{task.payload.get('compact', task.instruction)} | test"),)

    def written(self, completion: Completion, task: Task) -> str | None:
        """Return "f([1, 2]) == 3" for "[1, 2] gives 3"; None without exactly one "gives"."""
        parts = completion.text.split(" gives ")
        if len(parts) != 2:
            return None
        name = task.payload.get("entry_point", "f")
        return f"{name}({parts[0].strip()}) == {parts[1].strip()}"

    def judge(self, trajectory: Trajectory, index: int) -> Conversation:
        """Return the same as ``test``: the judge of this domain writes tests."""
        del index
        return self.test(trajectory.task)

    def vote(self, completion: Completion) -> Vote:
        """Return the vote in the reply."""
        return parse_vote(completion)


class ChatPrompts:
    """Prompts for an instruction-tuned model, for ``view="full"``."""

    def policy(
        self, task: Task, steps: Sequence[Step], observation: str, admissible: Sequence[str]
    ) -> Conversation:
        """Return the problem, then each earlier answer with what came of it."""
        del task, admissible
        first = steps[0].observation if steps else observation
        messages = [_user(_text("coding_policy").format(statement=first))]
        for step in steps:
            messages += [_message("assistant", step.completion.text), _user(step.next_observation)]
        return tuple(messages)

    def action(self, completion: Completion) -> str:
        """Return the reply as it is; the environment takes its last code block."""
        return completion.text

    def test(self, task: Task) -> Conversation:
        """Return the demand for one test in a code block."""
        stdio = task.payload.get("kind") == "stdio"
        name = task.payload.get("entry_point") or "solution"
        text = _text("coding_test").format(
            statement=task.instruction,
            form="input, a line with three dashes, and the output" if stdio else "one assert",
            example="3\n1 2 3\n---\n6" if stdio else f"assert {name}(...) == ...",
        )
        return (_user(text),)

    def written(self, completion: Completion, task: Task) -> str | None:
        """Return the last code block."""
        del task
        blocks = code_blocks(completion.text)
        return blocks[-1] if blocks else None

    def judge(self, trajectory: Trajectory, index: int) -> Conversation:
        """Return the same as ``test``: the judge of this domain writes tests."""
        del index
        return self.test(trajectory.task)

    def vote(self, completion: Completion) -> Vote:
        """Return the vote in the reply."""
        return parse_vote(completion)


def join_operators(text: str) -> str:
    """Return text with "= =" and its like as one operator: a word-level tokenizer splits them.

    No Python program has two of these marks with a blank between them.
    """
    return _SPLIT_OPERATOR.sub(r"\1", text)


@cache
def _text(name: str) -> str:
    return (files("rla_envs.prompts") / f"{name}.md").read_text(encoding="utf-8")


def _user(content: str) -> Message:
    return _message("user", content)


def _message(role: str, content: str) -> Message:
    return {"role": role, "content": content}  # pyright: ignore[reportReturnType]
