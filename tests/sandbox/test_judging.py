"""Honest programs pass: one test for each way in which judges have been reported to be wrong."""

from __future__ import annotations

import pytest

from rla_envs.sandbox import (
    CallTest,
    Custom,
    Exact,
    FloatTolerance,
    Limits,
    Program,
    ScriptTest,
    SolutionTest,
    StdioTest,
    Tokens,
    Unordered,
)
from rla_envs.sandbox.checking import text_difference, value_difference

LIMITS = Limits(cpu_s=10)

READS_TWO_LINES = {
    "input": "print(int(input()) + int(input()))",
    "stdin.buffer": "import sys\nprint(sum(map(int, sys.stdin.buffer.read().split())))",
    "open(0)": "print(sum(map(int, open(0).read().split())))",
    "for line in stdin": "import sys\nprint(sum(int(line) for line in sys.stdin))",
    "input mixed with read": "import sys\na = int(input())\nprint(a + int(sys.stdin.read()))",
    "stdout.buffer": "import sys\nsys.stdout.buffer.write(b'%d' % sum(map(int, open(0))))",
    "os.read and os.write": "import os\ndata = os.read(0, os.fstat(0).st_size)\n"
    "os.write(1, str(sum(map(int, data.split()))).encode())",
    "mmap": "import mmap\nprint(sum(map(int, mmap.mmap(0, 0, prot=mmap.PROT_READ)[:].split())))",
    "fileinput": "import fileinput\nprint(sum(int(line) for line in fileinput.input()))",
    "seek": "import sys\nsys.stdin.read()\nsys.stdin.seek(0)\nprint(sum(map(int, sys.stdin)))",
    "/dev/stdin": "print(sum(map(int, open('/dev/stdin'))))",
    "main guard at the end": "def main():\n    print(int(input()) + int(input()))\n"
    "if __name__ == '__main__':\n    main()",
    "main guard in the middle": "if __name__ == '__main__':\n    a = int(input())\n"
    "b = int(input())\nprint(a + b)",
    "exit(0) at the end": "print(int(input()) + int(input()))\nexit(0)",
    "os._exit after a flush": "import os\nprint(int(input()) + int(input()), flush=True)\nos._exit(0)",
    "a thread with a big stack": "import sys, threading\nsys.setrecursionlimit(10**6)\n"
    "threading.stack_size(1 << 27)\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)\n"
    "def main():\n    f(50_000)\n    print(int(input()) + int(input()))\n"
    "t = threading.Thread(target=main)\nt.start()\nt.join()",
    "raises its stack limit": "import resource, sys\n"
    "resource.setrlimit(resource.RLIMIT_STACK, (1 << 28, resource.RLIM_INFINITY))\n"
    "print(int(input()) + int(input()))",
    "output in a subprocess": "import subprocess, sys\nsys.stdout.flush()\n"
    "subprocess.run(['/bin/sh', '-c', 'read a; read b; echo $((a + b))'])",
    "fork and wait": "import os\na = int(input())\nb = int(input())\npid = os.fork()\n"
    "if pid == 0:\n    os._exit(7)\nprint(a + b if os.waitpid(pid, 0)[1] >> 8 == 7 else 0)",
    "asyncio": "import asyncio\nasync def main():\n    await asyncio.sleep(0)\n"
    "    print(int(input()) + int(input()))\nasyncio.run(main())",
    "a process pool": "from multiprocessing import Pool\ndef f(x): return x\n"
    "with Pool(2) as pool:\n    print(sum(pool.map(f, [int(input()), int(input())])))",
    "a temporary file": "import tempfile\nwith tempfile.TemporaryFile('w+') as f:\n"
    "    f.write(str(int(input()) + int(input())))\n    f.seek(0)\n    print(f.read())",
    "dataclasses and typing": "from dataclasses import dataclass\nfrom typing import List\n"
    "@dataclass\nclass P:\n    x: 'List[int]'\nprint(sum(P([int(input()), int(input())]).x))",
    "pickle of its own class": "import pickle\nclass P: pass\np = P()\np.x = int(input())\n"
    "print(pickle.loads(pickle.dumps(p)).x + int(input()))",
    "an exit hook": "import atexit\natexit.register(lambda: print(a + b))\na = int(input())\n"
    "b = int(input())",
}


@pytest.mark.parametrize("way", READS_TWO_LINES)
def test_program_reads_and_writes_as_it_likes(way, sandbox):
    result = sandbox.run(Program(READS_TWO_LINES[way]), StdioTest("40\n2\n", "42\n"), LIMITS)
    assert result.passed, result


def test_output_above_64_kib_and_a_long_line_arrive_whole(sandbox):
    text = "x" * 300_000 + "\n" + "y\n" * 100_000
    program = Program("print('x' * 300_000)\nfor _ in range(100_000): print('y')")
    assert sandbox.run(program, StdioTest("", text), LIMITS).passed


