"""The desktop domain's conversations, in two sizes.

``ChatPrompts`` speak to a large model, with screenshots or with the accessibility view as text;
``CompactPrompts`` speak to a small word-level model: instruction and a summary of the active window
are the whole prompt, the reply is one short action.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from rla_envs.prompts.parsing import parse_vote
from rla_envs.types import Completion, Conversation, Message, Step, Task, Trajectory, Vote

IMAGE = "[screenshot "
"""How the last line of a text observation begins that names its screenshot."""

_FENCE = re.compile(r"```(?:\w*\n)?(.*?)```", re.DOTALL)
_KEYS = re.compile(r"\s*\+\s*")
_ELEMENT = re.compile(r'(\d+) ([a-z ]+?)(?: "([^"]*)")?(?:: (.*?))?( \*)?', re.DOTALL)


class CompactPrompts:
    """Prompts of a few dozen words, for ``observe="text"``."""

    def policy(
        self, task: Task, steps: Sequence[Step], observation: str, admissible: Sequence[str]
    ) -> Conversation:
        """Return the instruction, what the window holds, and the last actions."""
        del task, admissible
        done = " ; ".join(step.action for step in steps[-4:]) or "nothing"
        return (_user(f"{compact(observation)} | did : {done}"),)

    def action(self, completion: Completion) -> str:
        """Return the reply in the short form: a word-level model puts blanks around "+"."""
        text = completion.text.strip()
        return _KEYS.sub("+", text) if text.lower().startswith("press ") else text

    def judge(self, trajectory: Trajectory, index: int) -> Conversation:
        """Return what was seen, what was done before and now, and what is seen then."""
        steps = trajectory.steps
        before = " ; ".join(step.action for step in steps[max(0, index - 4) : index]) or "nothing"
        step = steps[index]
        seen, then = compact(step.observation), compact(step.next_observation)
        changed = "the same" if then == seen else then.partition(" | ")[2]
        return (_user(f"{seen} | did : {before} | do : {step.action} | then | {changed}"),)

    def vote(self, completion: Completion) -> Vote:
        """Return the vote in the reply."""
        return parse_vote(completion)


class ChatPrompts:
    """Prompts for a large model, with the last screenshots or with text only.

    Screenshots are those that the environment kept (``screenshots=``); an episode without them is
    shown as text.

    Args:
        history: How many earlier steps are told, as text.
        images: How many screenshots are shown, the present one included; 0 is text-only.
        elements: Whether the accessibility view is shown beside screenshots.
        size: Width and height of the screen, in pixels.
    """

    def __init__(
        self,
        *,
        history: int = 10,
        images: int = 3,
        elements: bool = False,
        size: tuple[int, int] = (1280, 720),
    ) -> None:
        self.history, self.images, self.elements, self.size = history, images, elements, size

    def policy(
        self, task: Task, steps: Sequence[Step], observation: str, admissible: Sequence[str]
    ) -> Conversation:
        """Return the rules, what was done, and the present screen."""
        del admissible
        width, height = self.size
        rules = _text("osworld_policy").format(
            view="" if self.images else " as a list of its elements",
            width=width,
            height=height,
            instruction=task.instruction,
        )
        told = _told(steps[-self.history :] if self.history else ())
        seen = [*(step.observation for step in steps), observation]
        return (
            {"role": "system", "content": rules},
            _user(
                f"Done so far:\n{told}\n\nThe screen now:\n{self._said(observation)}",
                self._images(seen),
            ),
        )

    def action(self, completion: Completion) -> str:
        """Return the last fenced block, or the last line that is not blank."""
        blocks: list[str] = _FENCE.findall(completion.text)
        if blocks:
            return blocks[-1].strip()
        lines = [line.strip() for line in completion.text.splitlines() if line.strip()]
        return lines[-1].removeprefix("Action:").strip(" `") if lines else ""

    def judge(self, trajectory: Trajectory, index: int) -> Conversation:
        """Return history as text, the last screenshots, the reply, and the screen that followed."""
        steps = trajectory.steps
        step = steps[index]
        prompt = _text("osworld_judge").format(
            instruction=trajectory.task.instruction,
            history=_told(steps[max(0, index - self.history) : index]),
            observation=self._said(step.observation),
            reply=step.completion.text or step.action,
            next_observation=self._said(step.next_observation),
        )
        seen = [*(past.observation for past in steps[: index + 1]), step.next_observation]
        return (_user(prompt, self._images(seen)),)

    def vote(self, completion: Completion) -> Vote:
        """Return the vote in the reply."""
        return parse_vote(completion)

    def _said(self, observation: str) -> str:
        """Return what is told of an observation in words."""
        text, path = split_image(observation)
        if self.images and path and not self.elements:
            return "(see the screenshot)"
        return text.partition("\n")[2]

    def _images(self, observations: Sequence[str]) -> list[str]:
        """Return the screenshots of the last observations, oldest first."""
        latest = observations[-self.images :] if self.images else ()
        return [path for _, path in map(split_image, latest) if path]


def split_image(observation: str) -> tuple[str, str | None]:
    """Return an observation without the line that names its screenshot, and the file's path."""
    text, found, path = observation.rpartition(IMAGE)
    return (text.rstrip("\n"), path.rstrip("]")) if found else (observation, None)


def compact(observation: str) -> str:
    """Return the first line and what the text elements and dialogs of the view say.

    Menus and buttons are left out, line ends become "/".
    """
    instruction, _, view = split_image(observation)[0].partition("\n")
    parts = [instruction]
    title, _, rest = view.partition("\n")
    if "(none)" in title:
        parts.append("no window")
    for line in re.split(r"\n(?=\d+ )", rest):
        found = _ELEMENT.fullmatch(line)
        if found and found[2] in ("text", "terminal", "entry", "label", "table cell") and found[4]:
            parts.append(" / ".join(found[4].split("\n")))
    return " | ".join(parts)


def _told(steps: Sequence[Step]) -> str:
    lines: list[str] = []
    for number, step in enumerate(steps, 1):
        reason = step.info.get("feedback_reason")
        failed = f" (not carried out: {reason})" if reason else ""
        lines.append(f"{number}. {step.action}{failed}")
    return "\n".join(lines) or "(nothing)"


@cache
def _text(name: str) -> str:
    return (files("rla_envs.prompts") / f"{name}.md").read_text(encoding="utf-8")


def _user(content: str, images: Sequence[str] = ()) -> Message:
    message: Message = {"role": "user", "content": content}
    if images:
        message["images"] = list(images)
    return message
