"""vLLM in process and behind its server keeps the contract; runs in the environment of `make vllm`.

The server is a real one, started once; the last test stops it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from rla_adapters.conformance import ChatModelContract, chats

from rla_envs.errors import ConfigError, ModelError
from rla_envs.types import Sampling

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.skipif(find_spec("vllm") is None, reason="needs the environment of `make vllm`"),
]

SETTINGS = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "OMP_NUM_THREADS": "1",
}
NAME = "reference"


@pytest.fixture(scope="session")
def engine(folder):
    os.environ.update(SETTINGS)
    from rla_adapters.vllm_engine import VllmChatModel

    model = VllmChatModel(folder, enforce_eager=True, max_num_seqs=32)
    yield model
    model.close()


@pytest.fixture(scope="session")
def server(folder, tmp_path_factory):
    """Return (address, process) of a vLLM server on a free port of this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
    command += ["--model", str(folder), "--served-model-name", NAME, "--host", "127.0.0.1"]
    command += ["--port", str(port), "--dtype", "float32", "--enforce-eager"]
    command += ["--logprobs-mode", "processed_logprobs", "--generation-config", "vllm"]
    command += ["--max-num-seqs", "32"]
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("w") as output:
        process = subprocess.Popen(
            command, env={**os.environ, **SETTINGS}, stdout=output, stderr=subprocess.STDOUT
        )
    address = f"http://127.0.0.1:{port}/v1"
    while True:
        assert process.poll() is None, log.read_text()[-3000:]
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(1)
    yield address, process
    process.kill()
    process.wait()


class TestEngine(ChatModelContract):
    @pytest.fixture
    def model(self, engine):
        return engine


class TestServer(ChatModelContract):
    @pytest.fixture(scope="session")
    @classmethod
    def model(cls, server):
        from rla_adapters import load_model

        # The server names the folder that it serves, which is on this machine.
        return load_model(f"{server[0]} {NAME}")


class TestOpenAI(ChatModelContract):
    tokens = False

    @pytest.fixture(scope="session")
    @classmethod
    def model(cls, server):
        from rla_adapters.openai_api import OpenAIChatModel

        return OpenAIChatModel(server[0], NAME, logprobs=True)


def test_logprobs_follow_new_weights(engine, folder):
    from transformers import AutoModelForCausalLM

    plain = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    old = {name: weight.clone() for name, weight in plain.state_dict().items()}
    sampling = Sampling(max_tokens=6)
    engine.sample(chats(4), sampling=sampling, seeds=range(4))
    with torch.no_grad():
        for weight in plain.parameters():
            weight.mul_(0.9)
    engine.load_weights(plain.state_dict().items())
    try:
        for (completion,) in engine.sample(chats(4), sampling=sampling, seeds=range(4)):
            expected = ChatModelContract().expected(plain, completion, 1.0)
            assert completion.logprobs == pytest.approx(expected, abs=1e-4)
    finally:
        engine.load_weights(old.items())


def test_a_model_that_is_not_served_is_named(server):
    from rla_adapters.vllm_server import VllmServerModel

    with pytest.raises(ModelError, match=f"serves {NAME}, not 'other'"):
        VllmServerModel(server[0], "other")
    with pytest.raises(ConfigError, match="name its folder"):
        VllmServerModel(server[0], NAME, tokenizer=Path("/no/such"))


def test_a_server_that_died_raises(server):
    from rla_adapters.openai_api import OpenAIChatModel, Service
    from rla_adapters.vllm_server import VllmServerModel

    address, process = server
    model = VllmServerModel(address, NAME, service=Service(address, retries=0))
    judge = OpenAIChatModel(address, NAME, service=Service(address, retries=0))
    process.kill()
    process.wait()
    for one in (model, judge):
        with pytest.raises(ModelError, match=f"no answer from {address}"):
            one.sample(chats(5))
