"""What README and docs show runs as it stands there."""

import re
import shutil
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
DOCUMENTS = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
# They need a run, official games or a model that only the reader has.
NEEDS_MORE = ("runs/", "json_2.1.1", "trial_...", "(model, config", "(trajectory")
# Word of a block -> the program without which it cannot run.
PROGRAMS = {"Sandbox(": "bwrap", "rla/Coding": "bwrap", "Desktop(": "Xvfb", "rla/OSWorld": "Xvfb"}


def can_run(block):
    missing = [word for word, program in PROGRAMS.items() if shutil.which(program) is None]
    return not any(word in block for word in (*NEEDS_MORE, *missing))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_python_blocks_run_in_order(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for block in BLOCK.findall(document.read_text(encoding="utf-8")):
        if can_run(block):
            exec(compile(block, document.name, "exec"), namespace)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(document):
    for target in LINK.findall(document.read_text(encoding="utf-8")):
        assert (document.parent / target).exists(), f"{document.name} links to {target}"
