"""Filling in a form on a page in the browser; a small server in the desktop takes it."""

from __future__ import annotations

from random import Random
from typing import Any

from rla_task_sets.osworld.families.family import (
    HOME,
    Goal,
    Params,
    Plan,
    Split,
    distractor_windows,
    every,
    launch,
    on_file,
    step,
    write_file,
)
from rla_task_sets.osworld.families.words import CITIES, NAMES, THINGS, pick

FOLDER = f"{HOME}/.form"
PORT = 8377
ANSWERS = f"{FOLDER}/answers.json"
FIELDS = ("Name", "City", "Item", "Amount")

_SERVER = """
import html, json, urllib.parse
from http.server import BaseHTTPRequestHandler, HTTPServer

FIELDS = {fields!r}
PAGE = "<title>Order</title><h1>Order</h1><form action=/send>" + "".join(
    "<p><label>%s <input name=%s %s></label>" % (html.escape(f), f.lower(), "autofocus" * (not i))
    for i, f in enumerate(FIELDS)
) + "<p><button>Send</button></form>"

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        page = PAGE
        if url.path == "/send":
            with open({answers!r}, "w") as file:
                json.dump(dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True)), file)
            page = "<title>Thanks</title><h1>Thank you, we have your order.</h1>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(page.encode())

    def log_message(self, *_):
        pass

HTTPServer(("127.0.0.1", {port}), Handler).serve_forever()
"""


class Form:
    """Fill in the fields of an order form and send it."""

    name = "form"

    def draw(self, rng: Random, split: Split) -> Params:
        """Draw two or three fields and what goes into them."""
        fields = list(FIELDS[: rng.randint(2, 3)])
        values = {
            "Name": pick(rng, NAMES, split, 1)[0],
            "City": pick(rng, CITIES, split, 1)[0],
            "Item": pick(rng, THINGS, split, 1)[0],
            "Amount": str(rng.randint(2, 20)),
        }
        return {
            "fields": fields,
            "values": [values[field] for field in fields],
            "spare": [[field, values[field]] for field in FIELDS[len(fields) :]],
            "distractors": 0,
            "hint": False,
            "windows": 0,
        }

    def about(self, params: Params) -> str:
        """Return the first field."""
        return str(params["fields"][0])

    def plan(self, params: Params) -> Plan:
        """Return the task; every field that arrives is one sub-goal."""
        fields, values = list(params["fields"]), list(params["values"])
        shown = [*fields, *(f"Note {i + 1}" for i in range(params["distractors"]))]
        wanted = dict(zip(fields, values, strict=True))
        said = ", ".join(f'{field} "{value}"' for field, value in wanted.items())
        expert: list[str] = []
        for place, value in enumerate(values):
            expert += ["press Tab"] * (place > 0) + [f"type {value}"]
        goals = [
            Goal(name=f"{field} is {value}", evaluator=_arrived({field.lower(): value}))
            for field, value in wanted.items()
        ]
        hint = " Tab leads to the next field, Return sends the form." if params["hint"] else ""
        server = _SERVER.format(fields=shown, answers=ANSWERS, port=PORT)
        return Plan(
            instruction=f"Fill in the form in the browser: {said}. Then send it.{hint}",
            setup=[
                write_file(f"{FOLDER}/server.py", text=server),
                step(
                    "execute",
                    command=f"nohup python3 {FOLDER}/server.py >/dev/null 2>&1 &",
                    shell=True,
                ),
                *distractor_windows(params["windows"]),
                launch("google-chrome", f"http://127.0.0.1:{PORT}/"),
            ],
            evaluator=every([goal.evaluator for goal in goals]),
            expert=[*expert, "press Return"],
            goals=goals,
        )


def _arrived(values: dict[str, Any]) -> dict[str, Any]:
    return on_file("check_json_settings", ANSWERS, {"expected": values})
