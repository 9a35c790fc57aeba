"""Interventions: ablation, patching, steering, knockout."""

import heedml
import numpy
import pytest

Place = heedml.Place


@pytest.fixture(scope="module")
def model():
    config = heedml.language_model(heedml.gpt2(2, 2, 8, max_length=16))
    return heedml.Model(config, list("abcdefgh"), seed=3, split="characters")


def traced(model, *interventions, text="abcde"):
    with heedml.intervene(model, *interventions):
        return model.trace(text)


def test_an_ablated_head_adds_nothing(model):
    plain, changed = model.trace("abcde"), traced(model, heedml.ablate(Place.head_output(1, 0)))
    assert not changed["layers.1.head_output"][:, 0].any()
    assert (changed["layers.1.head_output"][:, 1] == plain["layers.1.head_output"][:, 1]).all()
    assert (changed["layers.0.residual_out"] == plain["layers.0.residual_out"]).all() and (changed["logits"] != plain["logits"]).any()
    both = traced(model, heedml.ablate(Place.head_output(-1)))
    assert not both["layers.0.head_output"].any() and not both["layers.1.head_output"].any()
    mean = plain["layers.0.mlp_output"].mean((0, 1))
    one = traced(model, heedml.ablate(Place.mlp_output(0).at(2), mean))["layers.0.mlp_output"]
    assert numpy.allclose(one[0, 2], mean) and (one[0, :2] == plain["layers.0.mlp_output"][0, :2]).all()
    neurons = traced(model, heedml.ablate(Place.neurons(1, [3, 5])))["layers.1.mlp_hidden"]
    assert not neurons[..., [3, 5]].any() and neurons[..., 4].any()


def test_patching_the_residual_stream_gives_the_answer_of_the_other_text(model):
    other = model.trace("hgfed")
    for layer in range(3):
        assert (traced(model, heedml.patch(Place.residual(layer), other))["logits"] == other["logits"]).all()
    plain = model.trace("abcde")
    patched = traced(model, heedml.patch(Place.residual(1).at(4), other))
    assert (patched["layers.0.residual_out"][0, :4] == plain["layers.0.residual_out"][0, :4]).all()
    assert (patched["logits"] != plain["logits"]).any()
    for kind in ("queries", "keys", "values", "head_output", "attention_output", "mlp_output", "neurons", "weights", "scores"):
        assert (traced(model, heedml.patch(getattr(Place, kind)(0), plain))["logits"] == plain["logits"]).all(), kind
    with pytest.raises(heedml.Error, match=r"patch: expected values of shape \(1, 5, 8\), got \(1, 4, 8\)"):
        traced(model, heedml.patch(Place.residual(1), model.trace("abcd")))


def test_a_knocked_out_edge_has_no_weight_and_the_others_share_it(model):
    plain = model.trace("abcde")["layers.0.weights"][0]
    changed = traced(model, heedml.cut(0, 1, 4, [0, 1]))["layers.0.weights"][0]
    assert (changed[0] == plain[0]).all() and (changed[1, :4] == plain[1, :4]).all() and not changed[1, 4, :2].any()
    assert numpy.allclose(changed[1, 4, 2:], plain[1, 4, 2:] / plain[1, 4, 2:].sum(), atol=1e-6)
    zero = traced(model, heedml.ablate(Place.weights(0, 1).at(4).to(0, 1)))["layers.0.weights"][0]
    assert not zero[1, 4, :2].any() and (zero[1, 4, 2:] == plain[1, 4, 2:]).all()


def test_steering_and_the_order_of_interventions(model):
    plain, direction = model.trace("abcde")["layers.1.residual_in"], numpy.arange(8, dtype="float32")
    steered = traced(model, heedml.steer(Place.residual(1).at(3), direction, 2.0))["layers.1.residual_in"]
    assert numpy.allclose(steered[0, 3], plain[0, 3] + 2 * direction) and (steered[0, :3] == plain[0, :3]).all()
    double = heedml.replace(Place.residual(1), lambda x: x * 2)
    then = traced(model, double, heedml.steer(Place.residual(1), direction))["layers.1.residual_in"]
    assert numpy.allclose(then, 2 * plain + direction, atol=1e-6)
    with heedml.intervene(model, double):
        assert model.generate("ab", 3, temperature=0).text
    batch, strength = heedml.Batch([[1, 2, 3]], targets=[[2, 3, 4]]), heedml.variable([1.0])
    with heedml.Recording(), heedml.intervene(model, heedml.replace(Place.residual(1), lambda x: x * strength)):
        assert model.loss(batch).backward()[strength].item() != 0


def test_places_that_a_model_lacks_are_refused(model):
    for place, expected in ((Place.residual(3), "no layer 3 in a model of 2 layers; expected 0 to 2"), (Place.head_output(2), "no layer 2"),
                            (Place.head_output(0, 2), "no head 2 among 2"), (Place.residual(0).at(9), "no token 9 among 5"),
                            (Place.neurons(0, [99]), "no feature 99 among 32")):
        with pytest.raises(heedml.Error, match=expected):
            traced(model, heedml.ablate(place))
    with pytest.raises(heedml.Error, match="Place.to: expected scores or weights"):
        Place.residual(1).to(2)
