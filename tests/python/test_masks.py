"""Masks of attention, and the axes that they have."""

import heedml
import numpy
import pytest


def test_a_mask_is_per_text_or_per_head_and_never_guessed():
    scope, rng = heedml.Scope(seed=1), numpy.random.default_rng(2)
    attention = heedml.MultiHeadAttention(scope / "attention", d_model=4, heads=2)
    ready = heedml.TransformerBlock(scope / 0, attention={"d_model": 4, "heads": 2}, mlp={"width": 8})
    x, visible = heedml.tensor(rng.normal(size=(2, 3, 4)).astype("float32")), rng.random((2, 3, 3)) > 0.4
    Q = heedml.tensor(rng.normal(size=(2, 2, 3, 4)))
    for use in (lambda mask: attention(x, mask=mask), lambda mask: ready(x, mask), lambda mask: heedml.attention(Q, Q, Q, mask)):
        with pytest.raises(heedml.Error, match=r"Give it the shape \(2, 1, 3, 3\) for one per text, or \(1, 2, 3, 3\) for one per head"):
            use(heedml.Mask(visible))
        with heedml.Hook(lambda name, value: None), pytest.raises(heedml.Error, match="may be one per text or one per head"):
            attention(x, mask=heedml.Mask(visible))
        use(heedml.Mask(visible[None]))
        whole = use(heedml.Mask(visible[:, None])).output.numpy()
    alone = [heedml.attention(q, q, q, heedml.Mask(v)).output.numpy() for q, v in zip(Q, visible)]
    assert numpy.allclose(whole, alone)
    with pytest.raises(heedml.Error, match=r"cannot combine masks of shapes \(2, 3, 3\) and \(2, 1, 1, 3\)"):
        heedml.Mask(visible) & heedml.Mask.padding([3, 1], 3)


def test_hidden_refuses_other_sizes_than_the_mask_has():
    visible = heedml.Mask(numpy.ones((3, 3), bool))
    assert not visible.hidden(3, 3).any() and heedml.Mask.padding([2], 3).hidden(5, 3).shape == (1, 1, 1, 3)
    for mask, T_q, T_k in ((visible, 1, 3), (visible, 3, 4), (visible & heedml.Mask.causal(), 1, 3), (heedml.Mask.padding([2], 3), 3, 1)):
        with pytest.raises(heedml.Error, match=rf"Mask.hidden: a mask of shape \(.*3\) does not fit scores of shape \({T_q}, {T_k}\)"):
            mask.hidden(T_q, T_k)


def test_masks_combine_with_masks_alone():
    mask, visible = heedml.Mask.causal(), numpy.ones((3, 3), bool)
    for combine in (lambda: mask & visible, lambda: visible & mask, lambda: mask & [True]):
        with pytest.raises(heedml.Error, match=r"^Mask: & combines two masks; write mask & heedml.Mask\(visible\)"):
            combine()


def test_attention_without_heads_takes_a_mask_of_padding():
    x, mask = heedml.tensor(numpy.random.default_rng(2).normal(size=(2, 3, 4))), heedml.Mask.padding([3, 1], 3)
    result = heedml.attention(x, x, x, mask, weights=True)
    assert result.output.shape == (2, 3, 4) and not result.weights.numpy()[1, :, 1:].any()
    alone = heedml.attention(x[1], x[1], x[1], heedml.Mask.padding([1], 3)).output
    assert numpy.allclose(result.output.numpy()[1], alone.numpy())
    assert heedml.check_gradients(lambda x: heedml.attention(x, x, x, mask).output, [x]).passed

    def loss(x):
        return (heedml.attention(x, x, x, mask).output ** 2).sum()

    slope, h = heedml.grad(loss), 1e-5 * heedml.ones(x.shape, "float64")
    differences = (slope(x + h) - slope(x - h)) / 2e-5
    assert numpy.allclose(heedml.hvp(loss, x, 1e5 * h).numpy(), differences.numpy(), atol=1e-8)
