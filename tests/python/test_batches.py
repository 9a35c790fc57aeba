"""Batches, the loss of one, and models with adapters."""

import pickle

import heedml
import numpy
import pytest


def language_model():
    return heedml.Model(heedml.language_model(heedml.gpt2(1, 2, 8, max_length=8)), 10, seed=1)


def test_arrays_of_a_batch_cannot_be_written_since_they_are_copies():
    ids = [[1, 2, 3], [4, 5, 0]]
    batch = heedml.Batch(ids, lengths=[3, 2], segments=ids, targets=ids)
    for array in (batch.tokens, batch.segments, batch.targets):
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 9
    with pytest.raises(TypeError):
        batch.lengths[0] = 1
    assert batch.lengths == (3, 2) and heedml.Batch(ids).lengths == ()
    hidden = numpy.where(batch.tokens == 2, 9, batch.tokens)
    assert heedml.Batch(hidden, lengths=batch.lengths).tokens.tolist() == [[1, 9, 3], [4, 5, 0]]


def test_a_batch_and_a_generator_are_sent_to_other_processes_and_a_model_says_how():
    batch = heedml.Batch([[1, 2, 3], [4, 5, 0]], lengths=[3, 2], query=[1, 0], answer=[4, -1])
    again = pickle.loads(pickle.dumps(batch))
    assert again.lengths == (3, 2) and again.segments is None
    for name in ("tokens", "query", "answer"):
        assert (getattr(again, name) == getattr(batch, name)).all()
    random = heedml.Random(3)
    random.normal((5,))
    assert (pickle.loads(pickle.dumps(random)).normal((4,)) == random.normal((4,))).all()
    with pytest.raises(TypeError, match="a Model cannot be pickled; save"):
        pickle.dumps(language_model())


def test_targets_behind_a_text_do_not_count():
    model, sequences = language_model(), [[5, 6, 7, 8, 9], [1, 2, 3], [4, 5]]
    ids, lengths = heedml.pad_sequences(sequences)
    batch = heedml.Batch(ids[:, :-1], lengths=[n - 1 for n in lengths], targets=ids[:, 1:])
    each = [heedml.Batch([text[:-1]], targets=[text[1:]]) for text in sequences]
    counts = [len(text) - 1 for text in sequences]
    expected = sum(n * model.loss(one).item() for n, one in zip(counts, each)) / sum(counts)
    assert model.loss(batch).item() == pytest.approx(expected, rel=1e-6)
    assert batch.targets.tolist() == ids[:, 1:].tolist()


def test_dropout_of_a_loss_needs_random_numbers():
    model, batch = language_model(), heedml.Batch([[1, 2, 3, 4]], targets=[[2, 3, 4, 5]])
    for rates in ({"dropout": 0.5}, {"attention_dropout": 0.5}, {"embedding_dropout": 0.5}):
        with pytest.raises(heedml.Error, match="no random numbers were given"):
            model.loss(batch, **rates)
        assert model.loss(batch, **rates, seed=1).item() != model.loss(batch, **rates, seed=2).item()
    with pytest.raises(heedml.Error, match="Model.loss: expected a seed or random, got both"):
        model.loss(batch, 0.5, seed=7, random=heedml.Random(1))
    random = heedml.Random(1)
    assert model.loss(batch, 0.5, random=random).item() != model.loss(batch, 0.5, random=random).item()


def test_a_merged_model_keeps_its_own_head_and_what_is_frozen():
    model = language_model()
    head = heedml.Linear(heedml.Scope(model.parameters, seed=3) / "classifier", 8, 3)
    model.adapt(["W_Q"], rank=2)
    model.parameters.unfreeze("classifier")
    adam, batch = heedml.AdamW(model.parameters, lr=0.1), heedml.Batch([[1, 2, 3], [4, 5, 6]])

    def gradients():
        with heedml.Recording():
            return heedml.cross_entropy(head(model.states(batch)[:, 0]), [1, 2]).backward()

    adam.step(gradients())
    store, states = model.parameters, model.states(batch).numpy()
    model.merge()
    numpy.testing.assert_allclose(model.states(batch).numpy(), states, atol=1e-5)
    assert list(store) == list(model.parameters) and not any("lora" in name for name in store)
    assert [name for name, value in store.items() if not value.is_frozen] == ["classifier.weight", "classifier.bias"]
    before = head.weight.numpy().copy()
    heedml.AdamW(model.parameters, lr=0.1).step(gradients())
    assert (head.weight.numpy() != before).any()
