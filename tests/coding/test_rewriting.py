"""Rewrites: certified, on the root's topic, and refused for the reason that is counted."""

from dataclasses import replace

import pytest
from rla_task_sets.coding import check_rewrite, generate
from rla_task_sets.coding.generated import split_of
from rla_task_sets.coding.rewrites import keeps_plan
from rla_task_sets.coding.specification import Specification, make_task

from rla_envs.coding.problem import problem_of
from rla_envs.coding.rewriting import LLMRewriter, RuleRewriter
from rla_envs.coding.rewriting.rules import failure_shares
from rla_envs.coding.rewriting.transforms import TRANSFORMS
from rla_envs.curriculum import Curriculum, CurriculumConfig
from rla_envs.types import Completion, ErrorSummary, Refusal, Rewrite, Task


def summary(**reasons):
    said = {reason.replace("_", " "): count for reason, count in reasons.items()}
    return ErrorSummary(task_id="t", accuracy=0.0, reasons=said, episodes=8)


def specified(task):
    return Specification.from_json(task.payload["specification"])


@pytest.fixture(scope="module")
def roots():
    return generate(n=8, seed=2)


@pytest.mark.parametrize("direction", ["harder", "easier"])
def test_rule_based_rewrites_pass_the_static_checks(direction, roots):
    found = 0
    for seed, root in enumerate(roots):
        rewrite = RuleRewriter().propose(
            root, root=root, direction=direction, summary=summary(), seed=seed
        )
        if rewrite is not None:
            found += 1
            assert check_rewrite(root, root, rewrite.task, ()) is None
            assert rewrite.task.parent_id == root.id
            assert rewrite.task.payload["edits"] == rewrite.transform.split("+")
    assert found >= 5


def test_rewrites_stay_in_the_split_and_on_the_topic_of_their_root(roots):
    task = root = roots[0]
    for seed in range(6):
        direction = ("harder", "harder", "easier")[seed % 3]
        rewrite = RuleRewriter(targeted=False).propose(
            task, root=root, direction=direction, summary=summary(), seed=seed
        )
        if rewrite is None:
            continue
        task = rewrite.task
        assert split_of(specified(task).kind, specified(task).steps) == "train"
        assert keeps_plan(specified(root).steps, specified(task).steps)


def test_every_transform_keeps_its_promise():
    def load(task):
        now = specified(task)
        aids = now.examples + len(now.hints)
        return len(now.steps) * 100 + now.length + now.largest + 5 * now.negative - 10 * aids

    steps = (("keep even", None), ("add", 3), ("sum", None))
    rich = Specification(
        kind="numbers", steps=steps, length=8, largest=18, negative=True, examples=1, hints=(0,)
    )
    for transform in TRANSFORMS.values():
        before = make_task(rich, task_id="x")
        options = transform.options(rich)
        assert options, transform.name
        for option in options[:5]:
            after = make_task(option, task_id="y")
            if after is not None:
                harder = load(after) > load(before)
                assert harder == (transform.direction == "harder"), transform.name


def test_failures_choose_the_transform(roots):
    assert failure_shares({"wrong answer on f(1): got 2": 3, "exception on f(1): x": 1}) == {
        "crash": 0.25,
        "answer": 0.75,
    }
    assert failure_shares({}) == {}
    root = next(task for task in roots if len(specified(task).steps) == 2)

    def first(**reasons):
        names = [
            RuleRewriter()
            .propose(root, root=root, direction="easier", summary=summary(**reasons), seed=seed)
            .transform
            for seed in range(60)
        ]
        return names.count("example") / len(names)

    assert first(wrong_answer_on_it=9) > first(exception_on_it=9)


def test_the_same_seed_gives_the_same_rewrite(roots):
    def once():
        return RuleRewriter().propose(
            roots[0], root=roots[0], direction="harder", summary=summary(), seed=4
        )

    assert once() == once()


def changed(task, **payload):
    return replace(task, id="new", payload={**task.payload, **payload})


def test_reasons_of_refusal_of_generated_problems(roots):
    root, other = roots[0], roots[2]
    new = RuleRewriter().propose(root, root=root, direction="harder", summary=summary(), seed=1)
    good = new.task
    assert check_rewrite(root, root, changed(good, tests=[]), ()) == "malformed"
    assert check_rewrite(root, root, changed(good, kind="oops"), ()) == "malformed"
    stale = replace(good, instruction=good.instruction + " Or not.")
    assert check_rewrite(root, root, stale, ()) == "stale instruction"
    wrong = [{**case, "expected": "77"} for case in good.payload["tests"]]
    assert check_rewrite(root, root, changed(good, tests=wrong), ()) == "stale instruction"
    assert check_rewrite(other, other, good, ()) == "intention lost"
    from rla_task_sets.fingerprints import fingerprint

    assert check_rewrite(root, root, good, {fingerprint(good)}) == "duplicate"
    assert check_rewrite(root, root, root, ()) == "duplicate"