def test_input_of_three_megabytes_arrives_whole(sandbox):
    numbers = " ".join(["123456"] * 450_000)
    program = Program("print(sum(map(int, input().split())))")
    assert sandbox.run(program, StdioTest(numbers, str(123456 * 450_000)), LIMITS).passed


def test_big_integers_and_special_floats_arrive_exactly(sandbox):
    source = "def f(x): return x"
    values = [10**5000, -(10**6000), 2**63, 0.1, float("inf"), -0.0, 1e308, "ä\x00\ud800", b"\xff"]
    tests = [CallTest("f", [value], value) for value in values]
    tests += [CallTest("f", [{1: [(2, None)], "a": {3}}], {1: [(2, None)], "a": {3}})]
    assert sandbox.matrix([Program(source)], tests).passed_KC.all()


def test_output_must_be_utf8(sandbox):
    program = Program("import sys\nsys.stdout.buffer.write(b'\\xff\\n')")
    result = sandbox.run(program, StdioTest("", "\ufffd\n"))
    assert result.reason == "wrong_answer"
    assert "UTF-8" in result.detail


def test_solution_class_and_plain_function(sandbox):
    program = Program(
        "from typing import List\nclass Solution:\n    def two(self, a: List[int]) -> int:\n"
        "        return a[0] + a[1]\ndef two(a): return a[0] - a[1]\n"
        "if __name__ == '__main__':\n    raise SystemExit('not for calls')"
    )
    tests = [SolutionTest("two", [[1, 2]], 3), CallTest("two", [[1, 2]], -1)]
    assert sandbox.matrix([program], tests).passed_KC.all()


SCRIPTS = {
    "asserts": "assert add(1, 2) == 3\nassert add('a', 'b') == 'ab'",
    "import": "from solution import add\nimport solution\nassert add(1, 2) == solution.add(1, 2) == 3",
    "pytest": "import pytest\n@pytest.mark.parametrize('a,b', [(1, 3), (2, 4)])\ndef test_add(a, b):\n"
    "    assert add(a, 2) == b\nclass TestIt:\n    def test_error(self):\n"
    "        with pytest.raises(TypeError): add(1, 'a')\n"
    "def test_close():\n    assert add(0.1, 0.2) == pytest.approx(0.3)",
    "unittest": "import unittest\nclass T(unittest.TestCase):\n    def test_add(self):\n"
    "        self.assertEqual(add(1, 2), 3)\nif __name__ == '__main__':\n    unittest.main()",
    "objects": "s = Stack()\ns.push(1)\ns.push([2])\nassert len(s) == 2 and s.items == [1, [2]]\n"
    "assert s.pop() == [2] and isinstance(s, Stack) and repr(s) == 'Stack([1])'\n"
    "assert Stack() == Stack() and s != Stack()",
    "own exceptions": "try:\n    Stack().pop()\n    assert False\nexcept EmptyError as e:\n"
    "    assert 'empty' in str(e)",
    "callbacks": "assert apply(lambda x: x * 2, [1, 2]) == [2, 4]\nassert apply(str, (1,)) == ['1']",
    "changes in place": "x = [3, 1, 2]\nassert order(x) is None\nassert x == [1, 2, 3]",
    "generators": "assert list(count(3)) == [0, 1, 2]\ng = count(2)\nassert next(g) == 0",
    "library values": "from collections import Counter\nfrom fractions import Fraction\n"
    "assert letters('aab') == {'a': 2, 'b': 1} == Counter('aab')\n"
    "assert half(Fraction(1)) == Fraction(1, 2) and point() == (1, 2)",
}
LIBRARY = """
from collections import Counter, namedtuple
class EmptyError(ValueError): pass
class Stack:
    def __init__(self): self.items = []
    def push(self, x): self.items.append(x)
    def pop(self):
        if not self.items: raise EmptyError('the stack is empty')
        return self.items.pop()
    def __len__(self): return len(self.items)
    def __eq__(self, other): return self.items == other.items
    def __repr__(self): return f'Stack({self.items})'
def add(a, b): return a + b
def apply(f, xs): return [f(x) for x in xs]
def order(x): x.sort()
def count(n): yield from range(n)
def letters(s): return Counter(s)
def half(x): return x / 2
def point(): return namedtuple('P', 'x y')(1, 2)
"""


@pytest.mark.parametrize("style", SCRIPTS)
def test_script_sees_the_program_as_if_it_were_in_its_own_process(style, sandbox):
    result = sandbox.run(Program(LIBRARY), ScriptTest(SCRIPTS[style]), LIMITS)
    assert result.passed, result


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("assert add(1, 2) == 4", "wrong_answer"),
        ("def test_a():\n    assert add(1, 2) == 4", "wrong_answer"),
        ("import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(add(1, 2), 4)", "wrong_answer"),
        ("assert missing(1) == 1", "exception"),
        ("assert add(1, 'a') == 1", "exception"),
        ("assert add(1, 2) = 3", "invalid"),
        ("", "invalid"),
        ("add(1, 2)", "invalid"),
        ("import os\nassert add(1, 2)\nos._exit(0)", "invalid"),
    ],
)  # fmt: skip
def test_script_that_fails_says_why_and_zero_tests_are_no_pass(code, reason, local):
    assert local.run(Program(LIBRARY), ScriptTest(code)).reason == reason


