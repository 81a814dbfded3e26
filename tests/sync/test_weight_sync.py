"""After every update vLLM samples from the trainer's weights; needs the environment of `make vllm`.

Rows come from the sampler, so the trainer's own ``logprob_mismatch`` (largest |trainer - sampler|)
says whether the two have the same weights.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from itertools import pairwise

import pytest

pytest.importorskip("torch", reason="needs pip install 'rla-envs[train]'")

import torch
from rla_adapters.conformance import chats, write_reference_model
from rla_adapters.hf import HfChatModel, Lora
from rla_adapters.native.trainer import NativeTrainer, PpoConfig
from rla_adapters.weight_sync import (
    EngineSync,
    LoraServerSync,
    ServerSync,
    SyncedTrainer,
    whole_weights,
)

from rla_envs.errors import ConfigError, ModelError
from rla_envs.types import Sampling, TrainingSample

SETTINGS = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_SERVER_DEV_MODE": "1",
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1",
    "OMP_NUM_THREADS": "1",
}
NAME = "reference"
BIG = PpoConfig(lr=3e-2, epochs=1)
"""A step that moves log-probabilities by far more than rounding."""
needs_vllm = [
    pytest.mark.vllm,
    pytest.mark.skipif(find_spec("vllm") is None, reason="needs the environment of `make vllm`"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("models") / "reference"
    write_reference_model(where)
    return where


@pytest.fixture(scope="module")
def server(folder, tmp_path_factory):
    """Return the address of a vLLM server that takes weights and adapters."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
    command += ["--model", str(folder), "--served-model-name", NAME, "--host", "127.0.0.1"]
    command += ["--port", str(port), "--dtype", "float32", "--enforce-eager"]
    command += ["--logprobs-mode", "processed_logprobs", "--generation-config", "vllm"]
    command += ["--max-num-seqs", "32", "--enable-lora", "--max-lora-rank", "8"]
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("w") as output:
        process = subprocess.Popen(
            command, env={**os.environ, **SETTINGS}, stdout=output, stderr=subprocess.STDOUT
        )
    while True:
        assert process.poll() is None, log.read_text()[-3000:]
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(1)
    yield f"http://127.0.0.1:{port}/v1"
    process.kill()
    process.wait()


def drawn(sampler, seed=0):
    """Return rows that sampler drew, with advantages of either sign."""
    completions = sampler.sample(chats(6, seed), sampling=Sampling(max_tokens=6), seeds=range(6))
    return [
        TrainingSample(
            prompt_ids=c.prompt_ids,
            token_ids=c.token_ids,
            logprobs=c.logprobs,
            advantage=(-1.0) ** i,
            source="policy",
        )
        for i, (c,) in enumerate(completions)
    ]


def assert_sampler_follows(trainer, sampler):
    """Three updates; before each the sampler's log-probabilities are the trainer's."""
    for number in range(3):
        metrics = trainer.update(drawn(sampler, number))
        assert metrics["logprob_mismatch"] < 1e-3, number
        assert metrics["sync_seconds"] > 0
    # The step is large: without the push the two would be far apart.
    rows = drawn(sampler, 9)
    trainer.trainer.update(rows)
    assert trainer.trainer.update(rows)["logprob_mismatch"] > 1e-2


@pytest.mark.parametrize("lora", [None, Lora(rank=4, alpha=8)])
def test_whole_weights_are_those_of_a_folder_with_adapters_merged(folder, lora):
    if lora:
        pytest.importorskip("peft", reason="needs pip install 'rla-envs[models]'")
    chat = HfChatModel.load(folder, lora=lora)
    with torch.no_grad():
        for parameter in chat.parameters.values():
            parameter.add_(0.05)
    ids = torch.tensor([[1, 5, 30, 6]])
    expected = chat.network(ids).logits
    plain = HfChatModel.load(folder)
    with whole_weights(chat.network) as weights:
        missing, unexpected = plain.network.load_state_dict(dict(weights), strict=False)
        assert not unexpected
        assert set(missing) <= {"lm_head.weight"}
        got = plain.network(ids).logits
    assert torch.allclose(got, expected, atol=1e-4)
    assert torch.allclose(chat.network(ids).logits, expected, atol=1e-5)


def test_a_server_that_takes_no_weights_is_named_with_the_way_out(folder, tmp_path):
    model = HfChatModel.load(folder)
    with pytest.raises(ModelError, match="did not take new weights"):
        ServerSync("http://127.0.0.1:9/v1", tmp_path).push(model)
    with pytest.raises(ConfigError, match="use ServerSync"):
        LoraServerSync("http://127.0.0.1:9/v1", object(), tmp_path).push(model)


class TestVllm:
    pytestmark = needs_vllm

    def test_a_server_follows_whole_weights_and_serves_meanwhile(self, server, folder, tmp_path):
        from rla_adapters.vllm_server import VllmServerModel

        sampler = VllmServerModel(server, NAME)
        trainer = SyncedTrainer(
            NativeTrainer(HfChatModel.load(folder), BIG), sampler, ServerSync(server, tmp_path)
        )
        assert_sampler_follows(trainer, sampler)
        other, done, ends, stop = VllmServerModel(server, NAME), [], [], threading.Event()

        def ask():
            while not stop.is_set():
                done.append(other.sample(chats(1), sampling=Sampling(max_tokens=4))[0][0].stop)
                ends.append(time.perf_counter())

        rows = drawn(sampler, 20)
        asking = threading.Thread(target=ask)
        asking.start()
        while len(ends) < 3:
            time.sleep(0.01)
        began = time.perf_counter()
        seconds = trainer.update(rows)["sync_seconds"]
        pushed = time.perf_counter()
        while ends[-1] < pushed:
            time.sleep(0.01)
        stop.set()
        asking.join()
        gaps = [after - before for before, after in pairwise(ends)]
        print(
            f"update and push {pushed - began:.2f} s, of it the push {seconds:.2f} s;"
            f" longest gap between answers {max(gaps):.2f} s, shortest {min(gaps):.3f} s"
        )
        assert set(done) <= {"stop", "length"}

    def test_a_server_follows_adapters_under_new_names(self, server, folder, tmp_path):
        pytest.importorskip("peft", reason="needs pip install 'rla-envs[models]'")
        from rla_adapters.vllm_server import VllmServerModel

        sampler = VllmServerModel(server, NAME)
        chat = HfChatModel.load(folder, lora=Lora(rank=4, alpha=8))
        # The server's own weights are those of the test before: back to the folder's.
        ServerSync(server, tmp_path / "whole").push(HfChatModel.load(folder))
        sync = LoraServerSync(server, sampler, tmp_path / "adapters")
        sync.push(chat)
        assert_sampler_follows(SyncedTrainer(NativeTrainer(chat, BIG), sampler, sync), sampler)
        assert sampler.model == "policy-4"
        assert [path.name for path in (tmp_path / "adapters").iterdir()] == ["policy-4"]

    def test_an_engine_of_this_process_follows(self, folder):
        os.environ.update(SETTINGS)
        from rla_adapters.vllm_engine import VllmChatModel

        sampler = VllmChatModel(folder, enforce_eager=True, max_num_seqs=32)
        try:
            trainer = NativeTrainer(HfChatModel.load(folder), BIG)
            assert_sampler_follows(SyncedTrainer(trainer, sampler, EngineSync(sampler)), sampler)
        finally:
            sampler.close()
