"""A lean forward pass over the weights of a ``LlamaForCausalLM``, for sampling and for training.

Both jobs have the same shape: a long prompt, of which nothing but keys and values is needed, and a
short reply, of which every logit is needed. So the prompt without its last token is the *prefix*
and everything else is the *suffix*:

* prefix positions leave the last block after the key and value projection (in a two-block model
  that is 40 % of the work);
* completions of one prompt share one prefix;
* norm weights and the attention scale are folded into the next matrix, and rotary pairs are laid
  out as complex numbers.

Gradients flow through all of it into the model's own parameters. The result equals transformers'
forward to rounding. Shape letters: U prompts, R rows (completions), P prefix length, T suffix
length, D width, K key-value heads, G query heads a key-value head, E head size, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

from rla_envs.errors import ConfigError

Cache = list[tuple[Tensor, Tensor]]
"""For each block keys and values, each [rows, K, positions, E]."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block's matrices, with norm weights folded in."""

    qkv: Tensor
    out: Tensor
    gate_up: Tensor
    down: Tensor


@dataclass(frozen=True, slots=True)
class Packed:
    """A model's weights in the layout of this pass; made anew after every change."""

    embed: Tensor
    blocks: tuple[Block, ...]
    head: Tensor
    rotation: Tensor
    eps: float
    groups: tuple[int, int, int]
    """K, G, E."""


def rotation_table(model: LlamaForCausalLM) -> Tensor:
    """Return exp(i * position * frequency) [context, E / 2] as the model's rotary embedding has it.

    Raises:
        ConfigError: the model is not a plain Llama (scaled rotary embedding, biases, another
            activation).
    """
    config = model.config
    plain = {
        "attention_bias": (config.attention_bias, False),
        "mlp_bias": (config.mlp_bias, False),
        "hidden_act": (config.hidden_act, "silu"),
        "rope_type": (getattr(model.model.rotary_emb, "rope_type", "default"), "default"),
    }
    for name, (value, wanted) in plain.items():
        if value != wanted:
            raise ConfigError(f"the lean forward needs {name}={wanted!r}, the model has {value!r}")
    frequencies = model.model.rotary_emb.inv_freq.double()
    angles = torch.arange(config.max_position_embeddings).double()[:, None] * frequencies
    return torch.polar(torch.ones_like(angles), angles).to(torch.complex64)


