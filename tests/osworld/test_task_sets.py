"""Generated and official desktop tasks as data; no desktop is needed here."""

import json
from collections import Counter

import pytest
import rla_task_sets
from rla_task_sets.osworld import Assets, expert_actions
from rla_task_sets.osworld.assets import needed
from rla_task_sets.osworld.families import FAMILIES
from rla_task_sets.osworld.families.words import FILES, THINGS, pool
from rla_task_sets.osworld.files import file_bytes
from rla_task_sets.osworld.generated import make_task
from rla_task_sets.osworld.official import missing_parts, read_task

from rla_envs.errors import ConfigError, TaskError, TaskUnavailable


def generated(**options):
    return rla_task_sets.load("osworld/generated", **options)


def test_a_longer_list_begins_with_the_shorter_one():
    assert generated(n=12)[:5] == generated(n=5)
    assert generated(n=5, seed=1) != generated(n=5)


def test_families_take_turns_and_can_be_chosen():
    tasks = generated(n=2 * len(FAMILIES))
    assert set(Counter(task.payload["family"] for task in tasks).values()) == {2}
    assert {t.payload["family"] for t in generated(n=3, families=["terminal"])} == {"terminal"}
    with pytest.raises(ConfigError, match="families"):
        generated(families=["chess"])


def test_no_task_is_in_two_splits():
    seen = {}
    for split in ("train", "valid_seen", "valid_unseen"):
        for task in generated(n=80, split=split):
            key = json.dumps(task.payload["params"], sort_keys=True)
            assert seen.setdefault(key, split) == split


def test_unseen_words_are_kept_out_of_the_other_splits():
    assert not set(pool(THINGS, "train")) & set(pool(THINGS, "valid_unseen"))
    unseen = {f"{name}.txt" for name in pool(FILES, "valid_unseen")}
    for task in generated(n=40, families=["text_edit"]):
        assert task.payload["params"]["file"] not in unseen
    for task in generated(n=10, families=["text_edit"], split="valid_unseen"):
        assert task.payload["params"]["file"] in unseen


def test_every_task_is_complete_and_json():
    for task in generated(n=60):
        assert json.loads(json.dumps(task.payload)) == task.payload
        assert missing_parts(task) == []
        assert task.payload["goals"]
        assert expert_actions(task)[-1] == "done"
        assert task.difficulty == len(task.payload["expert"])
        for step in task.payload["config"]:
            if step["type"] == "write_file":
                assert file_bytes(step["parameters"])


def test_the_same_params_make_the_same_task():
    for task in generated(n=len(FAMILIES)):
        again = make_task(task.payload["family"], task.payload["params"], task_id=task.id)
        assert again == task


def test_params_that_describe_no_task_are_refused():
    params = {**generated(n=1, families=["text_edit"])[0].payload["params"]}
    with pytest.raises(TaskError, match="text_edit knows"):
        make_task("text_edit", {**params, "changes": [["shuffle", 0, "x"]]}, task_id="x")
    with pytest.raises(TaskError, match="no family"):
        make_task("chess", params, task_id="x")


def test_official_tasks_load_unchanged(shared_data):
    root = shared_data / "osworld"
    tasks = rla_task_sets.load("osworld/official", root=root)
    assert len(tasks) == 30
    for task in tasks:
        data = json.loads((root / f"{task.id}.json").read_text())
        assert task.payload == {"config": [], **data}
        assert task.instruction == data["instruction"]


def test_tiers_come_from_the_manifest(shared_data, tmp_path):
    root = shared_data / "osworld"
    sizes = {
        tier: len(rla_task_sets.load("osworld/official", root=root, tiers=[tier]))
        for tier in "ABCD"
    }
    assert sizes == {"A": 15, "B": 6, "C": 6, "D": 3}
    with pytest.raises(ConfigError, match="MANIFEST"):
        rla_task_sets.load("osworld/official", root=tmp_path, tiers=["A"])


def test_the_offline_tasks_need_nothing_that_is_not_here(shared_data):
    tasks = rla_task_sets.load("osworld/official", root=shared_data / "osworld", tiers="ABC")
    assert {task.id: missing_parts(task) for task in tasks if missing_parts(task)} == {}
    assert all(not needed(dict(task.payload)) for task in tasks)


def test_a_folder_without_tasks_is_unavailable(tmp_path, monkeypatch):
    monkeypatch.delenv("OSWORLD_DATA", raising=False)
    with pytest.raises(TaskUnavailable, match="evaluation_examples"):
        rla_task_sets.load("osworld/official")
    with pytest.raises(TaskUnavailable, match="no task files"):
        rla_task_sets.load("osworld/official", root=tmp_path)


def test_a_malformed_file_is_named(tmp_path):
    path = tmp_path / "os" / "x.json"
    path.parent.mkdir()
    path.write_text('{"instruction": "do it", "evaluator": {}}')
    with pytest.raises(TaskError, match=r"x\.json"):
        read_task(path)


def test_assets_are_found_by_task_by_name_and_by_address(tmp_path):
    (tmp_path / "t1").mkdir()
    (tmp_path / "t1" / "gold.xlsx").write_bytes(b"1")
    (tmp_path / "far.pdf").write_bytes(b"2")
    assets = Assets(tmp_path)
    assert assets.get("app/t1", "https://host/x", "gold.xlsx") == b"1"
    assert assets.get("app/t1", "https://host/a%20b/far.pdf", "other.pdf") == b"2"
    with pytest.raises(TaskUnavailable, match=r"gone\.pdf"):
        assets.get("app/t1", "https://host/x", "gone.pdf")


def test_an_asset_name_cannot_lead_out_of_the_cache(tmp_path):
    (tmp_path / "secret").write_bytes(b"s")
    (tmp_path / "cache").mkdir()
    with pytest.raises(TaskUnavailable):
        Assets(tmp_path / "cache").get("t", "https://host/x", "../secret")


def test_every_file_a_task_names_is_known_before_it_starts():
    payload = {
        "config": [
            {
                "type": "download",
                "parameters": {"files": [{"url": "https://h/a.xlsx", "path": "/home/user/b.xlsx"}]},
            }
        ],
        "evaluator": {
            "func": ["x", "y"],
            "expected": [
                {"type": "cloud_file", "path": "https://h/g.xlsx", "dest": "g.xlsx"},
                {"type": "cloud_file", "path": ["u", "v"], "dest": ["c", "d"], "multi": True},
            ],
        },
    }
    assert needed(payload) == [
        ("https://h/a.xlsx", "b.xlsx"),
        ("https://h/g.xlsx", "g.xlsx"),
        ("u", "c"),
        ("v", "d"),
    ]
