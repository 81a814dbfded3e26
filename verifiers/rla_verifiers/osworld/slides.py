"""Metrics on presentations (pptx), read with python-pptx."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any

from rla_verifiers.osworld.guest import GuestFile, library

_SOLID = 1


def compare_pptx_files(
    result: GuestFile | None, expected: GuestFile | None, **options: Any
) -> float:
    """Return 1 iff both presentations agree in everything that is examined.

    Args:
        result: The agent's file.
        expected: The reference.
        **options: examine_number_of_slides, examine_shape (position and size within
            approximately_tolerance, a share), examine_text, examine_indent, examine_alignment,
            examine_font_name, examine_font_size, examine_font_bold, examine_font_italic,
            examine_font_underline, examine_color_rgb, examine_background_color, examine_note: each
            True unless switched off.
    """
    mine = _presentation(result)
    if mine is None:
        return 0.0
    if expected is None:
        raise ValueError("there is no reference presentation to compare with")
    theirs = library("pptx").Presentation(io.BytesIO(expected.data))

    def examined(name: str) -> bool:
        return bool(options.get(f"examine_{name}", True))

    one, other = list(mine.slides), list(theirs.slides)
    if examined("number_of_slides") and len(one) != len(other):
        return 0.0
    tolerance = float(options.get("approximately_tolerance", 0.005))
    return float(
        all(
            _same_slide(slide, reference, options, tolerance)
            for slide, reference in zip(one, other, strict=False)
        )
    )


def check_slide(result: GuestFile | None, rules: Mapping[str, Any]) -> float:
    """Return 1 iff slide rules["slide"] (from 0) has what is asked for.

    Args:
        result: The agent's file.
        rules: "slide"; as far as given "texts" (the text of each of its shapes that has any, in
            order), "notes" (text) and "background" (RGB as "FF0000"); "slides" (their number).
    """
    deck = _presentation(result)
    if deck is None:
        return 0.0
    slides = list(deck.slides)
    if "slides" in rules and len(slides) != rules["slides"]:
        return 0.0
    if "slide" not in rules:
        return 1.0
    if rules["slide"] >= len(slides):
        return 0.0
    slide = slides[rules["slide"]]
    return float(
        ("texts" not in rules or slide_texts(slide) == list(rules["texts"]))
        and ("notes" not in rules or _notes(slide) == rules["notes"])
        and ("background" not in rules or _background(slide) == rules["background"])
    )


def slide_texts(slide: Any) -> list[str]:
    """Return the text of every shape that has some, groups included, without outer blanks."""
    texts = (shape.text_frame.text.strip() for shape in _text_shapes(slide.shapes))
    return [text for text in texts if text]


def check_slide_orientation_portrait(result: GuestFile | None) -> float:
    """Return 1 iff slides are higher than wide."""
    deck = _presentation(result)
    return float(deck is not None and deck.slide_height > deck.slide_width)


def check_transition(result: GuestFile | None, rules: Mapping[str, Any]) -> float:
    """Return 1 iff slide rules["slide_idx"], from 0, has the rules["transition_type"]."""
    deck = _presentation(result)
    if deck is None or rules["slide_idx"] >= len(deck.slides):
        return 0.0
    element = deck.slides[rules["slide_idx"]]._element
    kinds = {
        child.tag.rpartition("}")[2]
        for transition in element.iter()
        if isinstance(transition.tag, str) and transition.tag.endswith("}transition")
        for child in transition
    }
    return float(rules["transition_type"] in kinds)


def _same_slide(one: Any, other: Any, options: Mapping[str, Any], tolerance: float) -> bool:
    def examined(name: str) -> bool:
        return bool(options.get(f"examine_{name}", True))

    if examined("background_color") and _background(one) != _background(other):
        return False
    if examined("note") and _notes(one) != _notes(other):
        return False
    shapes, wanted = list(one.shapes), list(other.shapes)
    if len(shapes) != len(wanted):
        return False
    if examined("shape") and not all(
        _close(getattr(shape, side), getattr(reference, side), tolerance)
        for shape, reference in zip(shapes, wanted, strict=True)
        for side in ("left", "top", "width", "height")
    ):
        return False
    mine, theirs = list(_text_shapes(shapes)), list(_text_shapes(wanted))
    return len(mine) == len(theirs) and all(
        _same_text(shape.text_frame, reference.text_frame, options)
        for shape, reference in zip(mine, theirs, strict=True)
    )


def _same_text(one: Any, other: Any, options: Mapping[str, Any]) -> bool:
    def examined(name: str) -> bool:
        return bool(options.get(f"examine_{name}", True))

    if examined("text") and one.text.strip() != other.text.strip():
        return False
    fonts = [
        name
        for name, option in (
            ("name", "font_name"),
            ("size", "font_size"),
            ("bold", "font_bold"),
            ("italic", "font_italic"),
            ("underline", "font_underline"),
        )
        if examined(option)
    ]
    for paragraph, reference in zip(one.paragraphs, other.paragraphs, strict=False):
        if examined("alignment") and (paragraph.alignment or 1) != (reference.alignment or 1):
            return False
        if examined("indent") and paragraph.level != reference.level:
            return False
        for run, wanted in zip(paragraph.runs, reference.runs, strict=False):
            if any(
                (getattr(run.font, name) or False) != (getattr(wanted.font, name) or False)
                for name in fonts
            ):
                return False
            if examined("color_rgb") and _colour(run.font) != _colour(wanted.font):
                return False
    return True


def _text_shapes(shapes: Any) -> Iterator[Any]:
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _text_shapes(shape.shapes)
        elif shape.has_text_frame:
            yield shape


def _background(slide: Any) -> str | None:
    fill = slide.background.fill
    if fill.type is not None and int(fill.type) == _SOLID:
        try:
            return str(fill.fore_color.rgb)
        except AttributeError:
            return None
    return None


def _notes(slide: Any) -> str:
    if not slide.has_notes_slide or slide.notes_slide.notes_text_frame is None:
        return ""
    return str(slide.notes_slide.notes_text_frame.text).strip()


def _colour(font: Any) -> str | None:
    try:
        return str(font.color.rgb) if font.color and font.color.type is not None else None
    except AttributeError:
        return None


def _close(one: int | None, other: int | None, tolerance: float) -> bool:
    if one == other:
        return True
    if not one or not other:
        return False
    return abs(one - other) / max(abs(one), abs(other)) <= tolerance


def _presentation(file: GuestFile | None) -> Any | None:
    if file is None:
        return None
    pptx = library("pptx")
    try:
        return pptx.Presentation(io.BytesIO(file.data))
    except Exception:
        # Whatever the parser says of it, the agent left no presentation.
        return None
