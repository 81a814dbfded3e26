"""The report is one self-contained file, right in its numbers, and deaf to what models wrote."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from rla_envs.errors import RunError
from rla_envs.report import write_report
from rla_envs.report.charts import judging, tasks, time
from rla_envs.report.lineage import changes
from rla_envs.report.page import escape
from rla_envs.report.plots import Chart, svg
from rla_envs.tracking import METRICS, RunFolder

pytest.importorskip("matplotlib")

VOID = {"meta", "img", "br", "input"}


@pytest.fixture(scope="session")
def runs() -> ModuleType:
    spec = spec_from_file_location("example_runs", Path(__file__).parent / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Tags(HTMLParser):
    """Collects elements and attributes, and fails on an element that is not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def parsed(html: str) -> Tags:
    tags = Tags()
    tags.feed(html)
    tags.close()
    assert tags.open == []
    return tags


@pytest.fixture(scope="module")
def report(example_run: Path) -> str:
    return write_report(example_run).read_text(encoding="utf-8")


def test_report_loads_nothing_and_runs_nothing(report: str) -> None:
    tags = parsed(report)
    assert not {"script", "img", "link", "iframe", "object"} & set(tags.names)
    sources = [value for name, value in tags.attributes if name in ("src", "href", "xlink:href")]
    assert [source for source in sources if not source.startswith("#")] == []
    assert not [name for name, _ in tags.attributes if name.startswith("on")]
    assert "default-src 'none'" in report


def test_what_models_wrote_is_shown_as_text(report: str, runs: ModuleType) -> None:
    assert runs.HOSTILE not in report
    assert escape(runs.HOSTILE) in report
    assert "<hide_object>" not in report
    assert escape("<hide_object>") in report


def test_first_and_last_numbers_are_the_first_and_last_measured(report: str) -> None:
    card = r"accuracy, in-domain</span><b>70\.0&nbsp;%</b><span>20\.0&nbsp;% at iteration 0"
    assert re.search(card, report)


def test_ids_in_the_drawings_are_unique(report: str) -> None:
    ids = [value for name, value in parsed(report).attributes if name == "id"]
    assert ids
    assert len(ids) == len(set(ids))
    used = re.findall(r'(?:xlink:href="|url\()#([^")]+)', report)
    assert set(used) <= set(ids)


@pytest.mark.parametrize(("judge", "curriculum"), [(False, False), (True, False)])
def test_arm_without_judge_or_curriculum_has_a_report_without_their_charts(
    tmp_path: Path, runs: ModuleType, judge: bool, curriculum: bool
) -> None:
    run = runs.write_run(tmp_path / "run", iterations=3, judge=judge, curriculum=curriculum)
    html = write_report(run.path).read_text(encoding="utf-8")
    parsed(html)
    assert ("Judge against the step oracle" in html) == judge
    assert "Null control" not in html
    assert "Accepted rewrites" not in html
    assert "Accuracy on fixed panels" in html


def test_run_without_an_iteration_has_a_report_that_says_so(tmp_path: Path) -> None:
    RunFolder.create(tmp_path / "run", {}).close()
    assert "No iteration has finished yet" in write_report(tmp_path / "run").read_text()


def test_same_run_gives_the_same_bytes(example_run: Path, report: str) -> None:
    assert write_report(example_run).read_text(encoding="utf-8") == report


def test_folder_that_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a run folder"):
        write_report(tmp_path)


# ---- charts


def test_seconds_that_no_part_claims_are_shown_as_other() -> None:
    parts = {"model": 2.0, "judge": 1.5, "trainer": 3.0, "env": 0.25, "evaluation": 1.0}
    row = {f"seconds/{name}": value for name, value in parts.items()}
    stack = time([{"iteration": 1, **row, "seconds/total": 10.0}])[0]
    assert stack.series["other"] == [(1, 2.25)]  # 10 - 2 - 1.5 - 3 - 0.25 - 1


def test_commoner_verdict_is_the_larger_of_both_shares() -> None:
    rows = [
        {"iteration": i, "judge/process_accuracy": 0.7, "oracle/good_share": share}
        for i, share in ((1, 0.25), (2, 0.6))
    ]
    assert judging(rows)[0].series["commoner verdict"] == [(1, 0.75), (2, 0.6)]


def test_rejections_add_up_by_whatever_reasons_there_are() -> None:
    name = "tasks/rejected/not_solvable"
    rows = [{"iteration": 1, name: 3}, {"iteration": 2}, {"iteration": 3, name: 2}]
    assert tasks(rows)[1].series == {"not solvable": [(1, 3), (2, 3), (3, 5)]}


def test_drawing_is_well_formed_and_takes_its_colours_from_the_page() -> None:
    drawn = svg(Chart(title="<t> & t", note="", series={"a & b": [(1, 0.5)], "c": []}))
    root = ET.fromstring(drawn)
    assert root.get("class") == "chart"
    assert "var(--c0)" in drawn
    assert "#0102" not in drawn
    assert "#0103" not in drawn


# ---- lineage


def test_lineage_lists_accepted_rewrites_without_the_null_control(example_run: Path) -> None:
    history = changes(RunFolder.open(example_run).archive)
    assert [(change.kind, change.transform) for change in history] == [
        ("accepted", "hide_object"),
        ("accepted", "specific_instance"),
        ("rolled_back", "specific_instance"),
    ]
    first = history[0]
    assert (first.kind, first.direction, first.policy_version) == ("accepted", "harder", 2)
    assert first.old == ("put a mug in the fridge", None)
    assert first.new[1] == 9
    assert first.numbers["new_wins"] == 12


def test_rollback_goes_from_the_rewrite_to_its_parent(example_run: Path) -> None:
    last = changes(RunFolder.open(example_run).archive)[-1]
    assert (last.direction, last.ground) == ("harder", "too hard")
    assert last.new == ("put a mug in the fridge", None)
    assert last.old[1] == 10
    assert (last.numbers["old_wins"], last.numbers["old_n"]) == (1, 24)


def test_file_that_is_no_curriculum_is_named(tmp_path: Path) -> None:
    (tmp_path / "curriculum.sqlite").write_text("not a database, but long enough to be one" * 9)
    with pytest.raises(RunError, match=r"curriculum\.sqlite is not a curriculum"):
        changes(tmp_path / "curriculum.sqlite")


# ---- documentation


def test_every_metric_is_defined_in_the_documentation() -> None:
    text = (Path(__file__).parents[2] / "docs" / "runs.md").read_text(encoding="utf-8")
    assert [name for name in METRICS if f"`{name}`" not in text] == []


@pytest.mark.parametrize("text", ["\x00", "\x1b[31m", "\u202e", "\ud800"])
def test_characters_that_hide_or_turn_text_are_replaced(text: str) -> None:
    assert "\ufffd" in escape(text)
    escape(text).encode("utf-8")
