"""A real desktop: input, files, windows, resets, what it may reach."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from rla_envs.errors import ConfigError, DesktopError
from rla_envs.osworld.actions import Action, parse
from rla_envs.osworld.desktop.local import LocalDesktop

pytestmark = pytest.mark.desktop

NOTE = "/home/user/note.txt"


def do(desktop: LocalDesktop, *lines: str) -> None:
    for line in lines:
        for action in parse(line, desktop.size):
            desktop.act(action)


def edit(desktop: LocalDesktop, text: str = "") -> None:
    desktop.write_file(NOTE, text.encode())
    desktop.launch(["mousepad", "--disable-server", NOTE])


def saved(desktop: LocalDesktop) -> str:
    do(desktop, "pyautogui.hotkey('ctrl', 's')")
    return (desktop.read_file(NOTE) or b"").decode()


def running(desktop: LocalDesktop) -> set[str]:
    return set(desktop.run(["ps", "axo", "pid=,comm="])[1].splitlines()[:-1])


def test_typing_keeps_every_character(desktop):
    text = (
        "a<b>c \"d\" 'e' ~^`\\|{}[]#$%&*@! é ü ß ñ Ł Ж Ω — “q” 日本語 한국 😀🎉 \u200d👩 €\tx\nend"
    )
    # More characters than there are spare keys: some keys change their meaning in between.
    text += "\n" + "".join(chr(0x4E00 + 7 * n) for n in range(60))
    edit(desktop)
    do(desktop, f"pyautogui.write({text!r})")
    assert saved(desktop) == text


def test_actions_arrive_in_order(desktop):
    edit(desktop, "middle")
    do(
        desktop,
        "pyautogui.press('end')\npyautogui.write(' last')\npyautogui.hotkey('ctrl', 'home')",
        "pyautogui.write('First ')",
        "pyautogui.press('right', presses=3)\npyautogui.press('backspace')",
    )
    assert saved(desktop) == "First midle last"


def test_pointer_selects_copies_and_pastes(desktop):
    edit(desktop, "copy\n")
    node = next(n for n in desktop.a11y()["nodes"] if n["role"] == "text")
    x, y = node["box"][0] + 10, node["box"][1] + 10
    do(
        desktop,
        f"pyautogui.doubleClick({x}, {y})\npyautogui.hotkey('ctrl', 'c')",
        "pyautogui.hotkey('ctrl', 'end')\npyautogui.hotkey('ctrl', 'v')",
        "pyperclip.copy('日本')\npyautogui.hotkey('ctrl', 'v')",
        f"pyautogui.moveTo({x - 10}, {y})\npyautogui.dragRel(200, 0)",
        "pyautogui.write('X')",
    )
    assert saved(desktop) == "X\ncopy日本"
    assert desktop.cursor() == (x + 190, y)


def test_keys_are_held_until_let_go_and_a_reset_lets_go(desktop):
    edit(desktop)
    do(desktop, "pyautogui.keyDown('shift')\npyautogui.press('a')\npyautogui.keyUp('shift')")
    do(desktop, "pyautogui.press('b')\npyautogui.press('C')")
    assert saved(desktop) == "AbC"
    do(desktop, "pyautogui.keyDown('ctrl')\npyautogui.mouseDown()")
    desktop.reset()
    edit(desktop)
    do(desktop, "pyautogui.write('s')")
    assert saved(desktop) == "s"


def test_screenshot_is_the_screen_with_the_pointer(desktop):
    empty = desktop.screenshot()
    assert empty.shape == (720, 1280, 3)
    assert empty.dtype == np.uint8
    assert tuple(empty[5, 5]) == (0x2E, 0x5C, 0x6E)
    desktop.act(Action(kind="move", x=100, y=50))
    moved = desktop.screenshot()
    places = np.argwhere((moved != empty).any(axis=2))
    # Two pointers of a few pixels: the one that went and the one that came.
    assert {(y // 40, x // 40) for y, x in places} <= {(1, 2), (9, 16), (1, 3), (2, 2), (2, 3)} | {
        (9, 15), (8, 15), (8, 16)
    }  # fmt: skip
    assert desktop.cursor() == (100, 50)


def test_a_launched_window_is_drawn_and_takes_keys_at_once(desktop):
    edit(desktop)
    assert desktop.windows() == 1
    do(desktop, "pyautogui.write('x')")
    assert saved(desktop) == "x"


def test_accessibility_tree_within_a_budget(desktop):
    edit(desktop, "hello")
    tree = desktop.a11y()
    assert "note.txt" in tree["title"]
    assert tree["complete"]
    assert [n["text"] for n in tree["nodes"] if n["focused"]] == ["hello"]
    assert {"menu bar", "text"} <= {n["role"] for n in tree["nodes"]}
    small = desktop.a11y(nodes=3)
    assert not small["complete"]
    assert len(small["nodes"]) == 3
    assert desktop.a11y(seconds=0.0)["nodes"] == []


def test_a_window_that_hangs_hangs_nobody(desktop):
    edit(desktop)
    assert desktop.run("pkill -STOP mousepad")[0] == 0
    desktop.a11y(seconds=1.0)
    desktop.act(Action(kind="press", keys=("a",)))
    assert desktop.screenshot().any()
    desktop.reset()
    assert desktop.windows() == 0


def test_soft_reset_leaves_nothing_behind(desktop):
    before, processes = desktop.screenshot(), running(desktop)
    edit(desktop, "x")
    desktop.run("setsid nohup sleep 1000 >/dev/null 2>&1 & echo x > /tmp/x; mkdir -m 0 /tmp/locked")
    desktop.run("gsettings set org.gnome.desktop.interface text-scaling-factor 1.5")
    do(desktop, "pyautogui.write('é')", "pyperclip.copy('secret')", "pyautogui.moveTo(1, 1)")
    desktop.reset()
    assert desktop.windows() == 0
    assert desktop.read_file(NOTE) is None
    assert desktop.run("ls /tmp")[1] == ""
    assert running(desktop) == processes
    assert desktop.run("xclip -o -selection clipboard")[0] != 0
    scale = desktop.run("gsettings get org.gnome.desktop.interface text-scaling-factor")
    assert scale[1].strip() == "1.0"
    assert (desktop.screenshot() == before).all()


def test_commands(desktop):
    assert desktop.run("echo $HOME; echo err >&2; exit 3") == (3, "/home/user\n", "err\n")
    assert desktop.run(["printf", "%s", "a b"]) == (0, "a b", "")
    assert desktop.run(["no-such-program"])[0] == 127
    assert desktop.run("sleep 60", timeout_s=0.2)[0] == 124
    assert desktop.run("python -c 'print(1)'")[1] == "1\n"


def test_files_of_any_name_and_content(desktop):
    path, data = "/home/user/a b/Ü&?=#.bin", bytes(range(256)) * 5000
    desktop.write_file(path, data)
    assert desktop.read_file(path) == data
    assert desktop.read_file("/home/user/none") is None
    assert desktop.read_file("/home/user") is None


def test_a_program_without_a_window_is_not_waited_for(desktop):
    desktop.launch(["sh", "-c", "sleep 1000"])
    assert desktop.windows() == 0
    with pytest.raises(DesktopError, match="no-such-program"):
        desktop.launch(["no-such-program"])


def test_programs_see_no_network_and_no_files_of_the_owner(desktop):
    assert desktop.run("ls /root /work /var/lib/dpkg /etc/shadow")[1] == ""
    assert desktop.run("touch /usr/x; touch /etc/x; touch /x; ls /usr/x /etc/x /x")[1] == ""
    assert desktop.run("cat /proc/net/dev | grep -c :")[1].strip() == "1"
    assert desktop.run("id -un; cat /run/rla/shared/token")[1] == "user\n"


def test_the_server_answers_nobody_without_the_token(desktop):
    call = (
        'python3 -c "import socket; s = socket.socket(socket.AF_UNIX); '
        "s.connect('/run/rla/shared/socket'); "
        "s.sendall(b'POST /cursor HTTP/1.1\\r\\nContent-Length: 2\\r\\n\\r\\n[]'); "
        'print(s.recv(99).split()[1].decode())"'
    )
    # run() holds the server's lock; the refusal needs none.
    assert desktop.run(call, timeout_s=10)[1] == "401\n"


def test_a_size_is_checked_and_kept(local_desktops):
    with pytest.raises(ConfigError, match="100"):
        LocalDesktop((100, 100))
    with LocalDesktop((1024, 768)) as desktop:
        assert desktop.screenshot().shape == (768, 1024, 3)


def test_two_desktops_side_by_side_in_threads(local_desktops):
    texts = {}

    def play(word: str) -> None:
        with LocalDesktop() as desktop:
            edit(desktop)
            do(desktop, f"pyautogui.write({word!r})")
            texts[word] = saved(desktop)

    threads = [threading.Thread(target=play, args=(word,)) for word in ("left é", "right 日")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == {"left é": "left é", "right 日": "right 日"}
