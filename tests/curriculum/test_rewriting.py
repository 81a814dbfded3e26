"""Rewrites: every one that is offered can be won, says what it wants, and keeps its root."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rla_task_sets.alfworld.rewrites import check_rewrite, says_goal
from rla_verifiers.reasons import REASONS

from rla_envs.alfworld.engine import Game, Goal, World, game_from_json, game_of, game_to_json
from rla_envs.alfworld.engine.planner import plan
from rla_envs.alfworld.rewriting import TRANSFORMS, Edit, RuleRewriter, edited, edits_of, rewritten
from rla_envs.alfworld.rewriting.effort import effort
from rla_envs.alfworld.rewriting.topics import topic_of, topic_shares
from rla_envs.errors import TaskError
from rla_envs.types import ErrorSummary, Task

SUMMARY = ErrorSummary(task_id="x", accuracy=0.9, reasons={}, episodes=8)


def apply(scene, *edits):
    return edited(scene, [Edit(name, tuple(args)) for name, *args in edits])


def places(scene, item_type):
    named = {place.id: place.name for place in scene.receptacles}
    return sorted(named[i.receptacles[0]] for i in scene.items if i.type == item_type)


def test_every_transform_applies_somewhere(make_kitchen):
    goals = [
        Goal(task_type=kind, object_type="Mug", receptacle_type=place)
        for kind in (
            "pick_and_place_simple",
            "pick_clean_then_place_in_recep",
            "pick_two_obj_and_place",
        )
        for place in ("DiningTable", "Cabinet")
    ]
    goals.append(replace(goals[0], item_id="Mug_bar_2"))
    goals.append(replace(goals[0], object_type="Apple"))
    scenes = [make_kitchen(goal) for goal in goals]
    scenes.append(apply(scenes[0], ("open_all",)))
    unused = [n for n, t in TRANSFORMS.items() if not any(t.options(s) for s in scenes)]
    assert unused == []


def test_hiding_puts_every_wanted_thing_behind_one_door(make_kitchen):
    scene = apply(make_kitchen(), ("hide_object", "drawer 1"))
    assert scene is None  # a mug does not go into a drawer
    scene = apply(make_kitchen(), ("hide_object", "cabinet 2"))
    assert places(scene, "Mug") == ["cabinet 2"] * 3
    assert places(scene, "Fork") == places(make_kitchen(), "Fork")


def test_a_specific_thing_is_named_in_the_sentence_and_others_do_not_count(make_kitchen):
    scene = apply(make_kitchen(), ("specific_item", "mug 2"))
    assert scene.instruction == "put mug 2 in diningtable."
    item = next(item for item in scene.items if item.name == "mug 2")
    assert scene.goal.item_id == item.id


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (("two_objects",), "put two mug in diningtable."),
        (("add_state", "heat"), "put a hot mug in diningtable."),
        (("add_state", "clean"), "put a clean mug in diningtable."),
        (("add_state", "cool"), "put a cool mug in diningtable."),
        (("swap_receptacle", "Cabinet"), "put a mug in cabinet."),
        (("rarer_object", "Plate"), "put a plate in diningtable."),
        (("common_object", "Fork"), "put a fork in diningtable."),
    ],
)
def test_goal_and_sentence_change_together(make_kitchen, edit, sentence):
    scene = apply(make_kitchen(), edit)
    assert scene.instruction == sentence
    assert says_goal(scene)


def test_hints_tell_more_and_more_and_are_true_of_the_finished_room(make_kitchen):
    def hint(*edits):
        return apply(make_kitchen(), *edits).instruction.removeprefix("put a mug in diningtable. ")

    assert hint(("hint", "kind")) == "a mug is in the open."
    assert hint(("hint", "type")) == "a mug is in a shelf."
    assert hint(("hint", "place")) == "a mug is in shelf 1."
    # The mug is hidden after the hint was asked for.
    assert hint(("hint", "place"), ("hide_object", "cabinet 2")) == "a mug is in cabinet 2."
    assert hint(("hint", "kind"), ("hide_object", "cabinet 2")) == "a mug is in something closed."


def test_new_places_and_things_leave_old_names_as_they_are(make_kitchen):
    before = make_kitchen()
    after = apply(before, ("add_places", "Cabinet"), ("add_things", "Plate"))
    names = {e.id: e.name for e in (*after.receptacles, *after.items)}
    assert all(names[e.id] == e.name for e in (*before.receptacles, *before.items))
    assert len(after.receptacles) == len(before.receptacles) + 3
    assert len(after.items) == len(before.items) + 3
    assert len(set(names.values())) == len(names)


def test_opening_and_nearing_shorten_the_plan_and_hiding_lengthens_it(make_kitchen):
    def length(*edits):
        scene = apply(make_kitchen(), *edits)
        task = rewritten_scene(scene)
        return len(plan(World(game_of(task))))

    def rewritten_scene(scene):
        from rla_envs.alfworld.engine import scene_to_payload

        payload = {"scene": scene_to_payload(scene), "task_type": scene.goal.task_type}
        return Task(id="k", domain="alfworld", instruction=scene.instruction, payload=payload)

    # go, take, go, move; hidden: go, open, take, go, move.
    assert length() == 4
    assert length(("hide_object", "cabinet 2")) == 5
    assert length(("hide_object", "cabinet 2"), ("open_all",)) == 4
    assert length(("hide_object", "cabinet 2"), ("move_nearer", "countertop 1")) == 4
    # clean: one more walk and one more command.
    assert length(("add_state", "clean")) == 6


def test_an_edit_that_does_not_apply_gives_nothing_and_an_unknown_one_is_an_error(make_kitchen):
    assert apply(make_kitchen(), ("hide_object", "safe 1")) is None
    assert apply(make_kitchen(), ("drop_state",)) is None
    with pytest.raises(TaskError, match="paint_it"):
        apply(make_kitchen(), ("paint_it",))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    directions=st.lists(st.sampled_from(["harder", "easier"]), min_size=1, max_size=5),
    seed=st.integers(0, 2**32),
)
def test_chains_of_rewrites_stay_winnable_true_and_traceable(kitchen_task, directions, seed):
    rewriter = RuleRewriter()
    task, done = kitchen_task, []
    for number, direction in enumerate(directions):
        rewrite = rewriter.propose(
            task, root=kitchen_task, direction=direction, summary=SUMMARY, seed=seed + number
        )
        if rewrite is None:
            continue
        new = rewrite.task
        assert (new.parent_id, new.root_id) == (task.id, kitchen_task.id)
        reason = check_rewrite(kitchen_task, task, new, known=())
        # Undoing what was done is the one thing a rule may propose in vain.
        assert reason in (None, "duplicate")
        if rewrite.transform == "withdraw":
            done = list(edits_of(new))
            assert len(done) == len(edits_of(task)) - 1
        else:
            added = edits_of(new)[len(done) :]
            assert rewrite.transform == "+".join(edit.name for edit in added)
            assert {edit.transform.direction for edit in added} == {direction}
            done += added
        assert list(edits_of(new)) == done

        game = game_of(new)
        assert game_from_json(game_to_json(game)).scene.goal == game.scene.goal
        world = World(game)
        assert not world.won
        for command in new.payload["walkthrough"]:
            assert command in world.admissible()
            world.step(command)
        assert world.won
        assert new.difficulty == len(new.payload["walkthrough"])
        # Replaying the edits on the root gives the very same task.
        again = rewritten(kitchen_task, edits_of(new), task_id=new.id, parent_id=task.id)
        assert again == new
        task = replace(new, id=f"{kitchen_task.id}~{number}")


def test_rewrites_of_official_games_pass_every_check(official_root):
    files = sorted(official_root.rglob("game.tw-pddl"))[::20]
    for file in files:
        payload = {"game_file": str(file), "task_type": file.parent.parent.name.split("-")[0]}
        name = str(file.parent.relative_to(official_root))
        root = Task(id=name, domain="alfworld", instruction="", payload=payload)
        root = replace(root, instruction=game_of(root).scene.instruction)
        for direction in ("harder", "easier"):
            for seed in range(4):
                rewrite = RuleRewriter().propose(
                    root, root=root, direction=direction, summary=SUMMARY, seed=seed
                )
                assert check_rewrite(root, root, rewrite.task, known=()) is None
                assert "game_file" not in rewrite.task.payload


def propose_many(task, direction, reasons, rewriter=None):
    summary = replace(SUMMARY, reasons=reasons)
    rewriter = rewriter or RuleRewriter()
    return Counter(
        rewriter.propose(
            task, root=task, direction=direction, summary=summary, seed=seed
        ).transform.split("+")[0]
        for seed in range(200)
    )


def test_the_transform_answers_what_the_votes_were_about(kitchen_task):
    chosen = propose_many(kitchen_task, "easier", {"searches an old place": 9})
    about = {t.name for t in TRANSFORMS.values() if "search" in t.topics}
    # 7 of 9 transforms that apply are about searching, at weight 1.1 against 0.1.
    assert sum(chosen[name] for name in about) >= 180
    chosen = propose_many(kitchen_task, "harder", {"takes the wrong thing": 9})
    about = {t.name for t in TRANSFORMS.values() if "thing" in t.topics}
    assert sum(chosen[name] for name in about) >= 160


def test_untargeted_rewrites_do_not_look_at_the_errors(kitchen_task):
    control = RuleRewriter(targeted=False)
    one = propose_many(kitchen_task, "harder", {"takes the wrong thing": 9}, control)
    other = propose_many(kitchen_task, "harder", {"searches an old place": 9}, control)
    assert one == other


def test_a_transform_that_failed_its_trials_is_chosen_less(kitchen_task):
    def share(tried):
        summary = replace(SUMMARY, tried=tried)
        names = [
            RuleRewriter()
            .propose(
                kitchen_task, root=kitchen_task, direction="harder", summary=summary, seed=seed
            )
            .transform.split("+")[0]
            for seed in range(200)
        ]
        return names.count("add_things") / len(names)

    # (0 + 1) / (8 + 2) against (0 + 1) / (0 + 2) of the others: a fifth of the weight.
    assert share({"add_things": (0, 8)}) < share({}) / 2
    assert share({"add_things": (8, 8)}) > share({})


def test_a_full_list_of_edits_gives_one_back(kitchen_task):
    edits = [
        Edit("add_places", ("Cabinet",)),
        Edit("add_things", ("Plate",)),
        Edit("open_all"),
        Edit("add_places", ("Shelf",)),
        Edit("add_things", ("Apple",)),
        Edit("two_objects"),
        Edit("add_places", ("CounterTop",)),
        Edit("add_things", ("Plate",)),
    ]
    full = rewritten(kitchen_task, edits, task_id="room/kitchen~6", parent_id="room/kitchen~5")
    rewrite = RuleRewriter().propose(
        full, root=kitchen_task, direction="harder", summary=SUMMARY, seed=0
    )
    assert rewrite.transform == "withdraw"
    assert edits_of(rewrite.task) == tuple(edit for edit in edits if edit.name != "open_all")


def effort_of(scene, hint=None):
    return effort(scene, len(plan(World(Game(scene=scene)))), hint)


def test_effort_counts_the_places_that_may_hold_the_thing(make_kitchen):
    scene = make_kitchen()
    # A mug fits in 2 countertops, 2 cabinets, sink, microwave, fridge, table, shelf: 9 places, 4 of
    # them closed; 3 hold one. The first is found at place (9 + 1) / (3 + 1) = 2.5, the plan has one
    # of these visits; a visit costs 1 + 4/9. Five other things lie there, one in the fridge.
    assert effort_of(scene) == pytest.approx(4 + 1.5 * (1 + 4 / 9) + 0.1 * 5)
    hidden = apply(scene, ("hide_object", "cabinet 2"))
    # One place holds them: found at place (9 + 1) / 2 = 5. No other thing has moved.
    assert effort_of(hidden) == pytest.approx(5 + 4 * (1 + 4 / 9) + 0.1 * 5)
    # Told which place, only its own clutter is left: none.
    assert effort_of(hidden, "place") == pytest.approx(5)


def test_bolder_rewrites_change_more(kitchen_task):
    def gains(push):
        summary = replace(SUMMARY, push=push)
        efforts = []
        for seed in range(20):
            rewrite = RuleRewriter().propose(
                kitchen_task, root=kitchen_task, direction="harder", summary=summary, seed=seed
            )
            efforts.append(effort_of(game_of(rewrite.task).scene))
        return sum(efforts) / len(efforts) / effort_of(game_of(kitchen_task).scene)

    assert 1.1 < gains(-1) < gains(0) < gains(3)


def test_the_reason_quotes_the_votes(kitchen_task):
    summary = replace(SUMMARY, reasons={"searches an old place": 9, "wastes a step": 3})
    reasons = {
        rewrite.transform.split("+")[0]: rewrite.reason
        for seed in range(40)
        for rewrite in [
            RuleRewriter().propose(
                kitchen_task, root=kitchen_task, direction="harder", summary=summary, seed=seed
            )
        ]
    }
    assert reasons["hide_object"] == "searches an old place (9 of 12 negative votes)"


def test_every_negative_reason_of_the_oracle_has_a_topic():
    negative = [reason for reason, sign in REASONS.items() if sign == -1]
    assert [reason for reason in negative if topic_of(reason) is None] == []
    assert topic_of("searches an old place") == "search"
    assert topic_of("takes the wrong thing") == "thing"
    assert topic_of("puts it in the wrong place") == "place"
    assert topic_of("forgets to change it") == "change"
    assert topic_of("nothing happens") == "progress"


def test_topic_shares_add_up_to_one():
    shares = topic_shares({"searches an old place": 3, "takes the wrong thing": 1, "bad step": 8})
    assert shares == {"search": 0.75, "thing": 0.25}
    assert topic_shares({"bad step": 8}) == {}
