"""An OpenAI-compatible service that fails, dies and comes back: what is said, and what resumes."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from rla_adapters.openai_api import OpenAIChatModel, Service

from rla_envs.config import LoopConfig, RolloutConfig, TrainConfig, WarmStartConfig
from rla_envs.errors import ModelError
from rla_envs.tracking import RunFolder
from rla_envs.types import Sampling


class Critic(BaseHTTPRequestHandler):
    """Votes by the length of the prompt; refuses prompts of more than 2,000 characters."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        text = body["messages"][-1]["content"]
        if len(text) > 2000:
            said = {"error": {"message": "too many tokens", "code": "context_length_exceeded"}}
            return self.answer(400, said)
        if text == "forbidden":
            return self.answer(400, {"error": {"message": "no such sampling", "code": "invalid"}})
        vote = {"role": "assistant", "content": rf"because \boxed{{{(len(text) % 2) * 2 - 1:+d}}}"}
        choices = [
            {"index": i, "message": vote, "finish_reason": "length" if i else "stop"}
            for i in range(body["n"])
        ]
        return self.answer(200, {"id": "1", "object": "chat.completion", "choices": choices})

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words):
        pass


def serve(port=0):
    server = ThreadingHTTPServer(("127.0.0.1", port), Critic)
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def stop(server):
    server.shutdown()
    server.server_close()


@pytest.fixture
def server():
    running = serve()
    yield running
    stop(running)


def address(server):
    return f"http://127.0.0.1:{server.server_port}/v1"


def user(text):
    return ({"role": "user", "content": text},)


def test_requests_say_how_to_sample_and_answers_keep_their_order(server):
    model = OpenAIChatModel(address(server), "critic")
    talks = [user("a" * length) for length in range(1, 21)]
    sampling = Sampling(temperature=0.7, max_tokens=9)
    answers = model.sample(talks, n=2, sampling=sampling, seeds=range(20))
    expected = [rf"because \boxed{{{(length % 2) * 2 - 1:+d}}}" for length in range(1, 21)]
    assert [[c.text for c in cs] for cs in answers] == [[text] * 2 for text in expected]
    assert [[c.stop for c in cs] for cs in answers] == [["stop", "length"]] * 20
    asked = sorted(server.asked, key=lambda body: body["seed"])
    assert [body["seed"] for body in asked] == list(range(20))
    assert {(b["temperature"], b["max_tokens"], b["n"], b["model"]) for b in asked} == {
        (0.7, 9, 2, "critic")
    }


def test_a_prompt_that_the_service_finds_too_long_overflows_and_others_are_served(server):
    model = OpenAIChatModel(address(server), "critic")
    fits, full = model.sample([user("a"), user("a" * 2001)], n=2)
    assert [c.stop for c in full] == ["overflow"] * 2
    assert [c.text for c in fits] == [r"because \boxed{+1}"] * 2


def test_a_refusal_is_an_error_with_the_services_words(server):
    model = OpenAIChatModel(address(server), "critic")
    with pytest.raises(ModelError, match=r"refuses the request: .*no such sampling"):
        model.sample([user("forbidden"), user("a")])


def test_a_service_that_is_gone_is_named(server):
    stop(server)
    model = OpenAIChatModel(address(server), "critic", service=Service(address(server), retries=0))
    with pytest.raises(ModelError, match=f"no answer from {address(server)}"):
        model.sample([user("a")] * 3)


@pytest.mark.slow
def test_a_run_whose_judge_dies_resumes_to_the_numbers_of_one_that_was_spared(tmp_path):
    from rla_adapters.run import train

    first = serve()
    port = first.server_port
    config = TrainConfig(
        arm="reward",
        train_tasks=4,
        panel_tasks=2,
        warm_start=WarmStartConfig(
            policy_tasks=10,
            judge_tasks=2,
            policy_epochs=1,
            judge_model=f"openai:critic@http://127.0.0.1:{port}/v1",
        ),
        loop=LoopConfig(
            iterations=3,
            evaluate_every=3,
            votes=2,
            train_judge=False,
            rollout=RolloutConfig(tasks=2, rollouts=2, slots=4, max_steps=4),
        ),
    )
    train(config, tmp_path / "whole")
    stop(first)
    # A service that answers the first iteration and not the second.
    half = replace(config, loop=replace(config.loop, iterations=1))
    second = serve(port)
    train(half, tmp_path / "cut")
    stop(second)
    with pytest.raises(ModelError, match="rla train --resume"):
        train(config, tmp_path / "cut", resume=True)
    third = serve(port)
    train(config, tmp_path / "cut", resume=True)
    stop(third)
    last = [RunFolder.open(tmp_path / name).metrics()[-1] for name in ("whole", "cut")]
    spared, cut = (
        {k: v for k, v in row.items() if not k.startswith("seconds/") and k[:6] != "share_"}
        for row in last
    )
    assert cut == spared
    assert spared["iteration"] == 3
