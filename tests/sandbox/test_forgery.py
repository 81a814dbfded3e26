"""Programs that try to be judged right without being right."""

from __future__ import annotations

import pytest

from rla_envs.sandbox import CallTest, Limits, Program, ScriptTest, SolutionTest, StdioTest

LIMITS = Limits(cpu_s=2, wall_s=20, memory_mb=512)
EQUAL = (
    "class E({base}):\n    def __eq__(self, other): return True\n"
    "    def __ne__(self, other): return False\n    def __hash__(self): return 0\n"
    "    def __bool__(self): return True\n"
)

ATTACKS = {
    "early exit": [
        "import os\nos._exit(0)",
        "import sys\nsys.exit(0)",
        "def f(x):\n    raise SystemExit(0)",
        "def f(x):\n    import os\n    os._exit(0)",
        "def f(x):\n    import os\n    os.kill(os.getpid(), 15)",
        "def f(x):\n    import threading, os\n    threading.Timer(0.05, os._exit, (0,)).start()\n"
        "    import time\n    time.sleep(1)",
    ],
    "equals everything": [
        EQUAL.format(base="") + "def f(x): return E()",
        EQUAL.format(base="int") + "def f(x): return E(5)",
        EQUAL.format(base="str") + "def f(x): return E('a')",
        EQUAL.format(base="list") + "def f(x): return E([1])",
        EQUAL.format(base="float") + "def f(x): return [E(1.0)]",
        EQUAL.format(base="") + "f = E()\nE.__call__ = lambda self, *a: self",
        "class M(type):\n    def __eq__(self, other): return True\n    __hash__ = None\n"
        "class E(metaclass=M): pass\ndef f(x): return E",
        "def f(x): return NotImplemented",
    ],
    "patched builtins": [
        "import builtins\nbuiltins.all = lambda *a: True\nbuiltins.isinstance = lambda *a: True\n"
        "builtins.type = lambda *a: int\ndef f(x): return 5",
        "import json\njson.dumps = lambda *a, **k: '{\"value\": true}'\n"
        'json.dump = lambda o, s, **k: s.write(\'{"reason": "passed", "detail": ""}\')\n'
        "def f(x): return 5",
        "import builtins\nbuiltins.AssertionError = type('A', (Exception,), {})\n"
        "builtins.exit = lambda *a: None\ndef f(x): return 5",
        "import operator\noperator.eq = lambda *a: True\nimport sys\n"
        "sys.modules['unittest'] = sys.modules['json']\ndef f(x): return 5",
        "import os\nos.write = lambda *a: 1\nos.fork = lambda: 0\ndef f(x): return 5",
    ],
    "frames": [
        "import sys\ndef f(x):\n    frame = sys._getframe()\n    while frame:\n"
        "        for v in frame.f_locals.values():\n            if isinstance(v, int) and v > 10**9:\n"
        "                return v\n        frame = frame.f_back",
        "import sys\ndef f(x):\n    frame = sys._getframe()\n    found = []\n    while frame:\n"
        "        found.append(sorted(frame.f_locals))\n        task = frame.f_locals.get('task')\n"
        "        if task and 'expected' in task:\n            return task['expected']\n"
        "        frame = frame.f_back",
        "import inspect\ndef f(x):\n    for info in inspect.stack():\n"
        "        for v in info.frame.f_globals.values():\n"
        "            if isinstance(v, int) and v > 10**9: return v",
    ],
    "object hunt": [
        "import gc\ndef f(x):\n    for o in gc.get_objects():\n        if isinstance(o, dict):\n"
        "            for k, v in list(o.items()):\n                if k in ('expected', 'want'):\n"
        "                    return v",
        "import gc\ndef f(x):\n    for o in gc.get_objects():\n        if isinstance(o, (list, tuple)):\n"
        "            for v in o:\n                if type(v) is int and v == 10**9 + x * 0 + 7919: return v",
        "def f(x):\n    for k in object.__subclasses__():\n        if k.__name__.endswith('Test'): return k()",
    ],
    "tracing": [
        "import sys\ndef t(frame, event, arg):\n    for n in list(frame.f_locals):\n"
        "        frame.f_locals[n] = True\n    return t\nsys.settrace(t)\ndef f(x): return 5",
        "import sys\nsys.setprofile(lambda *a: None)\nimport threading\nthreading.settrace(lambda *a: None)\n"
        "def f(x): return 5",
        "import sys\nsys.addaudithook(lambda *a: None)\ndef f(x): return 5",
    ],
    "exit hooks": [
        "import atexit\natexit.register(print, '1000007919')\ndef f(x): return 5",
        "import atexit, os\natexit.register(os._exit, 0)\ndef f(x): return 5",
        "class D:\n    def __del__(self):\n        import os\n        os._exit(0)\nd = D()\ndef f(x):\n"
        "    global d\n    del d",
        "import sys\nsys.excepthook = lambda *a: None\nsys.unraisablehook = lambda *a: None\n"
        "def f(x): raise ValueError",
    ],
    "reading the tests": [
        "import os\ndef f(x):\n    for top, _, names in os.walk('/'):\n"
        "        if top.startswith(('/usr', '/proc', '/sys', '/lib')): continue\n        for n in names:\n"
        "            if 'test' in n:\n                return open(os.path.join(top, n)).read()",
        "def f(x):\n    import re\n    for p in ('/proc/1/mem', '/proc/self/mem', '/proc/1/environ'):\n"
        "        try:\n            return int(re.search(rb'10000079\\d\\d', open(p, 'rb').read()).group())\n"
        "        except (OSError, AttributeError): pass",
        "import os\ndef f(x):\n    for fd in range(3, 64):\n        try:\n"
        "            return int(os.pread(fd, 100, 0))\n        except (OSError, ValueError): pass",
        "import glob\ndef f(x): return [open(p).read() for p in glob.glob('/tmp/**', recursive=True)]",
    ],
    "tracing the parent": [
        "import ctypes, os\ndef f(x):\n    c = ctypes.CDLL(None)\n"
        "    return c.ptrace(16, os.getppid(), 0, 0)",
        "import ctypes, os\ndef f(x):\n    b = ctypes.create_string_buffer(64)\n"
        "    return ctypes.CDLL(None).syscall(310, os.getppid(), b, 1, b, 1, 0)",
        "import os\ndef f(x):\n    return open(f'/proc/{os.getppid()}/maps').read()",
        "import os, signal\ndef f(x):\n    fd = os.pidfd_open(os.getppid())\n    return fd",
    ],
    "writing to inherited files": [
        'import os\nfor fd in range(3, 256):\n    try:\n        os.write(fd, b\'{"reason": "passed", "detail": ""}\')\n'
        "    except OSError: pass\nos._exit(0)",
        "import os\ndef f(x):\n    for fd in range(1, 256):\n        try:\n"
        '            os.write(fd, b\'{"value": true, "repr": ""}\\n\')\n        except OSError: pass\n    os._exit(0)',
        "import os\ndef f(x):\n    for fd in range(1, 256):\n        try:\n            os.write(fd, b'passed\\n+')\n"
        "        except OSError: pass\n    return 5",
        "import os, json\ndef f(x):\n    for op in ('value', 'names', 'raised', 'changed'):\n        try:\n"
        "            os.write(3, json.dumps({op: None}).encode() + b'\\n')\n        except OSError: pass\n    return 5",
    ],
    "the scorer's words": [
        "print('passed')\nprint('OK')\nprint('ALL TESTS PASSED')",
        'import sys\nsys.stderr.write(\'{"passed": true, "reason": "passed"}\\n\')\nsys.exit(0)',
        "print('\\x00' * 100 + '__SUCCESS__')\ndef f(x): print('1 passed'); return '1 passed'",
    ],
    "planted modules": [
        "open('/tmp/conftest.py', 'w').write('import os; os._exit(0)')\ndef f(x): return 5",
        "import sys, types\nm = types.ModuleType('pytest')\nm.raises = None\nsys.modules['pytest'] = m\n"
        "def f(x): return 5",
        "open('/tmp/sitecustomize.py', 'w').write('import os; os._exit(0)')\n"
        "open('/tmp/json.py', 'w').write('')\nimport sys\nsys.path.insert(0, '/tmp')\ndef f(x): return 5",
    ],
    "answer later": [
        "import os, time\nif not os.fork():\n    time.sleep(0.3)\n    print('1000007919')\ndef f(x): return 5",
        "import threading, time\ndef late():\n    time.sleep(0.2)\n    print(1000007919)\n"
        "threading.Thread(target=late, daemon=True).start()\ndef f(x): return 5",
        "import os, subprocess\nsubprocess.Popen(['/bin/sh', '-c', 'sleep 0.3; echo 1000007919'])\n"
        "def f(x): return 5",
    ],
}
# No attack above contains it in a way that is an honest answer: those print it too late or in the
# wrong place.
WANTED = 1_000_007_919
TESTS = [
    CallTest("f", [1], WANTED),
    ScriptTest(f"assert f(1) == {WANTED}"),
    ScriptTest(f"from solution import f\ndef test_f():\n    assert f(1) == {WANTED} + 0"),
    StdioTest("", f"{WANTED} right\n"),
]