def test_reasons_of_refusal_of_any_other_problem(double, grader):
    new = replace(double, id="new", instruction="Write `double(x)`: twice x, also for large x.")
    assert check_rewrite(double, double, new, ()) is None
    mute = replace(new, instruction="Return twice the number.")
    assert check_rewrite(double, double, mute, ()) == "stale instruction"
    assert check_rewrite(double, double, changed(new, entry_point="twice"), ()) in (
        "stale instruction",
        "intention lost",
    )
    failing = changed(new, reference="def double(x): return x")
    assert check_rewrite(double, double, failing, ()) == "unsolvable"
    assert check_rewrite(double, double, changed(new, reference=None), ()) == "unsolvable"
    harmless = changed(new, mutants=["def double(x): return x + x"])
    assert check_rewrite(double, double, harmless, ()) == "solved at start"
    assert check_rewrite(double, double, changed(new, mutants=[]), ()) == "solved at start"


REPLY = """The square is asked for as well, which mixes up careless programs.
```problem
Write `double(x)` that returns twice x, or x squared if x is negative.
```
```solution
def double(x):
    return x * x if x < 0 else x + x
```
```tests
assert double(1) == 2
assert double(-3) == 9
assert double(0) == 0
assert double(y) == 1
```
"""


class Says:
    def __init__(self, text):
        self.text, self.asked = text, []

    def sample(self, conversations, *, n=1, sampling=None, seeds=None):
        self.asked += list(conversations)
        return [[Completion(text=self.text)] for _ in conversations]


def proposed(text, task, grader):
    model = Says(text)
    rewriter = LLMRewriter(model, grader)
    said = summary(wrong_answer_on_it=3)
    return rewriter.propose(task, root=task, direction="harder", summary=said, seed=0), model


def test_an_llm_rewrite_carries_a_reference_tests_and_failing_mutants(double, grader):
    rewrite, model = proposed(REPLY, double, grader)
    assert isinstance(rewrite, Rewrite)
    problem = problem_of(rewrite.task)
    assert len(problem.tests) == 3
    assert problem.mutants
    assert grader.grade(problem, problem.reference).right
    assert not any(grader.grade(problem, mutant).right for mutant in problem.mutants)
    assert check_rewrite(double, double, rewrite.task, ()) is None
    assert rewrite.reason.startswith("The square is asked for")
    prompt = model.asked[0][0]["content"]
    assert "wrong answer on it (3 times)" in prompt
    assert "Make the problem harder" in prompt
    assert double.payload["reference"].strip() not in prompt


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("```tests", "```text", "unparsed"),
        ("assert double(0) == 0\n", "", "unparsed"),
        ("def double(x):", "def double(x)", "unparsed"),
        ("double(-3) == 9", "double(-3) == -6", "unsolvable"),
        ("return x * x if x < 0 else x + x", "return {1: 2, -3: 9, 0: 0}[x]", ""),
    ],
)
def test_an_llm_rewrite_is_refused_for_a_reason(old, new, reason, double, grader):
    answer, _ = proposed(REPLY.replace(old, new), double, grader)
    assert isinstance(answer, Refusal) == bool(reason)
    if reason:
        assert answer.reason == reason


def test_tests_that_let_every_mutant_pass_are_refused(double, grader):
    # Nothing but 0 is asked for, so that no wrong constant and no wrong operator shows.
    text = REPLY.replace("return x * x if x < 0 else x + x", "return x and x")
    text = text.replace("double(1) == 2", "double(0) == 0.0").replace("double(-3) == 9", "not x")
    text = text.replace("double(y) == 1", "double(0) == 0\nassert double(0j) == 0")
    answer, _ = proposed(text, double, grader)
    assert isinstance(answer, Refusal)


def test_the_curriculum_takes_coding_tasks_and_its_own_checks(roots):
    curriculum = Curriculum(roots[:4], config=CurriculumConfig(rewrite="none"), rewriter=None)
    assert curriculum.check is not None
    draws = curriculum.draw(4, seed=0)
    assert {draw.task.id for draw in draws} == {task.id for task in roots[:4]}
    curriculum.close()


def test_no_rules_for_problems_that_are_not_generated(double):
    assert isinstance(double, Task)
    rewriter = RuleRewriter()
    assert (
        rewriter.propose(double, root=double, direction="harder", summary=summary(), seed=0) is None
    )
