"""Episodes as files to look at."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from rla_envs.errors import ConfigError
from rla_envs.osworld.recording import CAPTION_HEIGHT, Shot, save_episode, shots_of
from rla_envs.types import Completion, Step, Task, Trajectory, Vote

Image = pytest.importorskip("PIL.Image")

VOTES = (Vote(label=1, rationale="right <b>"), Vote(label=None, rationale=""))


def shots() -> list[Shot]:
    colours = np.zeros((3, 40, 60, 3), np.uint8)
    colours[0, ..., 0] = colours[1, ..., 1] = colours[2, ..., 2] = 200
    actions = ["", "type <é日>", "press ctrl+s"]
    return [
        Shot(image=image, action=action, votes=VOTES if action else ())
        for image, action in zip(colours, actions, strict=True)
    ]


def test_gif_has_a_picture_a_step_with_a_caption(tmp_path):
    with Image.open(save_episode(shots(), tmp_path / "a" / "x.gif", seconds=0.5)) as gif:
        assert gif.n_frames == 3
        assert gif.size == (60, 40 + CAPTION_HEIGHT)
        assert gif.info["duration"] == 500
        gif.seek(2)
        red, green, blue = gif.convert("RGB").getpixel((5, 5))
    assert blue > 150 > max(red, green)


def test_page_is_one_file_with_actions_and_votes(tmp_path):
    page = save_episode(shots(), tmp_path / "x.html", title="Save <it>", outcome=-1).read_text()
    assert page.count("<img") == page.count("data:image/jpeg") == 3
    assert "type &lt;é日&gt;" in page
    assert page.count(">+1<") == page.count(">?<") == 2
    assert "right &lt;b&gt;" in page
    assert "not solved" in page
    assert "http" not in page


def test_film(tmp_path):
    if shutil.which("ffmpeg") is None:
        pytest.skip("ffmpeg is missing")
    data = save_episode(shots(), tmp_path / "x.mp4").read_bytes()
    assert data[4:8] == b"ftyp"


def test_other_endings_and_empty_episodes_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"\.avi"):
        save_episode(shots(), tmp_path / "x.avi")
    with pytest.raises(ConfigError, match="without"):
        save_episode([], tmp_path / "x.gif")


def test_shots_of_a_trajectory_are_those_its_steps_kept(tmp_path):
    path = tmp_path / "1.png"
    Image.new("RGB", (60, 40)).save(path)
    step = Step(
        observation="",
        completion=Completion(text="done"),
        action="done",
        next_observation="",
        votes=VOTES,
        info={"image": str(path)},
    )
    task = Task(id="t", domain="osworld", instruction="", payload={})
    episode = Trajectory(
        task=task, steps=(step,), outcome=1, stop_reason="won", seed=0, policy_version=0
    )
    assert save_episode(shots_of(episode), tmp_path / "x.gif").stat().st_size > 0
    bare = Trajectory(task=task, steps=(), outcome=1, stop_reason="won", seed=0, policy_version=0)
    with pytest.raises(ConfigError, match="screenshots=FOLDER"):
        shots_of(bare)
