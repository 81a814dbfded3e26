"""Published sets: their canonical solutions pass, and their formats are read as published."""

import base64
import json
import pickle
import zlib

import pytest
import rla_task_sets
from rla_task_sets.coding.asserts import missing_imports, split_check
from rla_task_sets.coding.functions import join_solution

from rla_envs.coding.grading import gate, ground_truth
from rla_envs.coding.problem import problem_of
from rla_envs.errors import TaskError, TaskUnavailable


def failing(tasks, grader):
    """Return the ids of tasks whose reference does not pass."""
    found = []
    for task in tasks:
        problem = problem_of(task)
        if not grader.grade(problem, problem.reference).right:
            found.append(task.id)
    return found


def write(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.mark.slow
def test_all_canonical_solutions_of_humaneval_pass(shared_data, grader):
    tasks = rla_task_sets.load("coding/humaneval", root=shared_data / "coding/humaneval")
    assert len(tasks) == 164
    assert failing(tasks, grader) == []


@pytest.mark.slow
def test_all_canonical_solutions_of_mbpp_pass(shared_data, grader):
    """All 427. Twelve fail when joined and run as they stand, for four reasons.

    98, 124, 137, 139, 163, 233, 246, 248, 276 and 300: the tests use ``math`` without importing it.
    56: the solution is itself called ``check`` and is overwritten by the test function. 123 needs
    more than a few CPU seconds. (64 begins with a comment at another indentation.)
    """
    tasks = rla_task_sets.load("coding/mbpp", root=shared_data / "coding/mbpp")
    assert len(tasks) == 427
    assert failing(tasks, grader) == []


def test_quixbugs_right_versions_pass_and_buggy_ones_fail(shared_data, grader):
    tasks = rla_task_sets.load("coding/quixbugs", root=shared_data / "coding/quixbugs.jsonl")
    assert len(tasks) == 31
    # Buggy versions that never end cost a CPU limit a test, so only every third pair is run. The
    # expected root is exact, while the right version of sqrt stops within the precision asked for.
    left_out = {"quixbugs/knapsack", "quixbugs/levenshtein", "quixbugs/sqrt"}
    for task in tasks[::3]:
        if task.id not in left_out:
            assert list(gate(problem_of(task), grader)) == [], task.id


def test_published_mbpp_fields_are_read(shared_data, grader):
    path = shared_data / "coding/sandboxfusion_samples/code_eval_mbpp.jsonl"
    tasks = rla_task_sets.load("coding/mbpp", root=path)
    assert len(tasks) == 20
    assert failing(tasks, grader) == []
    assert "Your code should pass this test" in tasks[0].instruction


def test_codecontests_samples_of_sandboxfusion_are_read(shared_data):
    path = shared_data / "coding/sandboxfusion_samples/code_eval_code_contests.jsonl"
    tasks = rla_task_sets.load("coding/codecontests", root=path)
    assert len(tasks) >= 19
    assert all(ground_truth(problem_of(task)) for task in tasks)


def test_every_set_says_what_it_misses(tmp_path):
    for name in rla_task_sets.names():
        if name.startswith("coding/") and name != "coding/generated":
            with pytest.raises(TaskUnavailable, match="root="):
                rla_task_sets.load(name)
            with pytest.raises(TaskUnavailable, match="no "):
                rla_task_sets.load(name, root=tmp_path)


def test_prompt_and_solution_of_different_indentation_are_joined():
    prompt = "def f(x):\n    '''\n    Say \\d twice.\n    '''\n"
    joined = join_solution(prompt, "# a note\n  y = x\n  return y\n")
    assert joined == 'def f(x):\n  """Say \\\\d twice."""\n# a note\n  y = x\n  return y\n'
    compile(joined, "joined", "exec")


def test_a_check_is_split_into_its_asserts():
    source = (
        "METADATA = {}\nimport math\n"
        "def check(candidate):\n"
        "    big = 10\n"
        "    assert candidate(1) == 1\n"
        "    assert True, 'says nothing'\n"
        "    for i in range(big):\n"
        "        assert candidate(i) == i\n"
    )
    first, second = split_check(source, entry_point="same", where="x")
    assert first == "import math\ncandidate = same\nbig = 10\nassert candidate(1) == 1"
    assert second.startswith("import math\ncandidate = same\nbig = 10\nfor i in range(big):")
    with pytest.raises(TaskError, match="asserts nothing"):
        split_check("def check(c):\n    assert True\n", entry_point="f", where="x")
    with pytest.raises(TaskError, match="no function check"):
        split_check("assert f(1)", entry_point="f", where="x")


def test_only_unbound_modules_get_an_import():
    assert missing_imports("assert math.isclose(f(1), re.x)") == "import math\nimport re\n"
    assert missing_imports("import math\nassert math.isclose(f(1), 1)") == ""
    assert missing_imports("math = 3\nassert math.real == f(1)") == ""


ADD = "print(sum(map(int, input().split())))"
CONTEST = {
    "name": "1_A. Sum",
    "description": "Add two numbers.",
    "public_tests": {"input": ["1 2\n"], "output": ["3\n"]},
    "private_tests": {"input": ["5 5\n"], "output": ["10\n"]},
    "generated_tests": {"input": ["0 0\n"], "output": ["0\n"]},
    "solutions": {
        "language": [2, 3],
        "solution": ["int main..", ADD],
    },
    "incorrect_solutions": {"language": [3], "solution": ["print(3)"]},
    "time_limit": {"seconds": 1, "nanos": 500_000_000},
}


UNEVEN = {"input": ["1", "2"], "output": ["1"]}
NO_TESTS: dict = {key: {} for key in ("public_tests", "private_tests", "generated_tests")}


def test_codecontests_in_its_published_fields(tmp_path, grader):
    write(tmp_path / "valid-0.jsonl", CONTEST)
    (task,) = rla_task_sets.load("coding/codecontests", root=tmp_path, split="valid")
    problem = problem_of(task)
    assert (len(problem.tests), problem.public, problem.cpu_seconds) == (3, (0,), 7.5)
    assert list(gate(problem, grader)) == []
    with pytest.raises(TaskUnavailable, match="begins with 'test'"):
        rla_task_sets.load("coding/codecontests", root=tmp_path, split="test")


def packed(tests):
    return base64.b64encode(zlib.compress(pickle.dumps(json.dumps(tests)))).decode()


LIVE = {
    "question_title": "Sum",
    "question_content": "Given n numbers, print their sum.",
    "question_id": "abc",
    "starter_code": "",
    "public_test_cases": json.dumps([{"input": "1 2", "output": "3", "testtype": "stdin"}]),
    "private_test_cases": packed([{"input": "4 4", "output": "8", "testtype": "stdin"}]),
    "metadata": "{}",
}
METHOD = {
    **LIVE,
    "question_id": "two-sum",
    "starter_code": "class Solution:\n    def add(self, xs: List[int], k: int) -> int:\n",
    "public_test_cases": [{"input": "[1, 2]\n3", "output": "6", "testtype": "functional"}],
    "private_test_cases": packed([{"input": "[]\n0", "output": "0", "testtype": "functional"}]),
    "metadata": json.dumps({"func_name": "add"}),
}


def test_livecodebench_standard_input_and_methods(tmp_path, grader):
    write(tmp_path / "test.jsonl", LIVE, METHOD)
    stdio, method = rla_task_sets.load("coding/livecodebench", root=tmp_path)
    program = ADD
    assert grader.grade(problem_of(stdio), program).right
    problem = problem_of(method)
    assert (problem.kind, problem.entry_point, problem.public) == ("solution", "add", (0,))
    assert problem.tests[0] == {"args": "([1, 2], 3)", "expected": "6"}
    right = "class Solution:\n    def add(self, xs, k):\n        return sum(xs) + k"
    assert grader.grade(problem, right).right
    assert not grader.grade(problem, right.replace("+", "-")).right


def test_packed_tests_that_name_a_function_are_refused(tmp_path):
    class Evil:
        def __reduce__(self):
            return (print, ("owned",))

    evil = base64.b64encode(zlib.compress(pickle.dumps(Evil()))).decode()
    write(tmp_path / "test.jsonl", {**LIVE, "private_test_cases": evil})
    with pytest.raises(TaskError, match=r"wants to load builtins\.print"):
        rla_task_sets.load("coding/livecodebench", root=tmp_path)


def test_packed_tests_that_unpack_to_too_much_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("rla_task_sets.coding.contests.LARGEST_TESTS", 1000)
    bomb = packed([{"input": "0" * 5000, "output": "0", "testtype": "stdin"}])
    write(tmp_path / "test.jsonl", {**LIVE, "private_test_cases": bomb})
    with pytest.raises(TaskError, match="more than 1000 bytes"):
        rla_task_sets.load("coding/livecodebench", root=tmp_path)


def test_livebench_takes_the_statement_from_its_turns(tmp_path, grader):
    record = {
        "question_id": "q1",
        "category": "coding",
        "task": "LCB_generation",
        "turns": ["### Question: print the sum.\nUse input and output."],
        "original_json": {key: LIVE[key] for key in ("question_title", "starter_code", "metadata")},
        "public_test_cases": LIVE["public_test_cases"],
        "private_test_cases": LIVE["private_test_cases"],
    }
    completion = {**record, "question_id": "q2", "partial_solution": "xs = input().split()\n"}
    write(tmp_path / "coding.jsonl", record, completion)
    first, second = rla_task_sets.load("coding/livebench", root=tmp_path)
    assert first.instruction.startswith("Sum\n\n### Question: print the sum.")
    assert second.payload["starter"] == "xs = input().split()\n"
    assert grader.grade(problem_of(first), ADD).right


def test_apps_folders_and_lines_give_the_same_problems(tmp_path, grader):
    tests = {"inputs": ["1\n2\n", ["3", "4"]], "outputs": ["3\n", ["7"]]}
    solution = "print(int(input()) + int(input()))"
    folder = tmp_path / "folders" / "test" / "0007"
    folder.mkdir(parents=True)
    (folder / "question.txt").write_text("Add two numbers.")
    (folder / "input_output.json").write_text(json.dumps(tests))
    (folder / "solutions.json").write_text(json.dumps([solution]))
    line = {
        "problem_id": "0007",
        "question": "Add two numbers.",
        "input_output": json.dumps(tests),
        "solutions": json.dumps([solution]),
    }
    untested = {"problem_id": 8, "question": "Nothing to check.", "input_output": ""}
    path = write(tmp_path / "test.jsonl", line, untested)
    from_folders = rla_task_sets.load("coding/apps", root=tmp_path / "folders", split="test")
    from_lines = rla_task_sets.load("coding/apps", root=path)
    assert from_folders == from_lines
    assert grader.grade(problem_of(from_lines[0]), solution).right


TWICE = {"fn_name": "twice", "inputs": [[2], [3]], "outputs": [[4], [6]]}


def test_apps_functions_have_their_result_in_a_list_of_one(tmp_path, grader):
    record = {
        "problem_id": 1,
        "question": "Write `twice`.",
        "input_output": json.dumps(TWICE),
        "solutions": json.dumps(["def twice(x):\n    return 2 * x"]),
        "starter_code": "def twice(x):",
    }
    (task,) = rla_task_sets.load("coding/apps", root=write(tmp_path / "a.jsonl", record))
    problem = problem_of(task)
    assert (problem.kind, problem.tests[0]) == ("call", {"args": "(2,)", "expected": "4"})
    assert grader.grade(problem, problem.reference).right


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("humaneval", "{", r"a\.jsonl:1 is no JSON"),
        ("humaneval", "[1]", "must be a JSON object, got list"),
        ("humaneval", json.dumps({"task_id": "T/1", "entry_point": "f"}), "has no 'prompt'"),
        ("codecontests", json.dumps({**CONTEST, "private_tests": UNEVEN}), "2 inputs but 1 outp"),
        ("codecontests", json.dumps({**CONTEST, **NO_TESTS}), "at least one ground-truth test"),
    ],
)
def test_malformed_records_name_the_place(name, text, complaint, tmp_path):
    (tmp_path / "a.jsonl").write_text(text + "\n")
    with pytest.raises(TaskError, match=complaint):
        rla_task_sets.load(f"coding/{name}", root=tmp_path / "a.jsonl")
