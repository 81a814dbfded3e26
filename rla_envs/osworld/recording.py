"""An episode to look at: a GIF, a film, or a page with every screenshot, action and vote."""

from __future__ import annotations

import base64
import html
import io
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rla_envs.errors import ConfigError, MissingExtra
from rla_envs.types import Sign, Trajectory, Vote

CAPTION_HEIGHT = 28
STRIP_WIDTH = 640
"""Width of a screenshot on the page, in pixels."""
_COLOURS = {1: "#3f9d5a", -1: "#c4504b", 0: "#7a828c"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """What the screen showed after a step.

    Attributes:
        image: The screen, uint8 [height, width, 3], or the path of its PNG.
        action: What was done; "" for the first look.
        votes: The judge's votes on the step.
    """

    image: NDArray[np.uint8] | Path
    action: str = ""
    votes: tuple[Vote, ...] = ()


def shots_of(trajectory: Trajectory) -> list[Shot]:
    """Return the screenshots that a trajectory's steps kept, with actions and votes.

    Raises:
        ConfigError: it kept none: its environment was made without ``screenshots``.
    """
    shots = [
        Shot(image=Path(step.info["image"]), action=step.action, votes=step.votes)
        for step in trajectory.steps
        if "image" in step.info
    ]
    if not shots:
        raise ConfigError(
            f"the trajectory of {trajectory.task.id} kept no screenshots; make its environment "
            "with screenshots=FOLDER"
        )
    return shots


def save_episode(
    shots: Sequence[Shot],
    path: str | Path,
    *,
    title: str = "",
    outcome: Sign | None = None,
    seconds: float = 1.0,
) -> Path:
    """Write an episode to a file; its ending says as what: .gif, .mp4 or .html.

    Args:
        shots: What was seen and done, in order.
        path: The file; its folder is made.
        title: The task's instruction, for a page.
        outcome: How it ended, for a page; None when no verifier could tell.
        seconds: How long a picture stands, for a GIF or a film.

    Raises:
        ConfigError: there are no shots, or the ending is another.
        MissingExtra: Pillow is not installed, or ffmpeg for a film.
    """
    path = Path(path)
    if not shots:
        raise ConfigError("an episode without screenshots cannot be saved")
    if path.suffix not in (".gif", ".mp4", ".html"):
        raise ConfigError(f"an episode is saved as .gif, .mp4 or .html, not {path.suffix!r}")
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".html":
        path.write_text(_strip(shots, title, outcome), encoding="utf-8")
    elif path.suffix == ".gif":
        _gif(shots, path, seconds)
    else:
        _film(shots, path, seconds)
    return path


def _gif(shots: Sequence[Shot], path: Path, seconds: float) -> None:
    first, *rest = [_captioned(shot) for shot in shots]
    first.save(path, save_all=True, append_images=rest, duration=round(seconds * 1000), loop=0)


def _film(shots: Sequence[Shot], path: Path, seconds: float) -> None:
    if shutil.which("ffmpeg") is None:
        raise MissingExtra("an .mp4 needs ffmpeg: apt-get install ffmpeg, or save a .gif")
    with tempfile.TemporaryDirectory() as folder:
        for number, shot in enumerate(shots):
            _captioned(shot).save(f"{folder}/{number:05d}.png")
        line = ["ffmpeg", "-y", "-loglevel", "error", "-framerate", f"{1 / seconds:.6f}"]
        line += ["-i", f"{folder}/%05d.png", "-vf", "scale=trunc(iw/2)*2:trunc(ih/2)*2"]
        line += ["-r", "10", "-pix_fmt", "yuv420p", str(path)]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MissingExtra(f"ffmpeg could not write {path}: {done.stderr.strip()[-300:]}")


def _strip(shots: Sequence[Shot], title: str, outcome: Sign | None) -> str:
    ended = {1: "solved", -1: "not solved"}.get(outcome or 0, "not judged")
    rows = "".join(
        f"<figure><figcaption><b>{number}</b> <code>{html.escape(shot.action) or 'start'}</code>"
        f'{_badges(shot.votes)}</figcaption><img src="{_embedded(shot)}"></figure>'
        for number, shot in enumerate(shots)
    )
    return (
        '<!doctype html><meta charset="utf-8">'
        f"<title>{html.escape(title or 'Episode')}</title><style>"
        "body{font:15px/1.4 sans-serif;max-width:44rem;margin:2rem auto;color:#222}"
        "figure{margin:0 0 1.5rem}img{width:100%;border:1px solid #ccc}"
        "figcaption{margin-bottom:.3rem;white-space:pre-wrap}"
        ".vote{color:#fff;border-radius:.6rem;padding:0 .5rem;margin-left:.4rem}</style>"
        f"<h1>{html.escape(title or 'Episode')}</h1>"
        f'<p><span class="vote" style="background:{_COLOURS[outcome or 0]}">{ended}</span></p>'
        f"{rows}"
    )


def _badges(votes: Sequence[Vote]) -> str:
    return "".join(
        f'<span class="vote" style="background:{_COLOURS[vote.label or 0]}" '
        f'title="{html.escape(vote.rationale, quote=True)}">'
        f"{'?' if vote.label is None else f'{vote.label:+d}'}</span>"
        for vote in votes
    )


def _embedded(shot: Shot) -> str:
    image = _image(shot)
    if image.width > STRIP_WIDTH:
        image = image.resize((STRIP_WIDTH, image.height * STRIP_WIDTH // image.width))
    data = io.BytesIO()
    image.save(data, "JPEG", quality=85)
    return f"data:image/jpeg;base64,{base64.b64encode(data.getvalue()).decode()}"


def _captioned(shot: Shot) -> Any:
    """Return the picture with its action and votes in a line below."""
    pillow, draw = _pillow()
    image = _image(shot)
    page = pillow.new("RGB", (image.width, image.height + CAPTION_HEIGHT), "black")
    page.paste(image, (0, 0))
    labels = [vote.label for vote in shot.votes]
    pen = draw.Draw(page)
    line = " ".join(shot.action.split())[: image.width // 7 - 4 * len(labels)]
    # Pillow's own font has no more than Latin letters.
    line = line.encode("latin-1", "replace").decode("latin-1")
    pen.text((8, image.height + 8), line, fill="white")
    for place, label in enumerate(reversed(labels)):
        left = image.width - 24 * (place + 1)
        box = (left, image.height + 6, left + 16, image.height + 22)
        pen.ellipse(box, fill=_COLOURS[label or 0])
    return page


def _image(shot: Shot) -> Any:
    pillow, _ = _pillow()
    if isinstance(shot.image, Path):
        with pillow.open(shot.image) as image:
            return image.convert("RGB")
    return pillow.fromarray(shot.image)


def _pillow() -> tuple[Any, Any]:
    try:
        from PIL import Image, ImageDraw
    except ImportError:
        raise MissingExtra("recordings need Pillow: pip install 'rla-envs[osworld]'") from None
    return Image, ImageDraw
