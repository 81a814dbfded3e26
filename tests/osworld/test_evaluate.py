"""Evaluators as a whole: getters, metrics, how scores are joined, what masks a sample."""

import json

import pytest
from rla_verifiers.osworld import evaluate, unsupported
from rla_verifiers.osworld.getters import GETTERS

from rla_envs.errors import TaskError, TaskUnavailable, VerifierError

from .verifier_files import ScriptedGuest, chrome, workbook


def exact(command, expected):
    return {
        "func": "exact_match",
        "result": {"type": "vm_command_line", "command": command, "shell": True},
        "expected": {"type": "rule", "rules": {"expected": expected}},
    }


def joined(conj, *parts):
    keys = ("func", "result", "expected")
    return {key: [part[key] for part in parts] for key in keys} | {"conj": conj}


def test_infeasible_tasks_want_to_be_given_up():
    guest = ScriptedGuest()
    assert evaluate({"func": "infeasible"}, guest, gave_up=True) == 1
    assert evaluate({"func": "infeasible"}, guest, gave_up=False) == 0


def test_giving_up_a_feasible_task_scores_zero_whatever_its_state():
    guest = ScriptedGuest(outputs={"x": "yes"})
    assert evaluate(exact("x", "yes"), guest, gave_up=False) == 1
    assert evaluate(exact("x", "yes"), guest, gave_up=True) == 0
    assert guest.commands == ["x"]


def test_and_needs_every_metric_and_or_takes_the_best():
    guest = ScriptedGuest(outputs={"x": "1", "y": "2"})
    parts = exact("x", "1"), exact("y", "1")
    assert evaluate(joined("and", *parts), guest, gave_up=False) == 0
    assert evaluate(joined("or", *parts), guest, gave_up=False) == 1
    assert evaluate(joined("and", parts[0], parts[0]), guest, gave_up=False) == 1


def test_holes_in_parallel_lists_are_allowed_and_other_lengths_are_not():
    evaluator = {
        "func": ["is_utc_0", "exact_match"],
        "result": [{"type": "vm_command_line", "command": "t", "shell": True}] * 2,
        "expected": [None, {"type": "rule", "rules": {"expected": "a\nb\nc\n(UTC, +0000)"}}],
    }
    guest = ScriptedGuest(outputs={"t": "a\nb\nc\n(UTC, +0000)"})
    assert evaluate(evaluator, guest, gave_up=False) == 1
    with pytest.raises(TaskError, match="parallel"):
        evaluate({**evaluator, "expected": [None]}, guest, gave_up=False)


def test_a_desktop_that_does_not_answer_masks_the_sample():
    with pytest.raises(VerifierError, match="vm_command_line"):
        evaluate(exact("gone", "1"), ScriptedGuest(), gave_up=False)


def test_a_metric_that_cannot_judge_masks_the_sample():
    vlc = {
        "func": "check_qt_max_volume",
        "result": {"type": "vlc_config", "dest": "vlcrc"},
        "expected": {"type": "rule", "rules": {"expected_qt_max_volume": 200}},
    }
    with pytest.raises(VerifierError, match="never run"):
        evaluate(vlc, ScriptedGuest(), gave_up=False)


def test_what_is_not_implemented_is_named():
    evaluator = {"func": "compare_epub", "result": {"type": "vm_file"}, "expected": {"type": "odd"}}
    assert unsupported(evaluator) == ["metric compare_epub", "getter odd"]
    assert unsupported({"func": "infeasible"}) == []
    with pytest.raises(TaskUnavailable, match="compare_epub"):
        evaluate(evaluator, ScriptedGuest(), gave_up=False)


def test_commands_without_a_shell_are_split_as_osworld_does():
    guest = ScriptedGuest(outputs={("gsettings", "get", "a b"): "1\n"})
    assert GETTERS["vm_command_line"](guest, {"command": "gsettings get 'a b'"}) == "1\n"
    assert GETTERS["vm_command_line"](guest, {"command": ["gsettings", "get", "a b"]}) == "1\n"