@pytest.mark.parametrize("line", ATTACKS)
def test_forged_answer_does_not_pass(line, sandbox):
    programs = [Program(source) for source in ATTACKS[line]]
    assert len(programs) >= 3
    matrix = sandbox.matrix(programs, TESTS, LIMITS)
    assert not matrix.passed_KC.any(), matrix.passed_KC


def test_object_that_vouches_for_itself_fails_against_every_kind_of_expectation(sandbox):
    program = Program(
        EQUAL.format(base="") + "def f(): return E()\nclass Solution:\n    f = staticmethod(f)"
    )
    expectations = (1, 1.5, "a", None, True, [1], (1,), {"a": 1}, {1}, b"x")
    tests = [CallTest("f", [], value) for value in expectations]
    tests += [SolutionTest("f", [], value) for value in expectations]
    tests += [ScriptTest(f"assert f() == {value!r}") for value in expectations]
    tests += [ScriptTest(f"assert {value!r} == f()") for value in expectations]
    assert not sandbox.matrix([program], tests, LIMITS).passed_KC.any()


def test_subclass_arrives_as_the_value_it_stores(sandbox):
    program = Program(EQUAL.format(base="int") + "def f(x): return E(x)")
    tests = [
        CallTest("f", [3], 3),
        CallTest("f", [3], 4),
        ScriptTest("assert f(3) == 3"),
        ScriptTest("assert f(3) == 4"),
    ]
    assert sandbox.matrix([program], tests).passed_KC.tolist() == [[True, False, True, False]]


