"""The state machine: draws, trials, acceptance, control, rollback, lineage, snapshots."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from rla_envs.curriculum import AcceptanceConfig, Curriculum, CurriculumConfig
from rla_envs.errors import ConfigError, RunError
from rla_envs.types import Refusal

NO_NULL = CurriculumConfig(null_share=0.0)


def build(tasks, rewriter, config=NO_NULL, **options):
    return Curriculum(tasks, config=config, rewriter=rewriter, check=lambda *tasks: None, **options)


def step(curriculum, make_group, version, wins, *, n=4, size=8):
    """Draw, let wins(task) of size episodes be won, report, adapt."""
    draws = curriculum.draw(n, seed=version)
    groups = []
    for draw in draws:
        won = wins(draw.task)
        outcomes = [1] * won + [-1] * (size - won)
        groups.append(make_group(draw.task, outcomes, version=version, on_trial=draw.on_trial))
    curriculum.report(groups, policy_version=version)
    return draws, curriculum.adapt(policy_version=version, seed=version)


def by_accuracy(task):
    return round(8 * task.payload["accuracy"])


def test_tasks_inside_the_band_are_left_alone(make_tasks, shift_rewriter, make_group):
    curriculum = build(make_tasks(0.5, 0.4, 0.6), shift_rewriter)
    for version in range(4):
        draws, report = step(curriculum, make_group, version, by_accuracy)
        assert {draw.role for draw in draws} == {"train"}
        assert report.proposed == 0
    assert shift_rewriter.asked == []


def test_an_easy_task_gets_a_harder_rewrite_that_is_tried_beside_it_and_then_replaces_it(
    make_tasks, shift_rewriter, make_group
):
    curriculum = build(make_tasks(0.98, 0.5, 0.5, 0.5), shift_rewriter)
    _, report = step(curriculum, make_group, 0, by_accuracy)
    assert (report.proposed, report.on_trial) == (1, 1)
    assert shift_rewriter.asked[0][:2] == ("t0", "harder")

    draws, report = step(curriculum, make_group, 1, by_accuracy)
    roles = {draw.role: draw for draw in draws}
    assert roles["trial_old"].task.id == "t0"
    assert roles["trial_new"].task.id == "t0~1"
    assert roles["trial_new"].on_trial
    assert not roles["trial_old"].on_trial

    for version in (2, 3):
        _, report = step(curriculum, make_group, version, by_accuracy)
    assert report.totals["accepted"] == 1
    served = {task.id for task in curriculum.active()}
    assert served == {"t0~1", "t1", "t2", "t3"}
    lineage = curriculum.lineage("t0~1")
    assert [task.id for task in lineage] == ["t0", "t0~1"]
    assert (lineage[1].parent_id, lineage[1].root_id) == ("t0", "t0")


def test_a_hard_task_gets_an_easier_rewrite(make_tasks, shift_rewriter, make_group):
    curriculum = build(make_tasks(0.05, 0.5), shift_rewriter)
    for version in range(6):
        step(curriculum, make_group, version, by_accuracy)
    assert shift_rewriter.asked[0][:2] == ("t0", "easier")
    assert "t0~1" in {task.id for task in curriculum.active()}


def test_the_rewriter_reads_what_negative_votes_said(make_tasks, shift_rewriter, make_group):
    curriculum = build(make_tasks(0.5), shift_rewriter)
    [draw] = curriculum.draw(1, seed=0)
    group = make_group(draw.task, [-1] * 7 + [1], reason="Takes the  WRONG thing")
    curriculum.report([group], policy_version=0)
    curriculum.adapt(policy_version=0, seed=0)
    summary = shift_rewriter.asked[0][2]
    assert summary.reasons == {"takes the wrong thing": 7}
    assert (summary.accuracy, summary.episodes) == (1 / 8, 8)


def test_masked_outcomes_say_nothing(make_tasks, shift_rewriter, make_group):
    curriculum = build(make_tasks(0.5), shift_rewriter)
    [draw] = curriculum.draw(1, seed=0)
    curriculum.report([make_group(draw.task, [None] * 8)], policy_version=0)
    assert curriculum.adapt(policy_version=0, seed=0).proposed == 0
    # Seven wins and a masked episode are seven episodes: fewer than the window of eight.
    curriculum.report([make_group(draw.task, [1] * 7 + [None])], policy_version=0)
    assert curriculum.adapt(policy_version=0, seed=0).proposed == 0
    curriculum.report([make_group(draw.task, [1])], policy_version=0)
    assert curriculum.adapt(policy_version=0, seed=0).proposed == 1


def test_outcomes_of_different_policies_are_never_compared(make_tasks, shift_rewriter, make_group):
    curriculum = build(make_tasks(0.98, 0.5), shift_rewriter)
    step(curriculum, make_group, 0, by_accuracy)
    old, new = curriculum.store.task("t0"), curriculum.store.task("t0~1")
    curriculum.report([make_group(old, [1] * 8)], policy_version=1)
    curriculum.report([make_group(new, [-1] * 8)], policy_version=2)
    curriculum.report([make_group(old, [1] * 8)], policy_version=3)
    curriculum.adapt(policy_version=3, seed=3)
    assert curriculum.store.rows("SELECT * FROM blocks WHERE closed") == []
    curriculum.report([make_group(new, [1] * 8)], policy_version=3)
    curriculum.adapt(policy_version=3, seed=4)
    rows = curriculum.store.rows("SELECT * FROM blocks WHERE closed")
    assert [(r["policy_version"], r["old_n"], r["new_n"]) for r in rows] == [(3, 8, 8)]


def test_single_episodes_serve_both_sides_of_a_trial_in_turn(
    make_tasks, shift_rewriter, make_group
):
    config = CurriculumConfig(null_share=0.0, trial_share=1.0)
    curriculum = build(make_tasks(0.98, 0.5), shift_rewriter, config)
    rng = random.Random(0)
    roles = []
    for episode in range(300):
        [draw] = curriculum.draw(1, seed=episode)
        roles.append(draw.role)
        won = rng.random() < draw.task.payload["accuracy"]
        curriculum.report([make_group(draw.task, [1 if won else -1])], policy_version=0)
        report = curriculum.adapt(policy_version=0, seed=episode)
        if report.accepted:
            break
    trial = [role for role in roles if role.startswith("trial")]
    assert trial[:4] == ["trial_old", "trial_new", "trial_old", "trial_new"]
    assert "t0~1" in report.accepted


def test_null_trials_are_counted_and_never_installed(make_tasks, shift_rewriter, make_group):
    config = CurriculumConfig(null_share=1.0)
    curriculum = build(make_tasks(0.98, 0.02, 0.98, 0.02), shift_rewriter, config)
    for version in range(30):
        draws, report = step(curriculum, make_group, version, by_accuracy)
        # A null copy is the task itself, so its episodes train.
        assert not any(draw.on_trial for draw in draws)
    assert report.totals["null_decided"] > 0
    assert report.null_accept_rate == report.metrics()["tasks/null_accept_rate"] == 0.0
    assert (report.totals["accepted"], report.totals["proposed"]) == (0, 0)
    assert {task.id for task in curriculum.active()} == {"t0", "t1", "t2", "t3"}


def test_every_fifth_trial_is_a_null_one(make_tasks, shift_rewriter, make_group):
    curriculum = build(make_tasks(*[0.98] * 12), shift_rewriter, CurriculumConfig(null_share=0.2))
    for version in range(40):
        step(curriculum, make_group, version, by_accuracy, n=8)
    kinds = [row["kind"] for row in curriculum.store.rows("SELECT kind FROM trials ORDER BY id")]
    assert [i for i, kind in enumerate(kinds[:10]) if kind == "null"] == [4, 9]


def test_trials_take_no_more_than_their_share(make_tasks, shift_rewriter, make_group):
    curriculum = build(make_tasks(*[0.98] * 16), shift_rewriter)
    for version in range(12):
        draws, _ = step(curriculum, make_group, version, by_accuracy, n=8)
        roles = Counter(draw.role for draw in draws)
        assert len(draws) == 8
        assert roles["trial_old"] == roles["trial_new"] <= 2


def test_served_tasks_are_drawn_equally_often(make_tasks):
    curriculum = build(make_tasks(*[0.5] * 6), None, CurriculumConfig(rewrite="none"))
    drawn = Counter(d.task.id for seed in range(9) for d in curriculum.draw(4, seed=seed))
    assert set(drawn.values()) == {6}


def test_static_rejections_are_counted_by_reason(make_tasks, make_group):
    class Speechless:
        def propose(self, task, *, root, direction, summary, seed):
            return Refusal(reason="unparsed")

    config = CurriculumConfig(null_share=0.0, attempts=3)
    curriculum = build(make_tasks(0.98), Speechless(), config)
    _, report = step(curriculum, make_group, 0, by_accuracy)
    assert dict(report.rejected) == {"unparsed": 3}
    assert report.metrics()["tasks/rejected/unparsed"] == 3


def test_a_check_that_fails_is_a_rejection(make_tasks, shift_rewriter, make_group):
    curriculum = Curriculum(
        make_tasks(0.98),
        config=NO_NULL,
        rewriter=shift_rewriter,
        check=lambda root, old, new, known: "unsolvable",
    )
    _, report = step(curriculum, make_group, 0, by_accuracy)
    assert dict(report.rejected) == {"unsolvable": 4}
    assert report.on_trial == 0


def accept_one(curriculum, make_group, wins):
    for version in range(8):
        _, report = step(curriculum, make_group, version, wins)
        if report.accepted:
            return version + 1
    raise AssertionError("nothing was accepted")


def test_an_accepted_task_that_turns_out_too_hard_is_taken_back(
    make_tasks, shift_rewriter, make_group
):
    curriculum = build(make_tasks(0.98, 0.5), shift_rewriter)
    version = accept_one(curriculum, make_group, by_accuracy)
    taken_back = ()
    while not taken_back and version < 30:
        _, report = step(
            curriculum, make_group, version, lambda t: 0 if "~" in t.id else by_accuracy(t)
        )
        taken_back, version = report.rolled_back, version + 1
    assert taken_back == ("t0~1",)
    assert {task.id for task in curriculum.active()} == {"t0", "t1"}
    [row] = curriculum.store.rows("SELECT * FROM decisions WHERE kind = 'rolled_back'")
    assert row["reason"] == "too hard"


def test_the_rewriter_learns_how_its_transforms_fared(make_tasks, shift_rewriter, make_group):
    curriculum = build(make_tasks(*[0.98] * 6), shift_rewriter)
    for version in range(10):
        step(curriculum, make_group, version, by_accuracy)
    accepted = curriculum.adapt(policy_version=10, seed=10).totals["accepted"]
    tried = shift_rewriter.asked[-1][2].tried
    assert 0 < tried["shift"][0] == tried["shift"][1] <= accepted


def test_a_task_can_be_rolled_back_by_hand(make_tasks, shift_rewriter, make_group):
    curriculum = build(make_tasks(0.98, 0.5), shift_rewriter)
    version = accept_one(curriculum, make_group, by_accuracy)
    assert curriculum.rollback("t0~1", policy_version=version).id == "t0"
    assert {task.id for task in curriculum.active()} == {"t0", "t1"}
    with pytest.raises(RunError, match="not served"):
        curriculum.rollback("t0~1", policy_version=version)
    with pytest.raises(RunError, match="root"):
        curriculum.rollback("t0", policy_version=version)


def test_a_trial_on_a_task_that_is_no_longer_served_ends(make_tasks, shift_rewriter, make_group):
    curriculum = build(make_tasks(0.98, 0.5), shift_rewriter)
    version = accept_one(curriculum, make_group, by_accuracy)

    def too_easy(task):
        return 8 if task.root_id == "t0" else 4

    while not curriculum.store.rows("SELECT 1 FROM trials WHERE status = 'open'"):
        step(curriculum, make_group, version, too_easy)
        version += 1
    curriculum.rollback("t0~1", policy_version=version)
    report = curriculum.adapt(policy_version=version, seed=0)
    assert report.rejected["superseded"] == 1


def test_an_easier_rewrite_that_was_outgrown_gives_way_to_its_parent_after_a_trial(
    make_tasks, shift_rewriter, make_group
):
    config = replace(NO_NULL, rollback_alpha=None)
    curriculum = build(make_tasks(0.05, 0.5), shift_rewriter, config)
    version = accept_one(curriculum, make_group, by_accuracy)
    for later in range(version, version + 12):
        step(
            curriculum,
            make_group,
            later,
            lambda t: {"t0": 4, "t0~1": 8}.get(t.id, by_accuracy(t)),
        )
    kinds = [row["kind"] for row in curriculum.store.rows("SELECT kind FROM trials ORDER BY id")]
    assert kinds[:2] == ["rewrite", "restore"]
    assert "t0" in {task.id for task in curriculum.active()}


def test_the_published_rule_decides_after_one_group(make_tasks, shift_rewriter, make_group):
    config = replace(NO_NULL, acceptance=AcceptanceConfig(rule="paper"))
    curriculum = build(make_tasks(0.98, 0.5), shift_rewriter, config)
    step(curriculum, make_group, 0, by_accuracy)
    _, report = step(curriculum, make_group, 1, lambda t: 7 if "~" in t.id else 8)
    assert report.accepted == ("t0~1",)


def test_without_a_test_rewrites_are_installed_at_once_at_the_given_rate(
    make_tasks, shift_rewriter, make_group
):
    config = CurriculumConfig(
        rewrite="random", acceptance=AcceptanceConfig(rule="always"), rewrites_per_adapt=0.5
    )
    curriculum = build(make_tasks(*[0.5] * 8), shift_rewriter, config)
    installed = 0
    for version in range(60):
        draws, report = step(curriculum, make_group, version, by_accuracy)
        installed += len(report.accepted)
        assert {draw.role for draw in draws} == {"train"}
    assert 18 <= installed <= 42
    assert len({direction for _, direction, _ in shift_rewriter.asked}) == 2


def test_a_snapshot_continues_exactly_like_the_original(
    make_tasks, shift_rewriter, make_group, tmp_path
):
    tasks = make_tasks(0.98, 0.02, 0.5, 0.9, 0.1, 0.6)
    config = CurriculumConfig(null_share=0.3)
    original = build(tasks, shift_rewriter, config, store=tmp_path / "run" / "curriculum.sqlite")
    for version in range(7):
        step(original, make_group, version, by_accuracy)
    original.snapshot(tmp_path / "checkpoint" / "curriculum.sqlite")
    rest = [step(original, make_group, v, by_accuracy) for v in range(7, 16)]
    # The same file goes back in time, as after a crash in the middle of iteration 16.
    original.close()
    restored = Curriculum.restore(
        tmp_path / "checkpoint" / "curriculum.sqlite",
        tasks,
        config=config,
        rewriter=shift_rewriter,
        store=tmp_path / "run" / "curriculum.sqlite",
        check=lambda *tasks: None,
    )
    again = [step(restored, make_group, v, by_accuracy) for v in range(7, 16)]
    assert again == rest


def test_a_store_is_not_opened_with_other_tasks_or_settings(make_tasks, shift_rewriter, tmp_path):
    path = tmp_path / "c.sqlite"
    build(make_tasks(0.5, 0.5), shift_rewriter, store=path).close()
    with pytest.raises(RunError, match="other tasks"):
        build(make_tasks(0.5), shift_rewriter, store=path)
    with pytest.raises(RunError, match="other settings"):
        build(make_tasks(0.5, 0.5), shift_rewriter, CurriculumConfig(), store=path)
    (tmp_path / "text").write_text("no database, but long enough to be mistaken for one" * 50)
    with pytest.raises(RunError, match="not a curriculum"):
        build(make_tasks(0.5), shift_rewriter, store=tmp_path / "text")
    with pytest.raises(RunError, match="no curriculum snapshot"):
        Curriculum.restore(tmp_path / "none", make_tasks(0.5), rewriter=shift_rewriter)


def test_wrong_arguments_are_refused(make_tasks, shift_rewriter, make_group):
    with pytest.raises(ConfigError, match="at least one task"):
        build([], shift_rewriter)
    with pytest.raises(ConfigError, match="twice"):
        build(make_tasks(0.5) * 2, shift_rewriter)
    with pytest.raises(ConfigError, match="rewriter"):
        build(make_tasks(0.5), None)
    with pytest.raises(ConfigError, match="band"):
        CurriculumConfig(band=(0.9, 0.2))
    curriculum = build(make_tasks(0.5), shift_rewriter)
    with pytest.raises(ConfigError, match="n=0"):
        curriculum.draw(0, seed=0)
    stranger = replace(make_tasks(0.5)[0], id="stranger", root_id="stranger")
    with pytest.raises(RunError, match="stranger"):
        curriculum.report([make_group(stranger, [1])], policy_version=0)


def test_a_report_with_an_unknown_task_changes_nothing(make_tasks, shift_rewriter, make_group):
    tasks = make_tasks(0.5)
    curriculum = build(tasks, shift_rewriter)
    stranger = replace(tasks[0], id="stranger", root_id="stranger")
    with pytest.raises(RunError):
        curriculum.report([make_group(tasks[0], [1]), make_group(stranger, [1])], policy_version=0)
    assert curriculum.store.rows("SELECT * FROM counts") == []
