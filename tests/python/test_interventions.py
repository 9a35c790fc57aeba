"""Interventions: ablation, patching, steering, knockout."""

import copy
import threading

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


def test_an_intervention_changes_its_model_alone(model):
    other, layer = copy.deepcopy(model), heedml.Linear(heedml.Scope(seed=1) / "encoder" / 0 / "mlp" / "out", 3, 4)
    batch, x, ablation = model.batch(["abcde"]), heedml.ones((1, 3)), heedml.ablate(Place.mlp_output(0))
    labelled = heedml.Batch([[1, 2, 3]], targets=[[2, 3, 4]])
    runs = {"logits": lambda m: m.logits(batch).numpy(), "states": lambda m: m.states(batch).numpy(), "encode": lambda m: m.encode("abc"),
            "trace": lambda m: m.trace("abcde")["logits"], "loss": lambda m: m.loss(labelled).numpy(),
            "induction": lambda m: numpy.array([list(row.values()) for row in m.induction().rows()], float)}
    before, of_layer = {name: run(other) for name, run in runs.items()}, layer(x).numpy()
    with heedml.intervene(model, ablation):
        for name, run in runs.items():
            assert numpy.allclose(run(other), before[name], atol=1e-5) and not numpy.allclose(run(model), before[name], atol=1e-5), name
        in_callback = []
        model.generate("ab", 2, on_text=lambda text: in_callback.append(layer(x).numpy()))
        assert of_layer.any() and in_callback and all((each == of_layer).all() for each in (layer(x).numpy(), *in_callback))
        with pytest.raises(heedml.Error, match=r"match: intervene\(\) changes one model"):
            model.match(other)


def test_another_thread_can_end_an_intervention(model):
    def generator():
        with heedml.intervene(model, heedml.ablate(Place.residual(1))):
            while True:
                yield model.trace("abcde")["logits"]

    plain, opened, errors = model.trace("abcde")["logits"], generator(), []
    assert (next(opened) != plain).any()

    def close():
        try:
            opened.close()
        except heedml.Error as error:
            errors.append(error)

    thread = threading.Thread(target=close)
    thread.start(), thread.join()
    assert not errors and numpy.allclose(model.trace("abcde")["logits"], plain, atol=1e-6)
    opened.close()
    del opened
    assert (traced(model, heedml.ablate(Place.residual(1)))["logits"] != plain).any()
    assert (model.trace("abcde")["logits"] == plain).all()


def test_a_direction_can_be_learned(model):
    batch, direction = heedml.Batch([[1, 2, 3]], targets=[[2, 3, 4]]), heedml.variable(numpy.zeros(8, "float32"))
    for given in (lambda: direction, lambda: direction * 2):
        with heedml.Recording(), heedml.intervene(model, heedml.steer(Place.residual(1), given())):
            assert model.loss(batch).backward()[direction].numpy().any()


def test_a_text_in_parts_is_changed_at_all_tokens_alone():
    model = heedml.Model(heedml.language_model(heedml.gpt2(2, 2, 8, max_length=8)), 10)
    with heedml.intervene(model, heedml.ablate(heedml.Place.mlp_output(0))):
        whole = model.logits(heedml.Batch([[1, 2, 3]])).numpy()[:, -1]
        assert numpy.allclose(model.append([[1, 2, 3]], heedml.KeyValueCache()).numpy(), whole, atol=1e-6)
    with heedml.intervene(model, heedml.ablate(heedml.Place.mlp_output(0).at(0))):
        with pytest.raises(heedml.Error, match="read a text in parts"):
            model.append([[1, 2, 3]], heedml.KeyValueCache())
        model.logits(heedml.Batch([[1, 2, 3]]))


def test_no_interventions_change_nothing(model):
    assert (traced(model)["logits"] == model.trace("abcde")["logits"]).all()


def test_wrong_arguments_are_named(model):
    residual = Place.residual(1)
    for make, expected in ((lambda: heedml.cut(1, -1, 3, []), "cut: keys: expected at least one, got none"),
                           (lambda: heedml.cut(1, -1, 3, 1.5), "cut: keys: expected whole numbers, got 1.5"),
                           (lambda: residual.at(*[]), "Place.at: tokens: expected at least one, got none"),
                           (lambda: residual.at([1, 2]), "Place.at: tokens: expected whole numbers, got"),
                           (lambda: residual.at(slice(2)), "Place.at: tokens: expected whole numbers"),
                           (lambda: Place.weights(0).to(), "Place.to: keys: expected at least one, got none"),
                           (lambda: Place.neurons(0, []), "Place.neurons: neurons: expected at least one, got none"),
                           (lambda: Place.head_output(0, -2), "Place.head_output: head: expected a number from 0, or -1 for all; got -2"),
                           (lambda: Place.residual("x"), "Place.residual: layer: expected a whole number, got 'x'"),
                           (lambda: Place("foo", 1), "Place: kind: expected residual, queries, .*; got 'foo'"),
                           (lambda: heedml.ablate("residual"), "ablate: place: expected a Place, .*; got 'residual'"),
                           (lambda: heedml.ablate(residual, "x"), "ablate: mean: expected a number, an array or a tensor, got str"),
                           (lambda: heedml.steer(residual, None), "steer: direction: expected .*, got NoneType"),
                           (lambda: heedml.patch(residual, None), "patch: source: expected .*, got NoneType"),
                           (lambda: heedml.replace(residual, 3), "replace: function: expected a function, got int"),
                           (lambda: traced(model, heedml.replace(residual, lambda x: None)), "replace: function: .* got None"),
                           (lambda: traced(model, "x"), "intervene: expected interventions, .*; got str$"),
                           (lambda: traced(model, [heedml.ablate(residual)]), r"got list; write intervene\(model, \*interventions\)"),
                           (lambda: traced("m", heedml.ablate(residual)), "intervene: model: expected a Model, got str")):
        with pytest.raises(heedml.Error, match=expected):
            make()
    bare = heedml.Model({**model.config, "transformer": {**model.config["transformer"], "block": {
        **model.config["transformer"]["block"], "mlp": {**model.config["transformer"]["block"]["mlp"], "width": 0}}}}, list("abcdefgh"))
    with pytest.raises(heedml.Error, match="Place.neurons: layer 0 of this model has no MLP"):
        traced(bare, heedml.ablate(Place.neurons(0)))
    assert Place.neurons(0, numpy.array([1, 2])) == Place.neurons(0, [1, 2]) and heedml.cut(0, 0, 3, 1).place.features == (1,)