def test_files_that_were_not_made_are_none():
    guest = ScriptedGuest({"/home/user/a.txt": "hello"})
    one = GETTERS["vm_file"](guest, {"path": "/home/user/a.txt", "dest": "b.txt"})
    assert (one.name, one.text) == ("b.txt", "hello")
    assert GETTERS["vm_file"](guest, {"path": "/home/user/c", "dest": "c"}) is None
    both = {"path": ["~/a.txt", "~/c"], "dest": ["a.txt", "c"], "multi": True, "gives": [0, 1]}
    first, second = GETTERS["vm_file"](guest, both)
    assert first.text == "hello"
    assert second is None


def test_reference_files_come_from_the_assets():
    book = workbook([["n"], [1]])
    evaluator = {
        "func": "compare_table",
        "result": {"type": "vm_file", "path": "/home/user/a.xlsx", "dest": "a.xlsx"},
        "expected": {"type": "cloud_file", "path": "https://host/gold.xlsx", "dest": "gold.xlsx"},
        "options": {"rules": [{"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "EI0"}]},
    }
    guest = ScriptedGuest({"/home/user/a.xlsx": book.data}, assets={"gold.xlsx": book.data})
    assert evaluate(evaluator, guest, gave_up=False) == 1
    assert evaluate(evaluator, ScriptedGuest(assets={"gold.xlsx": book.data}), gave_up=False) == 0


def test_browser_preferences_and_their_defaults():
    fresh = ScriptedGuest()
    assert GETTERS["default_search_engine"](fresh, {}) == "Google"
    assert GETTERS["enable_do_not_track"](fresh, {}) == "false"
    assert GETTERS["data_delete_automacally"](fresh, {}) == "false"
    assert GETTERS["chrome_font_size"](fresh, {})["default_font_size"] == 16
    changed = chrome(
        {
            "default_search_provider_data": {"template_url_data": {"short_name": "Bing"}},
            "enable_do_not_track": True,
            "profile": {"name": "Thomas", "default_content_setting_values": {"cookies": 4}},
            "webkit": {"webprefs": {"default_font_size": 24}},
            "safebrowsing": {"enhanced": True},
        }
    )
    assert GETTERS["default_search_engine"](changed, {}) == "Bing"
    assert GETTERS["enable_do_not_track"](changed, {}) == "true"
    assert GETTERS["profile_name"](changed, {}) == "Thomas"
    assert GETTERS["data_delete_automacally"](changed, {}) == "true"
    assert GETTERS["chrome_font_size"](changed, {})["default_font_size"] == 24
    assert GETTERS["enable_safe_browsing"](changed, {}) == "true"


def test_bookmarks_by_folder_and_by_address():
    bar = [
        {"type": "folder", "name": "Favorites", "children": []},
        {"type": "url", "name": "x", "url": "https://x.org/"},
    ]
    guest = chrome(bookmarks={"bookmark_bar": {"children": bar}})

    def score(**rules):
        evaluator = {
            "func": "is_expected_bookmarks",
            "result": {"type": "bookmarks"},
            "expected": {"type": "rule", "rules": rules},
        }
        return evaluate(evaluator, guest, gave_up=False)

    assert score(type="bookmark_bar_folders_names", names=["Favorites"]) == 1
    assert score(type="bookmark_bar_folders_names", names=["Other"]) == 0
    assert score(type="bookmark_bar_websites_urls", urls=["https://x.org/"]) == 1
    guest = ScriptedGuest()
    assert score(type="bookmark_bar_folders_names", names=["Favorites"]) == 0


def test_the_address_bar_is_read_from_the_accessibility_tree():
    bar = '<entry name="Address and search bar">example.org/a</entry>'
    guest = ScriptedGuest(tree=f"<desktop-frame>{bar}</desktop-frame>")
    getter = GETTERS["active_url_from_accessTree"]
    assert getter(guest, {}) == "https://example.org/a"
    assert getter(guest, {"goto_prefix": "file://"}) == "file://example.org/a"
    assert getter(ScriptedGuest(), {}) is None


def test_every_official_evaluator_is_supported_or_named(shared_data):
    manifest = json.loads((shared_data / "osworld" / "MANIFEST.json").read_text())
    for entry in manifest["tasks"]:
        path = shared_data / "osworld" / entry["app"] / f"{entry['id']}.json"
        assert unsupported(json.loads(path.read_text())["evaluator"]) == []
