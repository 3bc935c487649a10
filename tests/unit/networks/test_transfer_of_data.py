"""What a network knows of its data goes on as long as they are the same."""

import numpy as np
import pytest

import daskdl as dl
from tests.unit.networks.small import mlp, sequence, two_in_two_out


@pytest.fixture
def old(rng):
    """A network whose normalizer changes labels, too, and whose classes have names."""
    data = dl.DataSet(rng.normal(50, 9, (12, 4)), rng.normal(50, 9, (12, 3)))
    network = mlp()
    network.restore_normalizer(dl.NormalizerStandardize(fit_label=True).fit(data))
    network.class_names = ["ant", "bee", "cat"]
    return network


def changed(old, *steps):
    learning = dl.transfer_learning(old)
    for step in steps:
        learning = step(learning)
    return learning.build()


def test_the_same_outputs_keep_it_all(old):
    new = changed(old, lambda t: t.n_out_replace(0, 7))
    assert new.normalizer.to_dict() == old.normalizer.to_dict()
    assert new.class_names == old.class_names


@pytest.mark.parametrize(
    "step",
    [
        lambda t: t.n_out_replace(1, 5),
        lambda t: t.remove_output_layer().add_layer(dl.Output(n_out=3)),
        lambda t: t.remove_output_layer().add_layer(dl.Output(n_out=3, name="new")),
    ],
    ids=["other size", "same name", "other name"],
)
def test_other_outputs_keep_what_is_known_of_features(old, step, rng):
    new = changed(old, step)
    assert new.class_names is None
    assert not new.normalizer.is_fit_label
    features = rng.random((3, 4))
    np.testing.assert_array_equal(
        new.normalizer.transform_features(features),
        old.normalizer.transform_features(features),
    )
    again = type(new.normalizer).from_dict(new.normalizer.to_dict())
    assert again.is_fitted


def test_it_belongs_to_the_new_network_alone(old, rng):
    new = changed(old)
    before = old.normalizer.to_dict()
    new.normalizer.fit(dl.DataSet(rng.random((5, 4)), rng.random((5, 3))))
    assert old.normalizer.to_dict() == before


def test_other_inputs_leave_it_behind(rng):
    network = two_in_two_out()
    data = dl.MultiDataSet([rng.random((5, 4)), rng.random((5, 2))], [])
    network.normalizer = dl.MultiNormalizerStandardize().fit(data)
    learning = dl.transfer_learning(network)
    learning.remove_vertex_keep_connections("d")
    learning.add("d", dl.Dense(n_out=3), "a")
    learning.set_inputs({"a": dl.FeedForward(size=6), "b": dl.FeedForward(size=2)})
    assert learning.build().normalizer is None


def test_strategies_for_outputs_are_left_out(rng):
    network = sequence(dl.FeedForward(size=4), dl.Output(n_out=2, loss="mse"))
    data = dl.DataSet(rng.random((9, 4)), rng.random((9, 2)))
    hybrid = dl.MultiNormalizerHybrid().standardize_all_inputs()
    network.normalizer = hybrid.min_max_scale_all_outputs(0, 2).fit(data)
    new = changed(network, lambda t: t.n_out_replace(0, 3))
    assert not new.normalizer.is_fit_label
    assert new.normalizer.strategy("features", 0) == hybrid.strategy("features", 0)
