"""Builds small files for the verifier tests, with the libraries that read them."""

from __future__ import annotations

import io
import json

from rla_verifiers.osworld import GuestFile


def text_file(text, name="a.txt"):
    return GuestFile(name=name, data=text.encode())


def workbook(rows, *, name="a.xlsx", sheet="Sheet1", change=None):
    import openpyxl

    book = openpyxl.Workbook()
    book.active.title = sheet
    for row in rows:
        book.active.append(row)
    if change:
        change(book.active)
    return _saved(book, name)


def document(paragraphs, *, name="a.docx", tables=(), change=None):
    import docx

    made = docx.Document()
    for text in paragraphs:
        made.add_paragraph(text)
    for rows in tables:
        table = made.add_table(len(rows), len(rows[0]))
        for i, row in enumerate(rows):
            for j, text in enumerate(row):
                table.cell(i, j).text = text
    if change:
        change(made)
    return _saved(made, name)


def deck(slides, *, name="a.pptx", change=None):
    import pptx

    made = pptx.Presentation()
    for title, body in slides:
        slide = made.slides.add_slide(made.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = body
    if change:
        change(made)
    return _saved(made, name)


def pdf(pages, name="a.pdf"):
    """Return a PDF with one line of text a page, written by hand: nothing here draws text."""
    objects = ["<</Type/Catalog/Pages 2 0 R>>"]
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
    objects.append(f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>")
    objects.append("<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
    for i, line in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 700 Td ({line}) Tj ET"
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents {5 + 2 * i} 0 R"
            "/Resources<</Font<</F1 3 0 R>>>>>>"
        )
        objects.append(f"<</Length {len(stream)}>>stream\n{stream}\nendstream")
    body, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj{content}endobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    count = len(objects) + 1
    body += f"xref\n0 {count}\n0000000000 65535 f \n{table}"
    body += f"trailer<</Size {count}/Root 1 0 R>>\nstartxref\n{body.index('xref')}\n%%EOF"
    return GuestFile(name=name, data=body.encode())


class ScriptedGuest:
    """A desktop whose files and command outputs are given; anything else is an outage."""

    def __init__(self, files=None, outputs=None, tree="<desktop-frame/>", assets=None):
        self.files = dict(files or {})
        self.outputs, self.tree, self.assets = outputs or {}, tree, assets or {}
        self.commands = []

    def read_file(self, path):
        data = self.files.get(path)
        return data.encode() if isinstance(data, str) else data

    def run(self, command):
        self.commands.append(command)
        answer = self.outputs[command if isinstance(command, str) else tuple(command)]
        return answer if isinstance(answer, tuple) else (0, answer, "")

    def a11y_xml(self):
        return self.tree

    def asset(self, url, name):
        return self.assets[name]


CHROME = "/home/user/.config/google-chrome/Default/"


def chrome(preferences=None, bookmarks=None):
    files = {}
    if preferences is not None:
        files[CHROME + "Preferences"] = json.dumps(preferences)
    if bookmarks is not None:
        files[CHROME + "Bookmarks"] = json.dumps({"roots": bookmarks})
    return ScriptedGuest(files)


def _saved(made, name):
    buffer = io.BytesIO()
    made.save(buffer)
    return GuestFile(name=name, data=buffer.getvalue())
