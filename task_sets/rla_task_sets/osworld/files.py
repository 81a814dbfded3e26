"""Files that task payloads describe instead of carrying their bytes."""

from __future__ import annotations

import io
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from rla_verifiers.osworld.guest import library

from rla_envs.errors import TaskError

KINDS = ("text", "base64", "sheet", "document", "slides")


def file_bytes(parameters: Mapping[str, Any]) -> bytes:
    """Return the bytes of the file that a ``write_file`` step describes.

    One of: "text" (str), "base64" (str), "sheet" (rows of a workbook with one sheet), "document"
    (paragraphs, the first one a title), "slides" (pairs of title and body).

    Raises:
        TaskError: none of these is given.
        MissingExtra: the library that writes the format is not installed.
    """
    if "text" in parameters:
        return str(parameters["text"]).encode()
    if "base64" in parameters:
        return b64decode(parameters["base64"])
    if "sheet" in parameters:
        return _workbook(parameters)
    if "document" in parameters:
        return _document(parameters)
    if "slides" in parameters:
        return _slides(parameters)
    raise TaskError(
        f"write_file {parameters.get('path')!r} has no content; give one of {', '.join(KINDS)}"
    )


def _workbook(parameters: Mapping[str, Any]) -> bytes:
    book = library("openpyxl").Workbook()
    for row in parameters["sheet"]:
        book.active.append(row)
    return _saved(book)


def _document(parameters: Mapping[str, Any]) -> bytes:
    document = library("docx").Document()
    for paragraph in parameters["document"]:
        document.add_paragraph(paragraph)
    return _saved(document)


def _slides(parameters: Mapping[str, Any]) -> bytes:
    deck = library("pptx").Presentation()
    for title, body in parameters["slides"]:
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = body
    return _saved(deck)


def _saved(made: Any) -> bytes:
    buffer = io.BytesIO()
    made.save(buffer)
    return buffer.getvalue()
