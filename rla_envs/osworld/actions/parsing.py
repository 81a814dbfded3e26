"""From what an agent says to actions."""

from __future__ import annotations

import json
import re
from typing import Any, Literal, cast

from rla_envs.osworld.actions.action import ENDINGS, Action, NotUnderstood
from rla_envs.osworld.actions.computer_13 import read_computer_13
from rla_envs.osworld.actions.limits import MAX_ACTIONS, Frame
from rla_envs.osworld.actions.pyautogui_code import read_code
from rla_envs.osworld.actions.tool_calls import read_tool_call

Coordinates = Literal["own", "pixels", "grid"]

WAIT_SECONDS = 2.0
"""How long the bare word WAIT waits."""
_WORDS = ("WAIT", "DONE", "FAIL")
_FENCE = re.compile(r"```[ \t]*(?:[\w-]+[ \t]*\n|\n)?(.*?)```", re.DOTALL)
_TOOL_CALL = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|\Z)", re.DOTALL)


def parse(text: str, size: tuple[int, int], *, coordinates: Coordinates = "own") -> list[Action]:
    """Return the actions in a reply, in order; a word for the end of the episode stands alone.

    Understood are WAIT, DONE and FAIL; pyautogui code; OSWorld's computer_13 dictionaries; Qwen's
    ``computer_use``, Anthropic's ``computer`` and OpenAI's ``computer_call`` tool calls; each bare,
    in ``<tool_call>`` tags or in fenced blocks, of which all are read.

    Args:
        text: What the agent said.
        size: Width and height of the screen, in pixels.
        coordinates: "pixels", "grid" (0 to 999 on both axes), or "own": what the form of the
            action says (Qwen's is a grid, all others are pixels).

    Raises:
        NotUnderstood: there is no action in it, or one that is not allowed.
    """
    calls: list[str] = _TOOL_CALL.findall(text)
    pieces = calls or cast(list[str], _FENCE.findall(text)) or [text]
    actions = [
        action for piece in pieces if piece.strip() for action in _piece(piece, size, coordinates)
    ]
    if not actions:
        raise NotUnderstood("there is no action in this")
    if len(actions) > MAX_ACTIONS:
        raise NotUnderstood(f"at most {MAX_ACTIONS} actions at a time, got {len(actions)}")
    if len(actions) > 1 and any(action.kind in ENDINGS for action in actions):
        raise NotUnderstood("DONE and FAIL stand alone: act first, then say so")
    return actions


def _piece(piece: str, size: tuple[int, int], coordinates: Coordinates) -> list[Action]:
    code = piece.strip()
    word = code.strip("`'\". \n").upper()
    if word in _WORDS:
        if word == "WAIT":
            return [Action(kind="wait", seconds=WAIT_SECONDS)]
        return [Action(kind="done" if word == "DONE" else "fail")]
    if code.startswith(("{", "[")):
        return [action for call in _json(code) for action in _call(call, size, coordinates)]
    # A reply often ends with the word below its code.
    *lines, last = code.splitlines()
    if lines and last.strip() in _WORDS:
        return read_code("\n".join(lines), _frame(size, coordinates, grid=False)) + _piece(
            last, size, coordinates
        )
    return read_code(code, _frame(size, coordinates, grid=False))


def _call(call: dict[str, Any], size: tuple[int, int], coordinates: Coordinates) -> list[Action]:
    if "action_type" in call:
        return read_computer_13(call, _frame(size, coordinates, grid=False))
    # Of the tools whose name is known, only Qwen's points on a grid.
    qwen = call.get("name") == "computer_use"
    return read_tool_call(call, _frame(size, coordinates, grid=qwen))


def _frame(size: tuple[int, int], coordinates: Coordinates, *, grid: bool) -> Frame:
    return Frame(size=size, grid=grid if coordinates == "own" else coordinates == "grid")


def _json(text: str) -> list[dict[str, Any]]:
    """Return the objects of a JSON object, a list of them, or one after the other."""
    decoder, place = json.JSONDecoder(strict=False), 0
    found: list[Any] = []
    value: Any = None
    while place < len(text):
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            raise NotUnderstood(f"this is no JSON: {error}") from None
        found += cast(list[Any], value) if isinstance(value, list) else [value]
        place += len(text[place:]) - len(text[place:].lstrip(" \n\r\t,"))
    if not all(isinstance(value, dict) for value in found):
        raise NotUnderstood("an action in JSON is an object")
    return cast(list[dict[str, Any]], found)