def test_humaneval_form_calls_check_with_the_candidate(local):
    test = ScriptTest("def check(candidate):\n    assert candidate(2, 3) == 5", entry="add")
    assert local.run(Program(LIBRARY), test).passed
    assert local.run(Program("x = 1"), test).reason == "exception"


@pytest.mark.parametrize("language", ["cpp", "javascript"])
def test_other_languages_add_two_numbers(language, sandbox):
    sources = {
        "cpp": "#include <bits/stdc++.h>\nint main() { long a, b; std::cin >> a >> b; std::cout << a + b; }",
        "javascript": "const t = require('fs').readFileSync('/dev/stdin', 'utf8');\n"
        "console.log(t.split(/\\s+/).filter(Boolean).map(Number).reduce((a, b) => a + b));",
    }
    crashes = {
        "cpp": "int main() { int *p = 0; *p = 1; }",
        "javascript": "throw new Error('no')",
    }
    loops = {"cpp": "int main() { for (volatile int i;;) i = 1; }", "javascript": "for (;;) {}"}
    programs = [Program(s[language], language) for s in (sources, crashes, loops)]
    programs.append(Program("this is no program", language))
    results = sandbox.matrix(programs, [StdioTest("40 2\n", "42\n")], Limits(cpu_s=1)).results
    reasons = [row[0].reason for row in results]
    assert reasons[0] == "passed", results[0]
    assert reasons[1] in ("killed", "exception")
    assert reasons[2:] == ["cpu_limit", "exception"]


@pytest.mark.parametrize(
    ("checker", "output", "expected", "right"),
    [
        (Exact(), "1 2\r\n3  \n\n", "1 2\n3", True),
        (Exact(), "1\n2\n", "1 2\n", False),
        (Exact(), " 1\n", "1\n", False),
        (Tokens(), "1\n2\n", "1 2\n", True),
        (Tokens(), "12\n", "1 2\n", False),
        (FloatTolerance(), "0.3333333333\n", "0.33333333\n", True),
        (FloatTolerance(), "0.334\n", "0.333\n", False),
        (FloatTolerance(), "yes 1.0\n", "yes 1\n", True),
        (FloatTolerance(), "nan\n", "1\n", False),
        (Unordered(), "b\na\na\n", "a\nb\na\n", True),
        (Unordered(), "b\na\n", "a\nb\na\n", False),
    ],
)  # fmt: skip
def test_text_checkers(checker, output, expected, right):
    assert (text_difference(checker, output, expected) is None) is right


@pytest.mark.parametrize(
    ("checker", "value", "expected", "right"),
    [
        (Exact(), (1, [2]), [1, (2,)], True),
        (Exact(), True, 1, False),
        (Exact(), [0], [False], False),
        (Exact(), 1.0, 1, True),
        (Exact(), "1", 1, False),
        (Exact(), {"a": (1,)}, {"a": [1]}, True),
        (Exact(), {1, 2}, [1, 2], False),
        (Exact(), None, 0, False),
        (Exact(), 0.1 + 0.2, 0.3, False),
        (FloatTolerance(), [0.1 + 0.2], [0.3], True),
        (FloatTolerance(), True, 1.0, False),
        (Unordered(), [3, (1,), 2], [[1], 2, 3], True),
        (Unordered(), [1, 1, 2], [1, 2, 2], False),
        (Unordered(), [True], [1], False),
    ],
)  # fmt: skip
def test_value_checkers(checker, value, expected, right):
    assert (value_difference(checker, value, expected) is None) is right


def test_custom_checker_accepts_any_right_answer_and_its_failure_is_no_verdict(local):
    checker = Custom(
        "def check(given, output, expected):\n    a, b = map(int, output.split())\n"
        "    return a + b == int(given)"
    )
    program = Program("n = int(input())\nprint(n - 1, 1)")
    assert local.run(program, StdioTest("9\n", "", checker)).passed
    assert local.run(Program("print(1, 1)"), StdioTest("9\n", "", checker)).reason == "wrong_answer"
    assert local.run(Program("print('x')"), StdioTest("9\n", "", checker)).reason == "invalid"
    odd = Custom("def check(given, output, expected): return 1")
    assert local.run(program, StdioTest("9\n", "", odd)).reason == "invalid"
    values = Custom("def check(given, output, expected): return sorted(output) == sorted(expected)")
    assert local.run(Program("def f(n): return [2, 1]"), CallTest("f", [2], [1, 2], values)).passed
