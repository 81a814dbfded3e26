"""Metrics on text documents (docx), read with python-docx."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rla_verifiers.osworld.guest import GuestFile, library
from rla_verifiers.osworld.matching import similarity


def compare_docx_files(
    result: GuestFile | None, expected: GuestFile | None, **options: Any
) -> float:
    """Compare the paragraphs' text; 1 or 0, or a similarity in [0, 1] where one is asked for.

    Args:
        result: The agent's file.
        expected: The reference.
        **options: ignore_blanks (default True: runs of blanks and line ends count as one),
            ignore_case, ignore_order, delete_empty_lines, fuzzy_match and content_only (both give
            the similarity instead of 0).
    """
    pair = _pair(result, expected)
    if pair is None:
        return 0.0
    one, other = (_paragraphs(document, options) for document in pair)
    if options.get("content_only", False) or options.get("ignore_blanks", True):
        first, second = (re.sub(r"\s+", " ", "\n".join(side)).strip() for side in (one, other))
        if options.get("content_only", False) or options.get("fuzzy_match", False):
            return similarity(first, second)
        return float(first == second)
    if len(one) != len(other):
        return 0.0
    if options.get("fuzzy_match", False):
        return sum(map(similarity, one, other)) / len(one) if one else 1.0
    return float(one == other)


def compare_docx_tables(result: GuestFile | None, expected: GuestFile | None) -> float:
    """Return 1 iff both documents have the same tables, cell by cell, blanks around text aside."""
    pair = _pair(result, expected)
    if pair is None:
        return 0.0

    def tables(document: Any) -> list[list[list[str]]]:
        return [
            [[cell.text.strip() for cell in row.cells] for row in table.rows]
            for table in document.tables
        ]

    return float(tables(pair[0]) == tables(pair[1]))


def compare_line_spacing(result: GuestFile | None, expected: GuestFile | None) -> float:
    """Return 1 iff the text is the same and each paragraph has the reference's line spacing."""
    pair = _pair(result, expected)
    if pair is None or compare_docx_files(result, expected) < 1:
        return 0.0
    one, other = (
        [p.paragraph_format.line_spacing for p in document.paragraphs] for document in pair
    )
    return float(one == other)


def compare_font_names(result: GuestFile | None, rules: Mapping[str, Any]) -> float:
    """Return 1 iff every run that has a font of its own has rules["font_name"]."""
    document = _document(result)
    if document is None:
        return 0.0
    names = [run.font.name for p in document.paragraphs for run in p.runs]
    return float(all(name == rules["font_name"] for name in names))


def compare_subscript_contains(result: GuestFile | None, expected: GuestFile | None) -> float:
    """Return 1 iff some run is a subscript in both documents at the same place."""
    pair = _pair(result, expected)
    if pair is None:
        return 0.0
    one, other = ([list(p.runs) for p in document.paragraphs] for document in pair)
    return float(
        any(
            mine.font.subscript and theirs.font.subscript
            for runs, wanted in zip(one, other, strict=False)
            for mine, theirs in zip(runs, wanted, strict=False)
        )
    )


def contains_page_break(result: GuestFile | None, rules: Mapping[str, Any] | None = None) -> float:
    """Return 1 iff there is a manual page break, or rules["page_break_count"] of them."""
    document = _document(result)
    if document is None:
        return 0.0
    breaks = document.element.body.xpath('.//w:br[@w:type="page"]')
    wanted = (rules or {}).get("page_break_count")
    return float(len(breaks) == wanted if wanted is not None else len(breaks) > 0)


def has_page_numbers_in_footers(result: GuestFile | None) -> float:
    """Return 1 iff the footer of every section holds a page number: a PAGE field or a digit."""
    document = _document(result)
    if document is None:
        return 0.0

    def numbered(footer: Any) -> bool:
        fields = footer._element.xpath(".//w:instrText | .//w:fldSimple/@w:instr")
        texts = [getattr(field, "text", None) or str(field) for field in fields]
        return any("PAGE" in text for text in texts) or any(
            character.isdigit() for p in footer.paragraphs for character in p.text
        )

    return float(all(numbered(section.footer) for section in document.sections))


def is_first_line_centered(result: GuestFile | None) -> float:
    """Return 1 iff the first paragraph is centred."""
    document = _document(result)
    if document is None or not document.paragraphs:
        return 0.0
    return float(document.paragraphs[0].paragraph_format.alignment == 1)


def check_paragraphs(result: GuestFile | None, rules: Mapping[str, Sequence[str]]) -> float:
    """Return 1 iff the paragraphs' text is rules["expected"], empty ones aside."""
    document = _document(result)
    if document is None:
        return 0.0
    texts = [p.text.strip() for p in document.paragraphs if p.text.strip()]
    return float(texts == list(rules["expected"]))


def check_paragraph(result: GuestFile | None, rules: Mapping[str, Any]) -> float:
    """Return 1 iff the paragraph with text rules["text"] has the named properties.

    Args:
        result: The agent's file.
        rules: "text"; "bold", "italic", "underline" (of every run with text), "size" (points),
            "alignment" ("left", "center", "right" or "justify"), "style" (name), as far as given.
    """
    document = _document(result)
    if document is None:
        return 0.0
    return float(
        any(
            paragraph.text.strip() == rules["text"] and _formatted(paragraph, rules)
            for paragraph in document.paragraphs
        )
    )


def _formatted(paragraph: Any, rules: Mapping[str, Any]) -> bool:
    runs = [run for run in paragraph.runs if run.text.strip()]
    for name in ("bold", "italic", "underline"):
        if name in rules and not all(bool(getattr(r.font, name)) == rules[name] for r in runs):
            return False
    if "size" in rules and not all(r.font.size and r.font.size.pt == rules["size"] for r in runs):
        return False
    if "style" in rules and paragraph.style.name != rules["style"]:
        return False
    places = {None: "left", 0: "left", 1: "center", 2: "right", 3: "justify"}
    alignment = paragraph.paragraph_format.alignment
    return "alignment" not in rules or places.get(alignment) == rules["alignment"]


def _pair(result: GuestFile | None, expected: GuestFile | None) -> tuple[Any, Any] | None:
    """Return both documents; None when the agent's is missing or broken."""
    mine = _document(result)
    if mine is None:
        return None
    if expected is None:
        raise ValueError("there is no reference document to compare with")
    return mine, library("docx").Document(io.BytesIO(expected.data))


def _document(file: GuestFile | None) -> Any | None:
    if file is None:
        return None
    docx = library("docx")
    try:
        return docx.Document(io.BytesIO(file.data))
    except Exception:
        # Whatever the parser says of it, the agent left no document.
        return None


def _paragraphs(document: Any, options: Mapping[str, Any]) -> Sequence[str]:
    texts: list[str] = [paragraph.text for paragraph in document.paragraphs]
    if options.get("delete_empty_lines", False):
        texts = [text for text in texts if text.strip()]
    if options.get("ignore_case", False):
        texts = [text.lower() for text in texts]
    return sorted(texts) if options.get("ignore_order", False) else texts