def pack(model: LlamaForCausalLM, rotation: Tensor) -> Packed:
    """Return the weights in the layout of this pass; gradients reach the parameters."""
    config = model.config
    heads = int(config.num_attention_heads)
    kv = int(config.num_key_value_heads or heads)
    size = int(config.head_dim or config.hidden_size // heads)
    blocks: list[Block] = []
    for module in model.model.layers:
        layer = cast(LlamaDecoderLayer, module)
        attention, mlp = layer.self_attn, layer.mlp
        q = _pairs(attention.q_proj.weight, size) * size**-0.5
        k = _pairs(attention.k_proj.weight, size)
        qkv = torch.cat([q, k, attention.v_proj.weight]) * layer.input_layernorm.weight
        gate_up = torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight])
        blocks.append(
            Block(
                qkv=qkv,
                out=attention.o_proj.weight,
                gate_up=gate_up * layer.post_attention_layernorm.weight,
                down=mlp.down_proj.weight,
            )
        )
    return Packed(
        embed=model.model.embed_tokens.weight,
        blocks=tuple(blocks),
        head=model.lm_head.weight * model.model.norm.weight,
        rotation=rotation,
        eps=config.rms_norm_eps,
        groups=(kv, heads // kv, size),
    )


def prefix_cache(packed: Packed, ids_UP: Tensor) -> Cache:
    """Return keys and values of right-padded prompts; padded positions are meaningless."""
    kv, group, size = packed.groups
    x = F.embedding(ids_UP, packed.embed)
    rotation = packed.rotation[: ids_UP.shape[1], None]
    cache: Cache = []
    for block in packed.blocks[:-1]:
        q, k, v = _project(packed, block.qkv, x, rotation)
        cache.append((k, v))
        mixed = F.scaled_dot_product_attention(
            q, k, v, is_causal=True, scale=1.0, enable_gqa=group > 1
        )
        x = _finish(packed, block, x, mixed.transpose(1, 2).flatten(2))
    qkv = packed.blocks[-1].qkv
    projected = F.linear(_norm(packed, x), qkv[kv * group * size :]).unflatten(-1, (2 * kv, size))
    k, v = projected.split((kv, kv), dim=2)
    cache.append((_rotate(k, rotation).transpose(1, 2), v.transpose(1, 2)))
    return cache


def suffix_logits(
    packed: Packed, cache: Cache, ids_RT: Tensor, lengths_R: Tensor, rows_R: Tensor | None
) -> Tensor:
    """Return logits [R, T, V] of right-padded suffixes that continue prefixes.

    Args:
        packed: Weights.
        cache: From ``prefix_cache``.
        ids_RT: Suffix tokens: the prompt's last one, then the reply without its last one.
        lengths_R: Length of each row's prefix, without padding.
        rows_R: Which of the cache's prompts each row continues; None when row i continues prompt i.
    """
    prefix, suffix = cache[0][0].shape[2], ids_RT.shape[1]
    steps = torch.arange(suffix)
    rotation = packed.rotation[lengths_R[:, None] + steps].unsqueeze(2)
    seen_prefix = (torch.arange(prefix) < lengths_R[:, None])[:, None].expand(-1, suffix, -1)
    seen_suffix = (steps <= steps[:, None]).expand(len(ids_RT), -1, -1)
    mask = torch.cat([seen_prefix, seen_suffix], dim=2).unsqueeze(1)
    bias = torch.zeros(mask.shape).masked_fill_(~mask, float("-inf"))
    x = F.embedding(ids_RT, packed.embed)
    for block, (k_prefix, v_prefix) in zip(packed.blocks, cache, strict=True):
        if rows_R is not None:
            k_prefix, v_prefix = k_prefix[rows_R], v_prefix[rows_R]
        q, k, v = _project(packed, block.qkv, x, rotation)
        mixed = F.scaled_dot_product_attention(
            q,
            torch.cat([k_prefix, k], dim=2),
            torch.cat([v_prefix, v], dim=2),
            attn_mask=bias,
            scale=1.0,
            enable_gqa=packed.groups[1] > 1,
        )
        x = _finish(packed, block, x, mixed.transpose(1, 2).flatten(2))
    return F.linear(_norm(packed, x), packed.head)


def step_logits(
    packed: Packed,
    cache: Cache,
    ids_R: Tensor,
    positions_R: Tensor,
    at: int,
    bias_RP: Tensor | None,
) -> Tensor:
    """Return logits [R, V] of one further token a row.

    Its keys and values are written into cache, so this is not differentiable.

    Args:
        packed: Weights.
        cache: Buffers with room at position ``at``.
        ids_R: The tokens.
        positions_R: Their positions in their own sequences.
        at: Where in the buffers they go; everything before is attended to.
        bias_RP: 0 where the prefix part [:, :P] of the buffers is real and -inf where it is
            padding; None if all real.
    """
    kv, group, size = packed.groups
    rows, end = len(ids_R), at + 1
    rotation = packed.rotation[positions_R].unsqueeze(1)
    x = F.embedding(ids_R, packed.embed)
    for block, (keys, values) in zip(packed.blocks, cache, strict=True):
        qkv = F.linear(_norm(packed, x), block.qkv).unflatten(-1, (-1, size))
        qk, v = qkv.split((kv * group + kv, kv), dim=1)
        q, k = _rotate(qk, rotation).split((kv * group, kv), dim=1)
        keys[:, :, at] = k
        values[:, :, at] = v
        scores = q.reshape(rows, kv, group, size) @ keys[:, :, :end].transpose(2, 3)
        if bias_RP is not None:
            scores[..., : bias_RP.shape[1]] += bias_RP[:, None, None]
        mixed = torch.softmax(scores, dim=-1) @ values[:, :, :end]
        x = _finish(packed, block, x, mixed.reshape(rows, -1))
    return F.linear(_norm(packed, x), packed.head)


def _project(
    packed: Packed, qkv: Tensor, x: Tensor, rotation: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    kv, group, size = packed.groups
    projected = F.linear(_norm(packed, x), qkv).unflatten(-1, (-1, size))
    qk, v = projected.split((kv * group + kv, kv), dim=2)
    q, k = _rotate(qk, rotation).split((kv * group, kv), dim=2)
    return q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)


def _finish(packed: Packed, block: Block, x: Tensor, mixed: Tensor) -> Tensor:
    x = x + F.linear(mixed, block.out)
    gate, up = F.linear(_norm(packed, x), block.gate_up).chunk(2, dim=-1)
    return x + F.linear(F.silu(gate) * up, block.down)


def _norm(packed: Packed, x: Tensor) -> Tensor:
    return F.rms_norm(x, x.shape[-1:], None, packed.eps)


def _rotate(x: Tensor, rotation: Tensor) -> Tensor:
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * rotation).flatten(-2)


def _pairs(weight: Tensor, size: int) -> Tensor:
    """Return rows reordered so that the halves which rotate together are neighbours."""
    return weight.unflatten(0, (-1, 2, size // 2)).transpose(1, 2).reshape(weight.shape)