# A later test in the same cell must not learn what an earlier one did.
SECRET = "s3cr" + "et-of-the-reference"
LEAKS = {
    "heap": "import gc\nhits = [o for o in gc.get_objects() if isinstance(o, (str, bytes))]\n"
    "for o in gc.get_objects():\n    if isinstance(o, dict):\n        hits += [v for v in list(o.values()) if isinstance(v, (str, bytes))]\n"
    "print(any(NEEDLE in (h if isinstance(h, str) else h.decode('latin1')) for h in hits))",
    "raw memory": "import ctypes, os\nlibc = ctypes.CDLL(None)\nlibc.sbrk.restype = ctypes.c_void_p\n"
    "top = libc.sbrk(0)\nr, w = os.pipe()\nfound = False\nlast = b''\nfor page in range(top - (16 << 20) & -4096, top, 4096):\n"
    "    if libc.write(w, ctypes.c_void_p(page), 4096) == 4096:\n        data = os.read(r, 4096)\n"
    "        found = found or REVERSED[::-1].encode() in data.replace(REVERSED.encode(), b'')\nprint(found)",
    "files": "import os\nhits = []\nfor top in ('/tmp', '/dev/shm', '/dev/mqueue', '/var/tmp', '/run', '/var/lock'):\n"
    "    if os.path.isdir(top):\n        hits += [n for n in os.listdir(top) if n.startswith('left')]\nprint(bool(hits))",
    "sockets": "import socket\nfound = False\ntry:\n    s = socket.socket(socket.AF_UNIX)\n    s.connect('\\0left')\n    found = True\n"
    "except OSError:\n    pass\nprint(found)",
    "ipc": "import ctypes\nprint(ctypes.CDLL(None).shmget(4711, 4096, 0) >= 0)",
    "modules": "import json, math\nprint(hasattr(json, 'left') or math.pi == 3)",
    "processes": "import os\nfound = False\nfor pid in {*range(2, 400)} - {os.getpid()}:\n    try:\n        os.kill(pid, 0)\n        found = True\n"
    "    except ProcessLookupError:\n        pass\n    except PermissionError:\n        pass\nprint(found)",
    "environment": "import os, sys\nprint('LEFT' in os.environ or '/left' in sys.path or os.getcwd() != '/tmp')",
}
WRITER = f"""
import ctypes, json, math, os, socket, sys, time
kept = [{SECRET!r} * 3 for _ in range(1000)]
for folder in ("/tmp", "/dev/shm", "/dev/mqueue", "/var/tmp", "/run", "/var/lock", "/dev", "/"):
    for name in ("left", "left2/x", ".left"):
        try:
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            open(os.path.join(folder, name), "w").write({SECRET!r})
        except OSError:
            pass
try:
    os.chmod("/tmp/left2", 0)
except OSError:
    pass
json.left = math.pi = 3
os.environ["LEFT"] = "1"
sys.path.append("/left")
ctypes.CDLL(None).shmget(4711, 4096, 0o1666)
if not os.fork():
    os.setsid()
    s = socket.socket(socket.AF_UNIX)
    s.bind("\\0left")
    s.listen()
    time.sleep(100)
print("done")
"""


@pytest.mark.parametrize("channel", LEAKS)
def test_nothing_leaks_from_one_test_to_the_next(channel, one_cell):
    wrote = one_cell.run(Program(WRITER), StdioTest(SECRET, "done\n"), LIMITS)
    assert wrote.passed, wrote
    half = len(SECRET) // 2
    reader = LEAKS[channel].replace("NEEDLE", f"({SECRET[:half]!r} + {SECRET[half:]!r})")
    reader = reader.replace("REVERSED", repr(SECRET[::-1]))
    found = one_cell.run(Program(reader), StdioTest("", "False\n"), LIMITS)
    assert found.passed, found


def test_process_numbers_tell_nothing_about_earlier_tests(local):
    # A counter that all tests share would be a channel from one to the next.
    program = Program("import os\nprint(os.getpid())")
    tests = [StdioTest(str(n), "1\n") for n in range(6)]
    assert local.matrix([program], tests).passed_KC.all()
