"""Rules of judging that other projects learned from bug reports, each named after its report."""

import pytest

from rla_envs.coding.grading import Grader, ground_truth
from rla_envs.coding.problem import Problem, problem_of
from rla_envs.errors import TaskError
from rla_envs.sandbox import Result
from rla_envs.types import Task


def stdio(stdin, stdout, checker="exact", **more):
    case = {"stdin": stdin, "stdout": stdout}
    return Problem(kind="stdio", tests=(case,), checker={"name": checker, **more})


def call(args, expected, *, name="f", kind="call", **checker):
    case = {"args": repr(args), "expected": repr(expected)}
    return Problem(kind=kind, entry_point=name, tests=(case,), checker=checker or {"name": "exact"})


READERS = {
    "lighteval1255_buffer": "import sys\nprint(sum(map(int, sys.stdin.buffer.read().split())))",
    "nemo2824_open_0": "a, b = open(0).read().split()\nprint(int(a) + int(b))",
    "opencompass2393_for_line": "import sys\nprint(sum(int(line) for line in sys.stdin))",
    "evalscope1434_mixed": "import sys\na = input()\nprint(int(a) + int(sys.stdin.read()))",
    "buffer_write": "import sys\nsys.stdout.buffer.write(b'%d\\n' % sum(map(int, open(0))))",
    "os_write": "import os\nos.write(1, str(sum(map(int, open(0)))).encode())",
    "fileinput": "import fileinput\nprint(sum(map(int, fileinput.input())))",
}


@pytest.mark.parametrize("reader", READERS, ids=str)
def test_every_way_to_read_and_write_works(reader, grader):
    assert grader.grade(stdio("20\n22\n", "42\n"), READERS[reader]).right


def test_crlf_and_trailing_blanks_are_normalised_and_line_structure_is_kept(grader):
    problem = stdio("", "a b\nc\n")
    assert grader.grade(problem, r"print('a b  \r\nc\r\n\n', end='')").right
    assert not grader.grade(problem, "print('a b c')").right


def test_livecodebench106_several_right_answers_need_a_checker(grader):
    source = (
        "def check(given, output, expected):\n"
        "    a, b = map(int, output.split())\n"
        "    return a + b == int(given)\n"
    )
    problem = stdio("10\n", "1 9\n", "custom", source=source)
    assert grader.grade(problem, "print(4, 6)").right
    assert not grader.grade(problem, "print(4, 7)").right
    assert not grader.grade(stdio("10\n", "1 9\n"), "print(4, 6)").right


@pytest.mark.parametrize(
    ("checker", "expected", "printed", "right"),
    [
        ("tokens", "1 2\n3\n", "1\n2 3", True),
        ("tokens", "1 2\n", "1 3", False),
        ("float", "0.3333333\n", "0.33333331", True),
        ("float", "0.3333333\n", "0.34", False),
        ("unordered", "b\na\n", "a\nb", True),
        ("unordered", "b\na\n", "a\na", False),
    ],
)
def test_each_checker_says_yes_and_no(checker, expected, printed, right, grader):
    program = f"print({printed!r})"
    assert grader.grade(stdio("", expected, checker), program).right is right


def test_tuple_equals_list_and_bool_does_not_equal_int(grader):
    assert grader.grade(call((), [1, 2]), "def f(): return (1, 2)").right
    assert not grader.grade(call((), 1), "def f(): return True").right
    assert not grader.grade(call((), False), "def f(): return 0").right


def test_class_solution_and_plain_functions(grader):
    method = call((2,), 4, kind="solution", name="twice")
    assert grader.grade(method, "class Solution:\n    def twice(self, x): return 2 * x").right
    assert grader.grade(call((2,), 4, name="twice"), "def twice(x): return 2 * x").right


def test_a_main_guard_runs_wherever_it_stands(grader):
    middle = "if __name__ == '__main__':\n    print(int(input()) + 1)\nx = 1\n"
    assert grader.grade(stdio("1\n", "2\n"), middle).right
    inside = "def main():\n    print(int(input()) + 1)\nif __name__ == '__main__': main()\n"
    assert grader.grade(stdio("1\n", "2\n"), inside).right


def test_bytes_that_are_no_utf8_are_not_the_answer(grader):
    program = "import sys\nsys.stdout.buffer.write(b'\\xff\\xfe')"
    grade = grader.grade(stdio("", "\ufffd\ufffd\n"), program)
    assert not grade.right


