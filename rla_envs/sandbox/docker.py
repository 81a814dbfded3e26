"""Hardened containers with the zygote as process 1, through the Docker SDK."""

# The SDK has no types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportMissingImports=false

from __future__ import annotations

import json
import os
import platform
import selectors
import socket
import struct
import time
from pathlib import Path
from typing import Any

from rla_envs.errors import ConfigError, MissingExtra, SandboxError
from rla_envs.sandbox.bubblewrap import ENVIRONMENT
from rla_envs.sandbox.bundle import cell_source
from rla_envs.sandbox.cell import PRELOAD, Cell, CellDied, Job, Outcome, read_header, read_outcome
from rla_envs.sandbox.scheduling import PooledSandbox

IMAGE = "rla-coding:latest"
LABEL = "rla-envs.sandbox.owner"
_START_S = 60.0
_STREAM = struct.Struct(">BxxxI")


class DockerSandbox(PooledSandbox):
    """Hostile programs in containers: no network, read-only, no capability that a test keeps.

    Containers of owners that were killed are removed when the next sandbox starts; usually they
    have ended by themselves, because their input was closed.

    Args:
        workers: Number of containers, each running one test at a time; None means one a core.
        image: Made by ``make docker-images``.
        recycle: Tests after which a container is replaced.
        memory_mb: Memory of a container, all its processes together, in MiB.
        cpus: Cores that a container may use.
    """

    def __init__(
        self,
        *,
        workers: int | None = None,
        image: str = IMAGE,
        recycle: int = 1000,
        memory_mb: int = 2304,
        cpus: float = 1.0,
    ) -> None:
        super().__init__(workers or os.cpu_count() or 1)
        if recycle < 1 or memory_mb < 256 or cpus <= 0:
            raise ConfigError(
                "need recycle >= 1, memory_mb >= 256 and cpus > 0, "
                f"got {recycle}, {memory_mb} and {cpus}"
            )
        self._client = _client()
        self._image, self._recycle = image, recycle
        self._memory_mb, self._cpus = memory_mb, cpus
        _require_image(self._client, image)
        self.removed_at_start = remove_orphans(self._client)

    def start_cell(self) -> Cell:
        """Start a container."""
        return DockerCell(
            self._client,
            image=self._image,
            recycle=self._recycle,
            memory_mb=self._memory_mb,
            cpus=self._cpus,
        )

    def close(self) -> None:
        """Remove all containers and hang up."""
        super().close()
        self._client.close()


