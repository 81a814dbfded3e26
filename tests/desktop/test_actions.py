"""What an agent may say, and what it means."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rla_envs.osworld.actions import Action, NotUnderstood, parse
from rla_envs.osworld.actions.keys import KEYSYMS, chord, key_name

SIZE = (1280, 720)


def one(text: str, **options) -> Action:
    (action,) = parse(text, SIZE, **options)
    return action


def qwen(**arguments) -> str:
    call = json.dumps({"name": "computer_use", "arguments": arguments})
    return f"<tool_call>\n{call}\n</tool_call>"


def test_words_end_or_pause_an_episode():
    assert one("DONE") == Action(kind="done")
    assert one("```FAIL```") == Action(kind="fail")
    assert one("```\nwait\n```") == Action(kind="wait", seconds=2.0)


def test_an_ending_stands_alone():
    with pytest.raises(NotUnderstood, match="stand alone"):
        parse("pyautogui.click(1, 2)\nDONE", SIZE)


@pytest.mark.parametrize(
    ("code", "action"),
    [
        ("pyautogui.click(10, 20)", Action(kind="click", x=10, y=20)),
        ("pyautogui.click((10, 20))", Action(kind="click", x=10, y=20)),
        ("pyautogui.click(x=10, y=20, clicks=3, button='right')",
         Action(kind="click", x=10, y=20, times=3, button=3)),
        ("pyautogui.click()", Action(kind="click")),
        ("pyautogui.tripleClick(1.6, 2)", Action(kind="click", x=2, y=2, times=3)),
        ("pyautogui.rightClick(5, 6, duration=0.5)", Action(kind="click", x=5, y=6, button=3)),
        ("pyautogui.moveTo(3, 4)", Action(kind="move", x=3, y=4)),
        ("pyautogui.move(-3, 4)", Action(kind="move_by", dx=-3, dy=4)),
        ("pyautogui.dragTo(3, 4, button='left')", Action(kind="drag", x=3, y=4)),
        ("pyautogui.dragRel(30, 0)", Action(kind="drag_by", dx=30)),
        ("pyautogui.mouseDown(button='middle')", Action(kind="mouse_down", button=2)),
        ("pyautogui.scroll(-5, x=1, y=2)", Action(kind="scroll", x=1, y=2, dy=-5)),
        ("pyautogui.hscroll(2)", Action(kind="scroll", dx=2)),
        ("pyautogui.typewrite('a<b\\n', interval=0.1)", Action(kind="type", text="a<b\n")),
        ("pyautogui.press('pagedown', presses=2)",
         Action(kind="press", keys=("pagedown",), times=2)),
        ("pyautogui.hotkey('ctrl', 'shift', 'S')",
         Action(kind="press", keys=("ctrl", "shift", "s"))),
        ("pyautogui.keyDown('shift')", Action(kind="key_down", keys=("shift",))),
        ("time.sleep(3600)", Action(kind="wait", seconds=10.0)),
        ("pyperclip.copy('日本')", Action(kind="copy", text="日本")),
    ],
)  # fmt: skip
def test_pyautogui_call(code, action):
    assert one(code) == action
    assert one(f"Thought: now.\n```python\nimport pyautogui\n{code}\n```") == action


def test_names_arithmetic_and_loops_of_a_snippet():
    code = (
        "import time\nimport pyautogui as pg\nx, y = 100, 2 * 50\n"
        "for row in range(2):\n    pg.click(x, y + 10 * row)\n    time.sleep(0.5)\n"
        "with pg.hold('shift'):\n    pg.press(['left', 'up'])"
    )
    said = [action.describe() for action in parse(code, SIZE)]
    assert said == [
        "click (100, 100)", "wait 0.5 s", "click (100, 110)", "wait 0.5 s",
        "key down shift", "press left", "press up", "key up shift",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "code",
    [
        "__import__('os').system('touch /tmp/x')",
        "import os",
        "exec('1')",
        "open('/etc/passwd').read()",
        "pyautogui.__class__",
        "pyautogui.screenshot('/tmp/x.png')",
        "pyautogui.alert('x')",
        "pyautogui.click(*open('x'))",
        "pyautogui.write('a' * 10**9)",
        "x = 9\nfor i in range(99):\n    x = x * x\npyautogui.click(x, 1)",
        "for i in range(10**9):\n    pass",
        "while True:\n    pyautogui.click()",
        "lambda: 1",
        "pyautogui.click(x=1)",
        "pyautogui.click(5000, 10)",
        "pyautogui.click(True, False)",
        "pyautogui.click(1, 2, colour='red')",
        "pyautogui.press('anykey')",
        "pyautogui.press('a', presses=10**6)",
        "pyautogui.hotkey()",
        "f" * 10**5,
        "(" * 5000,
        "",
        "I would click on the button.",
    ],
)
def test_anything_else_is_refused_with_a_reason(code):
    with pytest.raises(NotUnderstood) as error:
        parse(code, SIZE)
    assert 0 < len(str(error.value)) < 1000


@given(st.text(max_size=200))
@settings(max_examples=200, deadline=None)
def test_no_text_breaks_the_parser(text):
    for code in (text, f"pyautogui.{text}", f"```python\n{text}\n```", f'{{"action": {text}}}'):
        with suppress(NotUnderstood):
            assert parse(code, SIZE)


@given(st.text(min_size=1, max_size=50))
@settings(max_examples=100, deadline=None)
def test_every_text_can_be_typed(text):
    assert one(f"pyautogui.write({text!r})").text == text
    assert one(qwen(action="type", text=text)).text == text


def test_grid_spans_the_screen():
    # 999 is the last pixel; 500 / 999 * 719 = 359.86.
    assert one(qwen(action="left_click", coordinate=[999, 500])) == Action(
        kind="click", x=1279, y=360
    )
    assert one(qwen(action="left_click", coordinate=[99, 50]), coordinates="pixels").x == 99
    assert one("pyautogui.click(999, 0)", coordinates="grid").x == 1279


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"action": "key", "keys": ["ctrl", "s"]}, ["press ctrl+s"]),
        ({"action": "type", "text": "é"}, ["type 'é'"]),
        ({"action": "mouse_move", "coordinate": [0, 0]}, ["move (0, 0)"]),
        ({"action": "left_click_drag", "coordinate": [0, 999]}, ["drag (0, 719)"]),
        ({"action": "double_click", "coordinate": [0, 0]}, ["click (0, 0) x2"]),
        ({"action": "scroll", "pixels": -500}, ["scroll +0, -5"]),
        ({"action": "scroll", "pixels": 3}, ["scroll +0, +3"]),
        ({"action": "hscroll", "pixels": 200}, ["scroll +2, +0"]),
        ({"action": "wait", "time": 1}, ["wait 1 s"]),
        ({"action": "terminate", "status": "success"}, ["done"]),
        ({"action": "terminate", "status": "failure"}, ["fail"]),
    ],
)
def test_qwen_computer_use(arguments, said):
    assert [action.describe() for action in parse(qwen(**arguments), SIZE)] == said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"action": "left_click", "coordinate": [7, 8], "text": "ctrl"},
         ["key down ctrl", "click (7, 8)", "key up ctrl"]),
        ({"action": "key", "text": "Page_Down"}, ["press pagedown"]),
        ({"action": "key", "text": "ctrl+shift+t"}, ["press ctrl+shift+t"]),
        ({"action": "left_click_drag", "start_coordinate": [1, 2], "coordinate": [3, 4]},
         ["move (1, 2)", "drag (3, 4)"]),
        ({"action": "scroll", "coordinate": [1, 2], "scroll_direction": "down",
          "scroll_amount": 4}, ["scroll +0, -4 (1, 2)"]),
        ({"action": "hold_key", "text": "shift", "duration": 1},
         ["key down shift", "wait 1 s", "key up shift"]),
        ({"action": "screenshot"}, ["wait 0 s"]),
    ],
)  # fmt: skip
def test_anthropic_computer(given, said):
    call = {"type": "tool_use", "id": "1", "name": "computer", "input": given}
    assert [action.describe() for action in parse(json.dumps(call), SIZE)] == said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"type": "click", "x": 1, "y": 2, "button": "right"}, ["right click (1, 2)"]),
        ({"type": "keypress", "keys": ["CTRL", "ENTER"]}, ["press ctrl+enter"]),
        ({"type": "scroll", "x": 1, "y": 2, "scroll_x": 0, "scroll_y": 300},
         ["scroll +0, -3 (1, 2)"]),
        ({"type": "drag", "path": [{"x": 1, "y": 2}, {"x": 3, "y": 4}]},
         ["mouse down (1, 2)", "move (3, 4)", "mouse up (3, 4)"]),
        ({"type": "type", "text": "a"}, ["type 'a'"]),
        ({"type": "wait"}, ["wait 2 s"]),
    ],
)  # fmt: skip
def test_openai_computer_call(given, said):
    call = {"type": "computer_call", "call_id": "1", "action": given}
    assert [action.describe() for action in parse(json.dumps(call), SIZE)] == said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"action_type": "CLICK", "x": 1, "y": 2, "num_clicks": 2}, "click (1, 2) x2"),
        ({"action_type": "CLICK", "parameters": {"button": "right"}}, "right click"),
        ({"action_type": "DRAG_TO", "parameters": {"x": 1, "y": 2}}, "drag (1, 2)"),
        ({"action_type": "SCROLL", "dx": 0, "dy": -3}, "scroll +0, -3"),
        ({"action_type": "TYPING", "text": "<"}, "type '<'"),
        ({"action_type": "PRESS", "key": "enter"}, "press enter"),
        ({"action_type": "HOTKEY", "keys": ["ctrl", "c"]}, "press ctrl+c"),
        ({"action_type": "WAIT"}, "wait 2 s"),
        ({"action_type": "FAIL"}, "fail"),
    ],
)
def test_computer_13(given, said):
    assert one(json.dumps(given)).describe() == said


@pytest.mark.parametrize(
    "call",
    [
        {"action": "fly"},
        {"action": "left_click", "coordinate": [1]},
        {"action": "left_click", "coordinate": ["a", "b"]},
        {"action": "key", "keys": [1]},
        {"action": "scroll", "scroll_direction": "in"},
        {"action_type": "MOVE_TO"},
        {"action_type": "TYPING"},
        {"name": "bash", "input": {"command": "ls"}},
        {"a": 1},
    ],
)
def test_wrong_tool_calls_are_refused(call):
    with pytest.raises(NotUnderstood):
        parse(json.dumps(call), SIZE)


def test_keys_have_one_name_each():
    assert [key_name(k) for k in ("Return", "Control_L", "Super_L", "Page_Up", "A", "\n")] == [
        "enter", "ctrl", "win", "pageup", "A", "enter",
    ]  # fmt: skip
    assert chord(["ctrl++"]) == ("ctrl", "+")
    assert all(key_name(name) == name for name in KEYSYMS)


def test_json_keeps_an_action():
    action = one("pyautogui.hotkey('ctrl', 'c')")
    assert Action(**{**action.as_json(), "keys": tuple(action.as_json()["keys"])}) == action
