"""Both backends, one sandbox each for the whole session."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rla_envs.errors import MissingExtra
from rla_envs.sandbox import DockerSandbox, LocalSandbox, SandboxError


def _absent(what: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what}; CI must have it")
    pytest.skip(what)


def _local(workers: int) -> LocalSandbox:
    if shutil.which("bwrap") is None:
        _absent("bubblewrap is missing (apt-get install bubblewrap)")
    return LocalSandbox(workers=workers)


def _docker(workers: int) -> DockerSandbox:
    try:
        return DockerSandbox(workers=workers)
    except (MissingExtra, SandboxError) as error:
        _absent(str(error))
        raise


MakeSandbox = Callable[[int], LocalSandbox | DockerSandbox]


@pytest.fixture(
    scope="session",
    params=[
        pytest.param(_local, id="local"),
        pytest.param(_docker, id="docker", marks=pytest.mark.docker),
    ],
)
def make_sandbox(request: pytest.FixtureRequest) -> MakeSandbox:
    """Return a function that makes a sandbox with so many cells."""
    return request.param


@pytest.fixture(scope="session")
def sandbox(make_sandbox: MakeSandbox) -> Iterator[LocalSandbox | DockerSandbox]:
    """Return a sandbox with two cells."""
    with make_sandbox(2) as sandbox:
        yield sandbox


@pytest.fixture
def one_cell(make_sandbox: MakeSandbox) -> Iterator[LocalSandbox | DockerSandbox]:
    """Return a fresh sandbox whose tests all run in the same cell, one after the other."""
    with make_sandbox(1) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def local() -> Iterator[LocalSandbox]:
    """Return a local sandbox, for what does not depend on the backend."""
    with _local(2) as sandbox:
        yield sandbox


def _family(pid: int) -> set[int]:
    family, grown = {pid}, True
    while grown:
        grown = False
        for folder in Path("/proc").iterdir():
            if not folder.name.isdecimal() or int(folder.name) in family:
                continue
            try:
                parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            if parent in family:
                family.add(int(folder.name))
                grown = True
    return family


@pytest.fixture(scope="session")
def family() -> Callable[[int], set[int]]:
    """Return a function from a process id to it and all its descendants, seen from outside."""
    return _family
