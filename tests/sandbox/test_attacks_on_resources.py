"""Programs that try to exhaust, outlive, damage or escape; none passes, hurts or stays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rla_envs.sandbox import Limits, Program, StdioTest

LIMITS = Limits(cpu_s=0.3, wall_s=2.0, memory_mb=256, output_bytes=1 << 20)
HONEST = Program("print(int(input()) + 1)"), StdioTest("41\n", "42\n")

ATTACKS = {
    "fork bomb": [
        "import os\nwhile True:\n    os.fork()",
        "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
        "import subprocess\nchildren = []\nwhile True:\n"
        "    children.append(subprocess.Popen(['/bin/sleep', '1000']))",
        "import os, signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "while True:\n    if not os.fork():\n        os.setsid()\n        os.fork()\n",
    ],
    "memory bomb": [
        "x = bytearray(8 << 30)",
        "x = []\nwhile True:\n    x.append(bytes(1 << 20) * 2)",
        "import mmap\nkept = []\nwhile True:\n    m = mmap.mmap(-1, 32 << 20)\n"
        "    m.write(b'x' * (32 << 20))\n    kept.append(m)",
        "import os\nfor _ in range(16):\n    if not os.fork():\n        break\n"
        "x = b'x' * (150 << 20)\nwhile True: pass",
        "import os\nx = []\nwhile True:\n    fd = os.memfd_create('x')\n    os.ftruncate(fd, 1 << 30)\n",
    ],
    "disk fill": [
        "n = 0\nwhile True:\n    open(f'/tmp/{n}', 'wb').write(b'x' * 900_000)\n    n += 1",
        "with open('/tmp/big', 'wb') as f:\n    while True:\n        f.write(b'x' * 65536)",
        "import os\nfd = os.open('/tmp/x', os.O_RDWR | os.O_CREAT)\nos.posix_fallocate(fd, 0, 1 << 40)",
    ],
    "inode fill": [
        "n = 0\nwhile True:\n    open(f'/tmp/{n}', 'w').close()\n    n += 1",
        "import os\nn = 0\nwhile True:\n    os.mkdir(f'/tmp/{n}')\n    n += 1",
        "import os\nwhile True:\n    os.mkdir('d')\n    os.chdir('d')",
    ],
    "output flood": [
        "while True:\n    print('x' * 1000)",
        "import os\nwhile True:\n    try:\n        os.write(1, b'x' * 65536)\n    except OSError:\n        pass",
        "import sys\nwhile True:\n    sys.stderr.write('x' * 10000)",
    ],
    "very long line": [
        "print('x' * 100_000_000)",
        "import sys\nwhile True:\n    sys.stdout.write('x')",
        "import os\nos.ftruncate(1, 1 << 40)\nos.lseek(1, 1 << 40, 0)\nos.write(1, b'x')",
    ],
    "endless loop": [
        "import signal\nfor s in range(1, 65):\n    try:\n        signal.signal(s, signal.SIG_IGN)\n"
        "    except (OSError, ValueError):\n        pass\nwhile True: pass",
        "while True:\n    try:\n        while True: pass\n    except BaseException:\n        pass",
        "import time\nwhile True:\n    try:\n        time.sleep(1000)\n    except BaseException:\n        pass",
        "import re\nre.match(r'(a+)+$', 'a' * 64 + 'b')",
        "10 ** 10 ** 9",
    ],
    "stop itself": [
        "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\nimport time\ntime.sleep(1000)",
        "import os, signal\nif os.fork():\n    os.wait()\nelse:\n    os.kill(os.getpid(), signal.SIGSTOP)",
        "import os, signal\nos.killpg(0, signal.SIGTSTP)\nsignal.pause()",
    ],
    "thread bomb": [
        "import threading, time\nwhile True:\n    threading.Thread(target=time.sleep, args=(1000,)).start()",
        "import threading\ndef f():\n    while True: pass\nfor _ in range(30):\n    threading.Thread(target=f).start()",
        "import _thread, time\nwhile True:\n    try:\n        _thread.start_new_thread(time.sleep, (99,))\n"
        "    except RuntimeError:\n        pass",
    ],
    "deep recursion": [
        "import sys\nsys.setrecursionlimit(10**9)\ndef f(n): return f(n + 1)\nf(0)",
        "import sys\nsys.setrecursionlimit(10**9)\nclass A:\n    def __getattr__(self, n): return getattr(self, n + 'x')\nA().y",
        "x = []\nfor _ in range(10**6): x = [x]\nprint(repr(x))",
    ],
    "raised limits": [
        "import resource as r\nr.setrlimit(r.RLIMIT_CPU, (99, 99))\nwhile True: pass",
        "import resource as r\nr.setrlimit(r.RLIMIT_AS, (-1, -1))\nx = bytearray(4 << 30)",
        "import resource as r\nr.prlimit(0, r.RLIMIT_FSIZE, (-1, -1))\nwhile True: print('x' * 10000)",
        "import os\ntry:\n    os.nice(-20)\nexcept OSError:\n    pass\nwhile True: pass",
    ],
    "daemon": [
        "import os, time\nif os.fork():\n    os._exit(0)\nos.setsid()\nif os.fork():\n    os._exit(0)\ntime.sleep(1000)",
        "import subprocess\nsubprocess.Popen(['/bin/sh', '-c', 'trap \"\" TERM HUP; sleep 1000 & sleep 1000'], start_new_session=True)",
        "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()",
        "import os, time\nfor _ in range(20):\n    if not os.fork():\n        time.sleep(1000)",
    ],
    "kill everyone": [
        "import os\nos.kill(-1, 9)",
        "import os\nfor pid in range(1, 5000):\n    try:\n        os.kill(pid, 9)\n    except OSError:\n        pass",
        "import os\nos.killpg(os.getpgid(0), 9)",
        "import os\nos.kill(os.getppid(), 15)\nos.kill(1, 9)",
    ],
    "symlink escape": [
        "import os\nos.symlink('/', '/tmp/root')\nopen('/tmp/root/CANARY', 'w').write('gone')",
        "import os\nfor path in ('/etc/passwd', '/etc/shadow', '/root/.bashrc'):\n    os.symlink(path, '/tmp/x')\n"
        "    open('/tmp/x', 'a').write('gone')",
        "import os\nos.symlink('CANARY', '/tmp/solution.py')\nopen('/tmp/solution.py', 'w').write('gone')",
    ],
    "remove everything": [
        "import shutil\nshutil.rmtree('/', ignore_errors=True)",
        "import os\nfor top, _, names in os.walk('/', topdown=False):\n    for name in names:\n        try:\n"
        "            os.unlink(os.path.join(top, name))\n        except OSError:\n            pass",
        "import subprocess\nsubprocess.run('rm -rf --no-preserve-root / 2>/dev/null; rm -rf CANARY /tmp/*', shell=True)",
        "import os\nos.rename('/tmp', '/gone')",
    ],
    "closed files": [
        "import os\nos.closerange(0, 4096)",
        "import sys\nsys.stdout.close()\nsys.stderr.close()\nsys.stdin.close()",
        "import os\nfor fd in range(256):\n    try:\n        os.close(fd)\n    except OSError:\n        pass\nwhile True: pass",
    ],
    "network": [
        "import socket\nsocket.create_connection(('1.1.1.1', 80), timeout=1)\nprint('SECRET')",
        "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.sendto(b'x', ('127.0.0.1', 53))\nprint('SECRET')",
        "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)\nprint('SECRET')",
        "import socket\ns = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)\nprint('SECRET')",
        "import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('/var/run/docker.sock')\nprint('SECRET')",
        "import socket\ns = socket.socketpair(socket.AF_INET)\nprint('SECRET')",
    ],
    "more privileges": [
        "import ctypes\nassert ctypes.CDLL(None).unshare(0x10000000) == 0\nprint('SECRET')",
        "import os\nos.setuid(0)\nprint('SECRET')",
        "import os\nos.chroot('/tmp')\nprint('SECRET')",
        "import ctypes\nassert ctypes.CDLL(None).mount(b'x', b'/tmp', b'tmpfs', 0, 0) == 0\nprint('SECRET')",
        "import ctypes\nassert ctypes.CDLL(None).syscall(435, ctypes.create_string_buffer(88), 88) > 0\nprint('SECRET')",
        "import subprocess\nsubprocess.run(['/bin/su', '-c', 'echo SECRET'])",
    ],
}


@pytest.mark.parametrize("line", ATTACKS)
def test_attack_neither_passes_nor_stays_nor_hurts(line, sandbox, family, tmp_path):
    canary = tmp_path / "canary"
    canary.write_text("alive")
    programs = [Program(source.replace("CANARY", str(canary))) for source in ATTACKS[line]]
    assert len(programs) >= 3

    results = sandbox.matrix(programs, [StdioTest("", "SECRET\n")], LIMITS).results
    assert [row[0].reason for row in results if row[0].passed] == []
    assert canary.read_text() == "alive"

    sandbox.warm_up()
    sizes = {len(family(pid)) for pid in sandbox.process_ids}
    assert max(sizes) <= 3, "more than a cell's own processes are left"
    for _ in sandbox.process_ids:
        assert sandbox.run(*HONEST).passed


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("while True: pass", "cpu_limit"),
        ("import time\ntime.sleep(100)", "wall_limit"),
        ("x = bytearray(1 << 30)", "memory_limit"),
        ("print('x' * (2 << 20))", "output_limit"),
        ("import os, signal\nos.kill(os.getpid(), 9)\nif not os.fork(): 1/0\n1/0", None),
        ("1 / 0", "exception"),
        ("import sys\nsys.exit(3)", "exception"),
        ("print(1", "exception"),
        ("print('no')", "wrong_answer"),
        ("print('SECRET')", "passed"),
    ],
)
def test_reason_of_a_failure_is_named(source, reason, sandbox):
    limits = replace(LIMITS, wall_s=15.0) if reason == "cpu_limit" else LIMITS
    result = sandbox.run(Program(source), StdioTest("", "SECRET\n"), limits)
    assert result.passed == (result.reason == "passed")
    if reason is not None:
        assert result.reason == reason, result


def test_memory_of_all_processes_together_is_limited(sandbox):
    # 16 processes of 200 MiB each stay below a process's limit of 256 MiB.
    source = (
        "import os, time\nchildren = []\nfor _ in range(16):\n    pid = os.fork()\n    if not pid:\n"
        "        x = b'x' * (200 << 20)\n        time.sleep(1)\n        os._exit(0)\n"
        "    children.append(pid)\n"
        "print(sum(os.waitpid(pid, 0)[1] == 0 for pid in children))"
    )
    result = sandbox.run(Program(source), StdioTest("", "16\n"), Limits(cpu_s=8, memory_mb=256))
    assert not result.passed, result
