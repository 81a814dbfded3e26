"""Fixtures that find test data and keep torch on one thread."""

from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import Path

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")

REPOSITORY = Path(__file__).resolve().parent.parent


def absent(what: str) -> None:
    """Skip on a developer's machine, fail in CI, where everything must be there."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} is missing; CI must have it")
    pytest.skip(f"{what} is missing")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what runs programs where they have no cell to run in; CI must have one."""
    if shutil.which("bwrap") or os.environ.get("CI") == "true":
        return
    skip = pytest.mark.skip(reason="bubblewrap is missing (apt-get install bubblewrap)")
    for item in items:
        if "coding" in item.nodeid.lower():
            item.add_marker(skip)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of official data ($RLA_SHARED_DATA, or ../shared/data)."""
    folder = Path(os.environ.get("RLA_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        absent(f"official test data ({folder}; set RLA_SHARED_DATA)")
    return folder


@pytest.fixture(scope="session")
def official_root(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with official ALFWorld games in the official layout."""
    archive = shared_data / "alfworld" / "games.tar.xz"
    if not archive.is_file():
        absent(f"official ALFWorld games ({archive})")
    root = tmp_path_factory.mktemp("official")
    with tarfile.open(archive) as games:
        games.extractall(root, filter="data")
    return root
