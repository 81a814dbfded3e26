"""Problems of our own: certified, told apart, and disjoint over splits."""

from itertools import pairwise

import pytest
import rla_task_sets
from rla_task_sets.coding import write_problems
from rla_task_sets.coding.generated import KINDS, SIZES, SPLITS, generate, split_of
from rla_task_sets.coding.operations import (
    OPERATIONS,
    check_plan,
    expression,
    neighbours,
    program,
    run_plan,
)
from rla_task_sets.coding.specification import TESTS, Specification, make_task
from rla_task_sets.fingerprints import fingerprint

from rla_envs.coding.grading import gate, ground_truth, literal
from rla_envs.coding.problem import Problem, problem_of
from rla_envs.errors import ConfigError, TaskError


def plan(task):
    specification = Specification.from_json(task.payload["specification"])
    return specification.kind, specification.steps


def test_a_plan_means_what_its_program_says_by_hand():
    steps = (("keep even", None), ("add", 3), ("sum", None))
    assert run_plan("numbers", steps, [1, 2, 4]) == 5 + 7
    assert program("numbers", steps) == (
        "def f(xs): xs = [x for x in xs if x % 2 == 0]; xs = [x + 3 for x in xs]; return sum(xs)"
    )
    assert run_plan("text", (("drop vowels", None), ("reverse", None)), "radio") == "dr"
    assert expression("numbers", ("last", 2), argument="y") == "y[-2:]"


@pytest.mark.parametrize("size", SIZES)
def test_reference_passes_and_starter_and_mutants_fail(size, grader):
    for task in generate(n=6, size=size, seed=3):
        assert list(gate(problem_of(task), grader)) == []


@pytest.mark.parametrize(("kind", "argument"), [("numbers", [3, -1, 4, 4, 0]), ("text", "abroad")])
def test_every_operation_runs_as_it_is_written(kind, argument, grader):
    for name, operation in OPERATIONS[kind].items():
        constant = operation.constants[-1] if operation.constants else None
        start = [("count", None)] if operation.takes == "value" else []
        steps = (*start, (name, constant))
        expected = run_plan(kind, steps, argument)
        case = {"args": repr((argument,)), "expected": repr(expected)}
        tried = Problem(kind="call", entry_point="f", tests=(case,))
        assert grader.grade(tried, program(kind, steps)).right, steps


@pytest.mark.parametrize("size", SIZES)
def test_no_plan_is_in_two_splits(size):
    seen = {}
    for split in SPLITS:
        for task in generate(n=60, size=size, split=split):
            assert seen.setdefault(plan(task), split) == split
            assert split_of(*plan(task)) == split


def test_valid_unseen_has_pairs_that_training_never_has():
    def pairs(split):
        tasks = generate(n=120, split=split, size="medium", kinds=("numbers",))
        return [set(pairwise(name for name, _ in plan(task)[1])) for task in tasks]

    trained = set().union(*pairs("train"), *pairs("valid_seen"))
    assert all(held_out - trained for held_out in pairs("valid_unseen"))


def test_a_longer_list_begins_with_the_shorter_one_and_repeats_nothing():
    short, long = generate(n=10, seed=5), generate(n=40, seed=5)
    assert long[:10] == short
    assert len({fingerprint(task) for task in long}) == 40
    assert [plan(t)[0] for t in long[:4]] == ["numbers", "text", "numbers", "text"]


def test_results_vary_and_there_are_mutants():
    for task in generate(n=20):
        problem = problem_of(task)
        assert len(problem.tests) <= TESTS
        assert len({case["expected"] for case in problem.tests}) >= 3
        assert len(problem.mutants) >= 2


def test_expected_values_are_those_of_the_plan():
    for task in generate(n=10, size="large"):
        for case in problem_of(task).tests:
            (argument,) = literal(case["args"])
            assert literal(case["expected"]) == run_plan(*plan(task), argument)


def test_slips_fit_and_differ():
    steps = (("keep above", 2), ("count", None))
    found = neighbours("numbers", steps)
    assert (("keep above", 3), ("count", None)) in found
    assert (("keep below", 2), ("count", None)) in found
    assert (("count", None),) in found
    assert (("keep above", 2),) in found
    assert steps not in found
    assert len(found) == len(set(found))


def test_an_uninformative_plan_is_no_problem():
    # Nothing is left after both filters, so nobody could fail.
    steps = (("keep even", None), ("keep odd", None))
    assert make_task(Specification(kind="numbers", steps=steps), task_id="x") is None


def test_what_does_not_fit_is_refused():
    with pytest.raises(TaskError, match="takes items"):
        check_plan("numbers", (("sum", None), ("sort", None)))
    with pytest.raises(TaskError, match="no operation"):
        check_plan("text", (("square", None),))
    with pytest.raises(TaskError, match="constant"):
        check_plan("numbers", (("add", None),))
    with pytest.raises(TaskError, match="at least one step"):
        check_plan("numbers", ())
    with pytest.raises(TaskError, match="bounds"):
        Specification(kind="numbers", steps=(("sum", None),), length=0)


def test_arguments_out_of_range_are_refused():
    with pytest.raises(ConfigError, match="split must be"):
        generate(split="test")
    with pytest.raises(ConfigError, match="kinds must be"):
        generate(kinds=("graphs",))
    with pytest.raises(TaskError, match="ask for fewer"):
        generate(n=500, kinds=("text",))


def test_a_specification_survives_json():
    for task in generate(n=len(KINDS) * 2):
        data = task.payload["specification"]
        assert Specification.from_json(data).to_json() == data
    with pytest.raises(TaskError, match="malformed"):
        Specification.from_json({"kind": "numbers"})


def test_difficulty_grows_with_steps_and_falls_with_aids():
    plain = Specification(kind="numbers", steps=(("add", 2), ("sum", None)))
    task = make_task(plain, task_id="a")
    assert task.difficulty == 2.25
    aided = Specification(kind="numbers", steps=plain.steps, examples=1, hints=(0,))
    helped = make_task(aided, task_id="b")
    assert helped.difficulty == 1.25
    assert "Example: f(" in helped.instruction
    assert "Hint: step 1 of a value y is `[x + 2 for x in y]`." in helped.instruction
    assert helped.payload["tests"] == task.payload["tests"]


def test_problems_written_to_disk_come_back_equal(tmp_path):
    tasks = generate(n=4)
    path = write_problems(tasks, tmp_path / "deep" / "train.jsonl")
    assert rla_task_sets.load("coding/local", root=path) == tasks
    assert rla_task_sets.load("coding/local", root=path.parent, split="train") == tasks
    (tmp_path / "bad.jsonl").write_text('{"id": "x"}\n')
    with pytest.raises(TaskError):
        rla_task_sets.load("coding/local", root=tmp_path / "bad.jsonl")


def test_public_tests_are_a_prefix_and_something_stays_hidden():
    for task in generate(n=4):
        problem = problem_of(task)
        assert problem.public == (0, 1)
        assert len(ground_truth(problem)) > len(problem.public)
