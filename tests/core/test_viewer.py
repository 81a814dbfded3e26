"""The viewer answers on loopback, to who has the token, with escaped pages."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from rla_envs.errors import RunError
from rla_envs.viewer import Viewer

pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def viewer(example_run: Path) -> Iterator[Viewer]:
    viewer = Viewer(example_run)
    thread = threading.Thread(target=viewer.serve)
    thread.start()
    yield viewer
    viewer.stop()
    thread.join()
    viewer.close()


def get(
    viewer: Viewer, path: str, *, token: str | None = None, host: str | None = None
) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", viewer.port, timeout=30)
    headers = {"Host": host} if host else {}
    prefix = viewer.token if token is None else token
    connection.request("GET", f"/{prefix}/{path}", headers=headers)
    response = connection.getresponse()
    body = response.read().decode()
    assert "default-src 'none'" in (response.getheader("Content-Security-Policy") or "")
    connection.close()
    return response.status, body


def test_overview_lists_the_iterations_that_have_trajectories(viewer: Viewer) -> None:
    status, body = get(viewer, "")
    assert status == 200
    assert 'href="iteration?n=1"' in body
    assert 'href="iteration?n=20"' in body


@pytest.mark.parametrize("token", ["", "wrong", "ünïcödé".encode().decode("latin-1")])
def test_request_without_the_token_is_refused(viewer: Viewer, token: str) -> None:
    status, body = get(viewer, "", token=token.encode("ascii", "ignore").decode())
    assert status == 403
    assert "iteration" not in body
    assert viewer.token not in body


def test_request_under_a_foreign_host_name_is_refused(viewer: Viewer) -> None:
    assert get(viewer, "", host=f"evil.example:{viewer.port}")[0] == 403
    assert get(viewer, "", host=f"localhost:{viewer.port}")[0] == 200


def test_tokens_differ_from_server_to_server(example_run: Path, viewer: Viewer) -> None:
    other = Viewer(example_run)
    other.close()
    assert other.token != viewer.token
    assert len(other.token) >= 32


def test_groups_list_their_trajectories_and_say_how_many_were_won(viewer: Viewer) -> None:
    status, body = get(viewer, "iteration?n=20")
    assert status == 200
    assert body.count("2 of 3 won") == 3  # one of the four in each group is masked
    assert body.count(">on trial<") == 1
    assert "12 of 12 trajectories" in body


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("outcome=won", 6),
        ("outcome=masked", 3),
        ("task=train%2Fb", 4),
        ("outcome=won&task=none", 0),
    ],
)
def test_filters_choose_trajectories(viewer: Viewer, query: str, shown: int) -> None:
    assert f"{shown} of 12 trajectories" in get(viewer, f"iteration?n=20&{query}")[1]


def test_split_and_unanimous_trajectories_add_up_to_all(viewer: Viewer) -> None:
    counts = [
        int(
            get(viewer, f"iteration?n=20&votes={votes}")[1]
            .partition(" of 12 traj")[0]
            .split(">")[-1]
        )
        for votes in ("split", "unanimous")
    ]
    assert sum(counts) == 12


def test_trajectory_shows_steps_votes_and_labels_as_text(viewer: Viewer) -> None:
    status, body = get(viewer, "trajectory?n=20&g=0&k=1")
    assert status == 200
    for part in ("observation before", "observation after", "oracle: ", "was here before", "lost"):
        assert part in body
    assert "<script" not in body
    assert "<img" not in body
    assert "<script>alert('owned')</script>" in unescape(body)


def test_links_keep_the_filter(viewer: Viewer) -> None:
    body = get(viewer, "trajectory?n=20&g=0&k=2&outcome=won")[1]
    assert "trajectory 1 of 6" in body
    assert 'href="trajectory?n=20&amp;g=0&amp;k=3&amp;outcome=won">next' in body


@pytest.mark.parametrize(
    "path",
    [
        "iteration",
        "iteration?n=2",
        "iteration?n=-1",
        "iteration?n=99999999999999999999",
        "trajectory?n=20&g=9&k=0",
        "trajectory?n=20",
        "../config.json",
        "%2e%2e/config.json",
        "config.json",
    ],
)
def test_address_of_nothing_is_not_found(viewer: Viewer, path: str) -> None:
    assert get(viewer, path)[0] == 404


def test_query_is_not_echoed_unescaped(viewer: Viewer) -> None:
    body = get(viewer, "iteration?n=%3Cscript%3E&task=%22%3E%3Cscript%3E")[1]
    assert "<script" not in body


def test_taken_port_is_an_error_with_a_way_out(example_run: Path, viewer: Viewer) -> None:
    with pytest.raises(RunError, match="--port 0"):
        Viewer(example_run, port=viewer.port)
