"""GRPOTrainer on samples that were collected and valued elsewhere, one advantage a sample."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import torch
from accelerate.utils import broadcast_object_list
from datasets import Dataset
from torch import Tensor, nn
from torch.utils.data import DataLoader
from transformers import PreTrainedTokenizerBase, TrainerCallback
from transformers.trainer_callback import PrinterCallback
from trl import GRPOConfig, GRPOTrainer  # pyright: ignore[reportPrivateImportUsage]

from rla_adapters.grpo.rows import Before, correction, loss_inputs, tokens
from rla_adapters.grpo.seam import require_trl
from rla_adapters.native.updates import minibatches, select
from rla_envs.errors import ConfigError, ModelError
from rla_envs.seeding import derive_seed
from rla_envs.types import TrainingSample

Collect = Callable[[int], Sequence[TrainingSample]]
"""Number of the collection, from 0 -> its samples; the same on every process."""
FRUITLESS = 20
"""Collections in a row without anything to learn from after which training stops."""


class StepGRPOTrainer(GRPOTrainer):
    """TRL's trainer, loss and loggers, fed with ``TrainingSample``s instead of its own rollouts.

    Each turn of an episode is a row with its own advantage, so that steps, not whole episodes, are
    paid. The objective is that of ``NativeTrainer``: mean over the samples of an optimiser step of
    the mean over their tokens, clipped, plus k3. ``args.beta`` weighs the KL to the weights that a
    collection starts from; no second model is kept, so the model may exist in memory only.

    A collection is spread over ``steps_per_generation`` forward and backward passes a process and
    used ``num_iterations`` times, in a new order each time. The order, and what shares an optimiser
    step, depend on ``args.seed`` and the collection's number, not on the number of processes.
    Samples that are too long or have advantage 0 are left out and counted (``counts``).

    Args:
        model: A causal model, whole or with adapters, or the path of a Hugging Face folder.
        collect: Where samples come from. With several processes wrap it in ``on_main``.
        args: TRL's settings. ``loss_type`` must be "dapo", and whoever samples must use the same
            ``temperature``, ``top_p=1`` and ``top_k=0``.
        processing_class: The tokenizer.
        ratio_cap: Largest weight that corrects a sampler/trainer mismatch.
        max_length: Longest prompt and reply together; the model's context when None.
        **more: Whatever else ``GRPOTrainer`` takes.

    Raises:
        ConfigError: settings under which the objective would not be the one above, or a TRL whose
            private methods are not known.
    """

    args: Any
    accelerator: Any
    model: Any

    def __init__(
        self,
        model: Any,
        collect: Collect,
        args: GRPOConfig,
        processing_class: PreTrainedTokenizerBase | None = None,
        *,
        ratio_cap: float = 2.0,
        max_length: int | None = None,
        **more: Any,
    ) -> None:
        require_trl()
        _check(args)
        # TRL would build a reference model from the folder named in the config; ours is free.
        beta, args.beta = args.beta, 0.0
        clock = Dataset.from_dict({"prompt": [""] * int(args.generation_batch_size or 1)})
        with _global_randomness_kept():
            super().__init__(
                model,
                reward_funcs=cast("Any", _never_called),
                args=args,
                train_dataset=clock,
                processing_class=processing_class,
                **more,
            )
        self.beta = args.beta = beta
        self.collections = 0
        self.counts: dict[str, float] = {}
        self.before: Before | None = None
        self.logged: list[dict[str, float]] = []
        self.steps_before = 0
        self._collect = collect
        self._pad = int(cast("Any", self._tokenizer).pad_token_id)
        self._ratio_cap = ratio_cap
        self._limit = max_length or int(self.model.config.max_position_embeddings)
        self._passes: Iterator[dict[str, Tensor]] = iter(())
        self.remove_callback(PrinterCallback)
        self.add_callback(_FiniteGradients())

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Return a clock: one tick a forward and backward pass. Rows come from ``collect``."""
        ticks = (self.args.steps_per_generation or 1) * self.num_iterations
        ticking: Any = [[{"prompt": ""}]] * ticks
        # A generator of its own: the global one is not this class's to advance.
        return DataLoader(ticking, batch_size=None, generator=torch.Generator())

    def _init_training_state(self, *args: Any, **kwargs: Any) -> Any:
        # Loggers go on where the last call of train ended.
        places = super()._init_training_state(*args, **kwargs)
        self.state.global_step += self.steps_before
        return places

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Keep what TRL logs in ``logged``, and pass it on to the loggers."""
        super().log(logs, start_time)
        self.logged.append(dict(logs))

    def _prepare_inputs(self, generation_batch: Any) -> dict[str, Any]:
        # TRL's own method permutes the rows of every process by itself, and cuts off what does not
        # divide by the number of passes.
        del generation_batch
        rows = next(self._passes, None)
        if rows is None:
            self._passes = self._generate_passes()
            rows = next(self._passes)
        return rows

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        raise NotImplementedError("rows come from collect; evaluate with rla_envs.loop.evaluate")

    def _generate_passes(self) -> Iterator[dict[str, Tensor]]:
        """Collect, and yield this process's rows for every pass until the next collection."""
        samples = self._trainable()
        self.before = before = self._before(samples)
        seed = derive_seed(self.args.seed, "order", self.collections - 1)
        generator = torch.Generator().manual_seed(seed)
        share = self.args.gradient_accumulation_steps
        steps = (self.args.steps_per_generation or share) // share
        for _ in range(self.num_iterations):
            for part in minibatches(samples, generator, steps):
                for index, padding in self._dealt(samples, part.tolist()):
                    yield loss_inputs(
                        samples,
                        index,
                        before,
                        padding=padding,
                        step_rows=len(part),
                        passes=steps,
                        pad=self._pad,
                        device=self.accelerator.device,
                    )

    def _trainable(self) -> list[TrainingSample]:
        for _ in range(FRUITLESS):
            # The collector may sample from this very model: no dropout, and a cache.
            self.model.eval()
            selected = select(self._collect(self.collections), self._limit)
            self.model.train()
            self.collections += 1
            self.counts = selected.counts
            if selected.kept:
                return self._checked(selected.kept)
        raise ModelError(
            f"{FRUITLESS} collections in a row had nothing to learn from; the last: {self.counts}"
        )

    def _checked(self, samples: list[TrainingSample]) -> list[TrainingSample]:
        room = self.args.generation_batch_size or 0
        if len(samples) > room:
            raise ConfigError(
                f"{len(samples)} samples were collected, but passes hold {room}; raise "
                "steps_per_generation or per_device_train_batch_size"
            )
        return samples

    def _dealt(
        self, samples: Sequence[TrainingSample], part: list[int]
    ) -> Iterator[tuple[list[int], int]]:
        """Yield this process's samples for every pass of an optimiser step, and rows to fill up.

        Samples of similar length share a pass, and all processes do the same number of passes.
        """
        part = sorted(part, key=lambda i: (_length(samples[i]), i))
        passes, world = self.args.gradient_accumulation_steps, self.accelerator.num_processes
        rows = -(-len(part) // (passes * world))
        for start in range(0, passes * world * rows, world * rows):
            mine = part[start : start + world * rows][self.accelerator.process_index :: world]
            yield mine, rows - len(mine)

    @torch.no_grad()
    def _before(self, samples: Sequence[TrainingSample]) -> Before:
        """Return what the current weights say about samples, computed by all processes together."""
        longest = max(len(sample.token_ids) for sample in samples)
        old_NT = torch.zeros(len(samples), longest)
        entropy = 0.0
        rows, world = self.args.per_device_train_batch_size, self.accelerator.num_processes
        order = sorted(range(len(samples)), key=lambda i: (_length(samples[i]), i))
        for start in range(0, len(order), rows * world):
            chunk = order[start : start + rows * world]
            # Equal shapes on all processes: the last sample fills up.
            filled = chunk + [chunk[-1]] * (-len(chunk) % world)
            mine = [samples[i] for i in filled[self.accelerator.process_index :: world]]
            logprobs_RT, entropies_R = self._score(mine, longest)
            gathered_RT = self.accelerator.gather(logprobs_RT).cpu().float()
            gathered_R = self.accelerator.gather(entropies_R).cpu().float()
            # Gathered rows are those of process 0, then those of process 1, ...
            places = [i for rank in range(world) for i in filled[rank::world]]
            seen: set[int] = set()
            for row, i in enumerate(places):
                if i not in seen:
                    seen.add(i)
                    old_NT[i] = gathered_RT[row]
                    entropy += float(gathered_R[row])
        weights_NT, mismatch = correction(samples, old_NT, cap=self._ratio_cap)
        return Before(
            old_NT=old_NT,
            weights_NT=weights_NT,
            mismatch=mismatch,
            entropy=entropy / len(samples),
        )

    def _score(self, samples: Sequence[TrainingSample], width: int) -> tuple[Tensor, Tensor]:
        """Return log-probabilities [R, width] of replies, 0 on padding, and mean entropies [R]."""
        rows = tokens(samples, pad=self._pad, device=self.accelerator.device)
        logprobs_RT, entropies_RT, _ = self._get_per_token_logps_and_entropies(
            self.model,
            torch.cat([rows.prompt_RP, rows.reply_RT], dim=1),
            torch.cat([rows.prompt_mask_RP, rows.reply_mask_RT], dim=1),
            rows.reply_RT.shape[1],
            compute_entropy=True,
        )
        mask_RT = rows.reply_mask_RT
        means_R = (entropies_RT * mask_RT).sum(dim=1) / mask_RT.sum(dim=1)
        filled_RT = nn.functional.pad(logprobs_RT * mask_RT, (0, width - mask_RT.shape[1]))
        return filled_RT.contiguous(), means_R.contiguous()


def on_main(collect: Collect) -> Collect:
    """Return a collector that runs on the main process alone and gives all others its samples."""

    def collected(number: int) -> Sequence[TrainingSample]:
        state = torch.distributed.is_initialized()
        box: list[Any] = [None]
        if not state or torch.distributed.get_rank() == 0:
            box = [list(collect(number))]
        return broadcast_object_list(box)[0]

    return collected


class _FiniteGradients(TrainerCallback):
    """Stops before a step that would destroy the weights."""

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Raise ModelError if a gradient is not finite."""
        del control
        for name, parameter in kwargs["model"].named_parameters():
            if parameter.grad is not None and not bool(torch.isfinite(parameter.grad).all()):
                raise ModelError(
                    f"the gradient of {name} is not finite in step {state.global_step}; lower "
                    f"learning_rate ({args.learning_rate})"
                )


def _never_called(**columns: Any) -> list[float]:
    """Stand where TRL wants a reward: samples come with their advantages."""
    raise NotImplementedError(f"advantages come from collect, not from {sorted(columns)}")


def _check(args: GRPOConfig) -> None:
    wanted = {
        "loss_type": "dapo",
        "importance_sampling_level": "token",
        "use_vllm": False,
        "top_p": 1.0,
        "top_k": 0,
        "min_p": None,
        "repetition_penalty": 1.0,
        "use_bias_correction_kl": False,
    }
    for name, value in wanted.items():
        if getattr(args, name) != value:
            raise ConfigError(f"{name} must be {value!r}, got {getattr(args, name)!r}")
    passes, share = args.steps_per_generation or 1, args.gradient_accumulation_steps
    if passes % share:
        raise ConfigError(
            f"steps_per_generation must be a multiple of gradient_accumulation_steps, got {passes} "
            f"and {share}"
        )


def _length(sample: TrainingSample) -> int:
    return len(sample.prompt_ids) + len(sample.token_ids)


@contextmanager
def _global_randomness_kept() -> Iterator[None]:
    """Undo what is done to the global generators inside: TRL's constructor seeds them all."""
    python, numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)
