"""Metrics on PDF files, read with pypdf."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from rla_verifiers.osworld.general import check_number
from rla_verifiers.osworld.guest import GuestFile, library
from rla_verifiers.osworld.matching import similarity


def check_pdf_pages(result: GuestFile | None, rules: Mapping[str, Any]) -> float:
    """Return 1 iff the number of pages stands in rules["relation"] to rules["ref_value"]."""
    reader = _reader(result)
    if reader is None:
        return 0.0
    return check_number(len(reader.pages), rules["relation"], rules["ref_value"])


def compare_pdfs(
    result: GuestFile | Sequence[GuestFile | None] | None, expected: GuestFile | Sequence[GuestFile]
) -> float:
    """Return the mean similarity of the text of each pair of files, in [0, 1]."""
    found = [result] if result is None or isinstance(result, GuestFile) else list(result)
    wanted = [expected] if isinstance(expected, GuestFile) else list(expected)
    score = sum(
        similarity(text, pdf_text(reference) or "")
        for file, reference in zip(found, wanted, strict=False)
        if (text := pdf_text(file)) is not None
    )
    return score / len(wanted)


def pdf_contains(result: GuestFile | None, rules: Mapping[str, Sequence[str]]) -> float:
    """Return 1 iff every text of rules["expected"] is in the file's text, blanks collapsed."""
    text = pdf_text(result)
    if text is None:
        return 0.0
    flat = " ".join(text.split())
    return float(all(" ".join(wanted.split()) in flat for wanted in rules["expected"]))


def pdf_text(file: GuestFile | None) -> str | None:
    """Return the text of all pages, or None when there is no readable file."""
    reader = _reader(file)
    if reader is None:
        return None
    return "\n".join(page.extract_text() for page in reader.pages).strip()


def _reader(file: GuestFile | None) -> Any | None:
    if file is None:
        return None
    pypdf = library("pypdf")
    try:
        reader = pypdf.PdfReader(io.BytesIO(file.data))
        len(reader.pages)
    except Exception:
        # Whatever the parser says of it, the agent left no PDF.
        return None
    return reader