def test_integers_above_4300_digits(grader):
    # Python itself refuses to print them until a program lifts its limit; the judge does not care.
    lift = "import sys\nsys.set_int_max_str_digits(0)\n"
    problem = stdio("", f"{'9' * 5000}\n")
    assert grader.grade(problem, f"{lift}print(10 ** 5000 - 1)").right
    assert grader.grade(problem, f"{lift}print(10 ** 5000 - 2)").right is False


def test_deep_recursion_in_a_thread(grader):
    program = (
        "import sys, threading\n"
        "sys.setrecursionlimit(60000)\nthreading.stack_size(1 << 28)\n"
        "def depth(n): return 0 if n == 0 else 1 + depth(n - 1)\n"
        "t = threading.Thread(target=lambda: print(depth(30000)))\nt.start()\nt.join()\n"
    )
    assert grader.grade(stdio("", "30000\n"), program).right


def test_evalplus5_cpu_time_decides_and_sleep_is_not_cpu_time(grader):
    # A right program that waits longer than the CPU limit is still right.
    problem = Problem(
        kind="call",
        entry_point="f",
        tests=({"args": "()", "expected": "1"},),
        cpu_seconds=0.5,
    )
    assert grader.grade(problem, "import time\ndef f():\n    time.sleep(0.8)\n    return 1").right
    (result,) = grader.grade(problem, "def f():\n    while True: pass").results
    assert result.reason == "cpu_limit"


def test_olmo354_zero_or_unreadable_tests_are_an_error_and_never_a_pass():
    with pytest.raises(TaskError, match="at least one ground-truth test"):
        Problem(kind="call", entry_point="f", tests=())
    bad = Problem(kind="call", entry_point="f", tests=({"args": "(1", "expected": "1"},))
    with pytest.raises(TaskError, match="no Python literal"):
        ground_truth(bad)
    task = Task(id="t", domain="coding", instruction="", payload={"kind": "call", "tests": "no"})
    with pytest.raises(TaskError, match="task t"):
        problem_of(task)


def test_verl3290_a_hanging_program_costs_its_limit_and_no_more(grader):
    problem = Problem(kind="stdio", tests=({"stdin": "", "stdout": "1"},), cpu_seconds=0.3)
    hang = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: pass"
    (result,) = grader.grade(problem, hang).results
    assert result.reason == "cpu_limit"
    assert result.cpu_s < 3


def test_70000_bytes_of_honest_output_are_judged(grader):
    problem = stdio("", "x" * 70_000 + "\n")
    assert grader.grade(problem, "print('x' * 70000)").right
    assert not grader.grade(problem, "print('x' * 69999)").right


def test_a_test_cannot_be_passed_by_printing_what_an_error_is_called(grader):
    problem = Problem(
        kind="stdio", tests=({"stdin": "", "stdout": "Timeout Error"},), cpu_seconds=0.3
    )
    assert not grader.grade(problem, "while True: pass").right


class Counting:
    """A sandbox that counts what it is asked, and fails when told to."""

    def __init__(self):
        self.pairs = 0
        self.broken = False

    def matrix(self, programs, tests, limits=None, *, on_result=None):
        from rla_envs.errors import SandboxError
        from rla_envs.sandbox import PassMatrix

        if self.broken:
            raise SandboxError("the cell is gone")
        self.pairs += len(programs) * len(tests)
        good = Result(passed=True, reason="passed")
        return PassMatrix(tuple(tuple(good for _ in tests) for _ in programs))


def test_a_pair_of_program_and_test_is_run_once():
    sandbox = Counting()
    grader = Grader(sandbox)
    problem = Problem(
        kind="call",
        entry_point="f",
        tests=({"args": "(1,)", "expected": "1"}, {"args": "(2,)", "expected": "2"}),
    )
    grader.grade(problem, "a")
    grader.grade(problem, "a")
    assert sandbox.pairs == 2
    rows = grader.results(problem, ["a", "b", "b"], ground_truth(problem))
    assert sandbox.pairs == 4
    assert [len(row) for row in rows] == [2, 2, 2]


def test_a_broken_sandbox_raises_and_is_remembered_as_nothing():
    from rla_envs.errors import SandboxError

    sandbox = Counting()
    grader = Grader(sandbox)
    problem = Problem(kind="call", entry_point="f", tests=({"args": "()", "expected": "1"},))
    sandbox.broken = True
    with pytest.raises(SandboxError):
        grader.grade(problem, "a")
    sandbox.broken = False
    assert grader.grade(problem, "a").right
