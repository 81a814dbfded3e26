"""The applications that desktop tasks are about, each with what once went wrong in it."""

from __future__ import annotations

import io

import pytest

from rla_envs.osworld.actions import parse
from rla_envs.osworld.desktop.local import LocalDesktop

pytestmark = [pytest.mark.desktop, pytest.mark.slow]


def do(desktop: LocalDesktop, *lines: str) -> None:
    for line in lines:
        for action in parse(line, desktop.size):
            desktop.act(action)


def test_a_sheet_takes_keys_at_once_in_order_and_saves_without_a_question(desktop):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["Name", "Born"], ["Åsa", 1984], ["José", 1990]):
        book.active.append(row)
    data = io.BytesIO()
    book.save(data)
    desktop.write_file("/home/user/people.xlsx", data.getvalue())
    desktop.launch(["libreoffice", "--calc", "/home/user/people.xlsx"])
    do(
        desktop,
        "pyautogui.hotkey('ctrl', 'home')\npyautogui.press('right', presses=2)",
        "pyautogui.write('Âge <日本>\\n=2026-B2\\n=2026-B3\\n')",
        "pyautogui.hotkey('ctrl', 's')",
    )
    assert desktop.windows() == 1
    saved = desktop.read_file("/home/user/people.xlsx")
    assert saved is not None
    sheet = openpyxl.load_workbook(io.BytesIO(saved)).active
    assert [cell.value for cell in sheet["C"]] == ["Âge <日本>", "=2026-B2", "=2026-B3"]


def test_the_browser_starts_without_questions_and_ends_with_a_reset(desktop):
    desktop.launch(["google-chrome", "data:text/html,<title>T</title><input autofocus>"])
    do(desktop, "pyautogui.write('2 < 3 é 日')")
    texts = {node["text"] for node in desktop.a11y(seconds=20)["nodes"]}
    assert "2 < 3 é 日" in texts
    desktop.reset()
    assert desktop.windows() == 0
    assert desktop.run("pgrep -x chromium")[0] == 1


def test_the_player_opens_one_window(desktop):
    desktop.launch(["vlc"])
    assert desktop.windows() == 1
