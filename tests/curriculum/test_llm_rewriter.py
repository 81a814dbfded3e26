"""The LLM rewriter: whatever the model says, the task can be verified or there is none."""

import pytest
from rla_task_sets.alfworld.rewrites import check_rewrite

from rla_envs.alfworld.rewriting import LLMRewriter
from rla_envs.types import Completion, ErrorSummary, Refusal, Rewrite

SUMMARY = ErrorSummary(
    task_id="x", accuracy=0.875, reasons={"searches {an} old place": 5, "bad": 1}, episodes=8
)


class Scripted:
    def __init__(self, text):
        self.text, self.asked = text, []

    def sample(self, conversations, *, n=1, sampling=None, seeds=None):
        self.asked.append((conversations, seeds))
        return [[Completion(text=self.text)] for _ in conversations]


def ask(task, text, direction="harder"):
    model = Scripted(text)
    answer = LLMRewriter(model).propose(
        task, root=task, direction=direction, summary=SUMMARY, seed=7
    )
    return model, answer


def test_a_listed_edit_becomes_a_task(kitchen_task):
    _, answer = ask(kitchen_task, "It never looks inside.\nEDIT: hide_object cabinet 2")
    assert isinstance(answer, Rewrite)
    assert answer.task.payload["edits"] == [["hide_object", "cabinet 2"]]
    assert (answer.transform, answer.reason) == ("hide_object", "It never looks inside.")
    assert check_rewrite(kitchen_task, kitchen_task, answer.task, ()) is None


def test_two_edits_are_made_one_after_the_other(kitchen_task):
    _, answer = ask(kitchen_task, "**EDIT: `two_objects`**\n- edit: add_places Cabinet.")
    assert isinstance(answer, Rewrite)
    assert answer.transform == "two_objects+add_places"
    assert answer.task.instruction == "put two mug in diningtable."


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I would hide the mug in cabinet 2.",
        "EDIT: hide_object the moon",
        "EDIT: hide_object drawer 1",
        "EDIT: open_all",
        "EDIT: explode",
        "EDIT: two_objects\nEDIT: two_objects",
        "EDIT: add_things Fork\nEDIT: add_things Plate\nEDIT: add_places Cabinet",
        "EDIT: two_objects; rm -rf /",
        '{"goal": "(:goal (exists ...))"}',
    ],
)
def test_anything_else_is_counted_as_unparsed(kitchen_task, reply):
    _, answer = ask(kitchen_task, reply)
    assert answer == Refusal(reason="unparsed")


def test_the_prompt_shows_errors_room_and_what_may_be_chosen(kitchen_task):
    model, _ = ask(kitchen_task, "", direction="easier")
    [([conversation], seeds)] = model.asked
    [message] = conversation
    assert message["role"] == "user"
    text = message["content"]
    assert "Make the task easier" in text
    assert "searches {an} old place (5 times)" in text
    assert "cabinet 2 (closed): mug 2" in text
    assert "- hint: say where the thing is" in text
    assert "[kind, type, place]" in text
    assert "hide_object" not in text
    assert seeds == [7]
