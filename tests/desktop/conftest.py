"""Desktops for tests; where their programs are missing the tests skip, and fail in CI."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from rla_envs.osworld.desktop.doctor import lacking, remedy
from rla_envs.osworld.desktop.local import LocalDesktop


@pytest.fixture(scope="session")
def local_desktops() -> None:
    """Skip if no desktop can start here."""
    if missing := lacking():
        message = f"a desktop is not possible here: {remedy(missing)}"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)


@pytest.fixture(scope="module")
def started(local_desktops: None) -> Iterator[LocalDesktop]:
    with LocalDesktop() as desktop:
        yield desktop


@pytest.fixture
def desktop(started: LocalDesktop) -> LocalDesktop:
    """Return a running desktop in its first state."""
    started.reset()
    return started
