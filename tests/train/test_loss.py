"""The objective by hand."""

from __future__ import annotations

from math import exp, log

import pytest
import torch
from rla_adapters.native.loss import clipped_surrogate, k3, mismatch_weights, sample_means


def test_clip_by_hand():
    # Ratios 1.5 and 0.5, clip 0.2. A = +1: -min(1.5, 1.2) = -1.2; -min(.5, .8) = -.5.
    # A = -1: -min(-1.5, -1.2) = 1.5; -min(-.5, -.8) = .8.
    new = torch.log(torch.tensor([[1.5, 0.5], [1.5, 0.5]]))
    losses = clipped_surrogate(new, torch.zeros(2, 2), torch.tensor([1.0, -1.0]), clip=0.2)
    assert losses.flatten().tolist() == pytest.approx([-1.2, -0.5, 1.5, 0.8])


def test_clipped_tokens_have_no_gradient():
    new = torch.log(torch.tensor([[1.5, 1.1]])).requires_grad_()
    clipped_surrogate(new, torch.zeros(1, 2), torch.ones(1), clip=0.2).sum().backward()
    # d(-r A)/d(new) = -r A inside the region, 0 outside.
    assert new.grad.flatten().tolist() == pytest.approx([0.0, -1.1])


def test_k3_by_hand():
    # old 0.5, new 0.25: d = ln 2, e^d - d - 1 = 1 - ln 2. Equal: 0. old .25, new .5: .5 + ln 2 - 1.
    new, old = torch.log(torch.tensor([[0.25, 0.5, 0.5], [0.5, 0.5, 0.25]]))[:, None]
    expected = [1 - log(2), 0.0, log(2) - 0.5]
    assert k3(new, old).flatten().tolist() == pytest.approx(expected, abs=1e-6)


def test_every_sample_weighs_the_same_whatever_its_length():
    values = torch.tensor([[2.0, 4.0, 99.0], [1.0, 99.0, 99.0]])
    mask = torch.tensor([[True, True, False], [True, False, False]])
    assert sample_means(values, mask).tolist() == [3.0, 1.0]


def test_mismatch_weights_are_one_where_sampler_and_trainer_agree_and_never_above_the_cap():
    old, sampled = torch.tensor([[-1.0, -1.0, -1.0]]), torch.tensor([[-1.0, -3.0, -0.5]])
    weights = mismatch_weights(old, sampled, cap=2.0)[0].tolist()
    assert weights == pytest.approx([1.0, 2.0, exp(-0.5)])
