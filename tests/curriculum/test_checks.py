"""Static checks: each reason for which a rewrite is refused, by a task that deserves it."""

from dataclasses import replace

import pytest
from rla_task_sets.alfworld.rewrites import check_rewrite, keeps_intention, says_goal
from rla_task_sets.fingerprints import fingerprint

from rla_envs.alfworld.engine import Goal, scene_to_payload
from rla_envs.alfworld.rewriting import Edit, edited, rewritten


@pytest.fixture
def good(kitchen_task):
    task = rewritten(
        kitchen_task,
        [Edit("hide_object", ("cabinet 2",))],
        task_id="room/kitchen~1",
        parent_id=kitchen_task.id,
    )
    assert task is not None
    return task


def changed(task, scene, **payload):
    content = {**task.payload, "scene": scene_to_payload(scene), **payload}
    return replace(task, instruction=scene.instruction, payload=content)


def test_a_good_rewrite_passes(kitchen_task, good):
    assert check_rewrite(kitchen_task, kitchen_task, good, known=()) is None


def test_a_payload_without_a_game_is_malformed(kitchen_task, good):
    broken = replace(good, payload={"scene": {"receptacles": []}})
    assert check_rewrite(kitchen_task, kitchen_task, broken, ()) == "malformed"


def test_a_name_that_the_real_engine_would_not_give_is_malformed(kitchen_task, good, make_kitchen):
    scene = make_kitchen()
    items = (replace(scene.items[0], name="mug 9"), *scene.items[1:])
    broken = changed(good, replace(scene, items=items))
    assert check_rewrite(kitchen_task, kitchen_task, broken, ()) == "malformed"


def test_a_goal_changed_behind_the_sentence_is_stale(kitchen_task, good, make_kitchen):
    # The published text-game rewrite: the goal becomes a plate, the sentence still says mug.
    scene = make_kitchen(
        Goal(task_type="pick_and_place_simple", object_type="Plate", receptacle_type="DiningTable")
    )
    stale = changed(good, scene, walkthrough=None)
    assert check_rewrite(kitchen_task, kitchen_task, stale, ()) == "stale instruction"
    other = replace(good, instruction="put a mug in shelf.")
    assert check_rewrite(kitchen_task, kitchen_task, other, ()) == "stale instruction"


def test_thing_and_place_may_not_both_change(kitchen_task, make_kitchen):
    both = edited(
        make_kitchen(), [Edit("rarer_object", ("Apple",)), Edit("swap_receptacle", ("Fridge",))]
    )
    task = changed(kitchen_task, both)
    assert check_rewrite(kitchen_task, kitchen_task, task, ()) == "intention lost"


def test_looking_stays_looking():
    look = Goal(task_type="look_at_obj_in_light", object_type="Mug", lamp_type="DeskLamp")
    put = Goal(task_type="pick_and_place_simple", object_type="Mug", receptacle_type="Desk")
    assert not keeps_intention(look, put)
    assert keeps_intention(look, replace(look, object_type="Book"))
    assert not keeps_intention(look, replace(look, object_type="Book", lamp_type="FloorLamp"))
    assert keeps_intention(put, replace(put, task_type="pick_clean_then_place_in_recep"))


def test_what_was_tried_before_is_a_duplicate(kitchen_task, good):
    known = {fingerprint(replace(good, id="another", parent_id=None))}
    assert check_rewrite(kitchen_task, kitchen_task, good, known) == "duplicate"
    assert check_rewrite(kitchen_task, good, replace(good, id="x"), ()) == "duplicate"


def test_a_task_with_nothing_left_to_do_is_solved_at_start(kitchen_task, make_kitchen):
    scene = make_kitchen()
    table = next(place for place in scene.receptacles if place.type == "DiningTable")
    items = tuple(
        replace(item, receptacles=(table.id,), location=table.location)
        if item.name == "mug 1"
        else item
        for item in scene.items
    )
    task = changed(kitchen_task, replace(scene, items=items))
    assert check_rewrite(kitchen_task, kitchen_task, task, ()) == "solved at start"


def test_a_task_without_a_plan_or_with_a_wrong_walkthrough_is_unsolvable(
    kitchen_task, good, make_kitchen
):
    scene = make_kitchen()
    kept = tuple(item for item in scene.items if item.type != "Mug")
    empty = changed(kitchen_task, replace(scene, items=kept))
    assert check_rewrite(kitchen_task, kitchen_task, empty, ()) == "unsolvable"
    wrong = replace(good, payload={**good.payload, "walkthrough": ["look"]})
    assert check_rewrite(kitchen_task, kitchen_task, wrong, ()) == "unsolvable"


@pytest.mark.parametrize(
    ("kind", "sentence", "said"),
    [
        ("pick_and_place_simple", "put some mug on diningtable.", True),
        ("pick_and_place_simple", "put a clean mug in diningtable.", False),
        ("pick_clean_then_place_in_recep", "clean some mug and put it in diningtable.", True),
        ("pick_heat_then_place_in_recep", "put a hot mug in diningtable.", True),
        ("pick_cool_then_place_in_recep", "put a hot mug in diningtable.", False),
        ("pick_two_obj_and_place", "find two mug and put them in diningtable.", True),
        ("pick_two_obj_and_place", "put a mug in diningtable.", False),
        ("pick_and_place_simple", "put a mug in diningtable. it is in a clean sinkbasin.", True),
    ],
)
def test_official_sentences_say_their_goal(make_kitchen, kind, sentence, said):
    goal = Goal(task_type=kind, object_type="Mug", receptacle_type="DiningTable")
    assert says_goal(make_kitchen(goal, sentence)) == said