class DockerCell:
    """A zygote in a container, behind the attached streams."""

    def __init__(
        self, client: Any, *, image: str, recycle: int, memory_mb: int, cpus: float
    ) -> None:
        self._api, self._left = client.api, recycle
        self._said = b""
        self._ready = b""
        config = {"mode": "uids", "preload": PRELOAD}
        command = ["python3", "-S", "-s", "-B", "-X", "utf8", "-c", cell_source()]
        host = self._api.create_host_config(
            auto_remove=True,
            network_mode="none",
            ipc_mode="none",
            read_only=True,
            cap_drop=["ALL"],
            cap_add=["SETUID", "SETGID", "KILL"],
            security_opt=["no-new-privileges"],
            mem_limit=memory_mb << 20,
            memswap_limit=memory_mb << 20,
            pids_limit=256,
            nano_cpus=int(cpus * 1e9),
            tmpfs={
                "/tmp": "size=256m,nr_inodes=2048,mode=1777,exec",
                # Semaphores of a process pool live here; it is wiped after every test.
                "/dev/shm": "size=16m,nr_inodes=256,mode=1777",
                "/dev/mqueue": "ro,size=4k",
            },
            log_config={"Type": "none"},
        )
        self._id: str = self._api.create_container(
            image,
            [*command, json.dumps(config)],
            hostname="cell",
            stdin_open=True,
            environment=ENVIRONMENT,
            labels={LABEL: owner()},
            host_config=host,
        )["Id"]
        streams = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        self._stream = self._api.attach_socket(self._id, params=streams)
        self._socket: socket.socket = self._stream._sock
        self._socket.settimeout(None)
        try:
            self._api.start(self._id)
            self._await_ready()
        except BaseException:
            self.close()
            raise

    def _await_ready(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            selector.select(_START_S)
        try:
            read_header(self._read)
        except CellDied as error:
            raise SandboxError(f"the container did not start: {error}") from None

    def send(self, job: Job) -> None:
        """Start a job. Raises CellDied."""
        self._left -= 1
        try:
            self._socket.sendall(job.frame())
        except OSError:
            raise CellDied("the container hung up") from None

    @property
    def process_id(self) -> int:
        """Process id, on the daemon's machine, of the container's first process."""
        return int(self._api.inspect_container(self._id)["State"]["Pid"])

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when the job is done."""
        return self._socket.fileno()

    def receive(self) -> Outcome:
        """Wait for the job's outcome. Raises CellDied."""
        return read_outcome(self._read)

    def _read(self, size: int) -> bytes:
        """Return size bytes of the container's standard output, out of Docker's stream frames."""
        while len(self._ready) < size:
            kind, length = _STREAM.unpack(self._receive(_STREAM.size))
            data = self._receive(length)
            if kind == 1:
                self._ready += data
            else:
                self._said = (self._said + data)[-2000:]
        data, self._ready = self._ready[:size], self._ready[size:]
        return data

    def _receive(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size:
            try:
                part = self._socket.recv(min(size, 1 << 20))
            except OSError:
                part = b""
            if not part:
                said = self._said.decode("utf-8", "replace") or "nothing"
                raise CellDied(f"the container hung up; it said: {said}")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def worn(self) -> bool:
        """Whether the container has run as many tests as it should."""
        return self._left <= 0

    def close(self) -> None:
        """Remove the container."""
        self._stream.close()
        self._socket.close()
        _remove(self._api, self._id)


def _client() -> Any:
    try:
        from docker.errors import DockerException

        import docker
    except ImportError:
        raise MissingExtra(
            "DockerSandbox needs the Docker SDK: pip install 'rla-envs[docker]'"
        ) from None
    try:
        client = docker.from_env()
        client.ping()
    except DockerException as error:
        raise SandboxError(
            f"DockerSandbox found no Docker daemon ({error}); install and start one (apt-get "
            "install docker.io; dockerd), set DOCKER_HOST, or use LocalSandbox"
        ) from None
    return client


def _require_image(client: Any, image: str) -> None:
    from docker.errors import ImageNotFound

    try:
        client.images.get(image)
    except ImageNotFound:
        raise SandboxError(
            f"there is no image {image!r}; build it with `make docker-images` (no registry needed)"
        ) from None


def owner(pid: int | None = None) -> str:
    """Return what a container's label says: host, boot, process id and the process's start."""
    pid = os.getpid() if pid is None else pid
    boot = Path("/proc/sys/kernel/random/boot_id")
    return json.dumps(
        [platform.node(), boot.read_text().strip() if boot.exists() else "", pid, _started(pid)]
    )


def _started(pid: int) -> str:
    """Return when pid started, in ticks since boot, so that a reused number is no owner."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except OSError:
        return ""


def remove_orphans(client: Any) -> int:
    """Remove the containers of this host whose owner is dead; return their number."""
    removed = 0
    for container in client.api.containers(all=True, filters={"label": LABEL}):
        label = container["Labels"][LABEL]
        host, _, pid, _ = json.loads(label)
        if host == platform.node() and (not _started(pid) or label != owner(pid)):
            _remove(client.api, container["Id"])
            removed += 1
    return removed


def _remove(api: Any, container: str) -> None:
    """Remove a container, which may be removing itself because its input was closed."""
    from docker.errors import APIError, NotFound

    problem: APIError | None = None
    for _ in range(50):
        try:
            api.remove_container(container, force=True)
            return
        except NotFound:
            return
        except APIError as error:
            problem = error
            time.sleep(0.1)
    raise SandboxError(f"container {container[:12]} cannot be removed: {problem}")
