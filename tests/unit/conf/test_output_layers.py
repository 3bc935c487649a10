"""Losses behind activations that they cannot be trained with are refused."""

import typing

import numpy as np
import pytest

import daskdl as dl
from daskdl.dialects import DL4J, EXACT
from daskdl.errors import OptionError
from daskdl.nn.conf.names import ActivationLiteral
from daskdl.nn.conf.stored import stored_configuration
from daskdl.training.state import network_from_state, state_of
from tests.unit.networks.small import sequence

ROWS = dl.FeedForward(size=3)
SERIES = dl.Recurrent(size=3)
IMAGES = dl.Convolutional(height=2, width=2, channels=3)
CLASSES = ["mcxent", "negativeloglikelihood", "sparse_mcxent", "kl_divergence"]
WITHIN_0_AND_1 = {"sigmoid", "softmax", "hardsigmoid", "rectifiedtanh"}
OUTSIDE = sorted({*typing.get_args(ActivationLiteral)} - WITHIN_0_AND_1)
POSITIVE = {"softplus", "sigmoid", "softmax"}
NOT_POSITIVE = sorted({*typing.get_args(ActivationLiteral)} - POSITIVE)


def configuration(loss, activation, n_out=2, **options):
    return dl.MultiLayerConfiguration(
        input=ROWS,
        layers=[dl.Output(n_out=n_out, loss=loss, activation=activation)],
        **options,
    )


@pytest.mark.parametrize("activation", OUTSIDE)
@pytest.mark.parametrize("loss", [*CLASSES, "xent"])
def test_probabilities_must_be_from_0_to_1(loss, activation):
    with pytest.raises(
        OptionError,
        match=rf"layers\[0\].activation: must be an activation with values from 0 to 1 "
        rf"for the loss '{loss}', got '{activation}'. Use 's.*validate_output_layer",
    ):
        configuration(loss, activation)


@pytest.mark.parametrize("activation", NOT_POSITIVE)
def test_counts_must_be_positive(activation):
    with pytest.raises(
        OptionError, match=r"with values above 0 for the loss 'poisson'"
    ):
        configuration("poisson", activation)


@pytest.mark.parametrize("activation", sorted(POSITIVE))
def test_positive_counts_are_taken(activation):
    assert configuration("poisson", activation).validate_output_layer


def test_options_change_nothing_of_it():
    with pytest.raises(OptionError, match=r"'mcxent', got 'leakyrelu'"):
        configuration(
            {"type": "mcxent", "weights": [1, 2]}, {"type": "leakyrelu", "alpha": 0.1}
        )


@pytest.mark.parametrize("loss", ["mcxent", "mse"])
def test_a_softmax_needs_two_outputs(loss):
    with pytest.raises(
        OptionError, match=r"must not be 'softmax' with n_out 1: .*sigm"
    ):
        configuration(loss, "softmax", 1)


def test_a_softmax_has_no_probabilities_of_their_own():
    with pytest.raises(
        OptionError, match=r"loss: must be another one than 'xent' behi"
    ):
        configuration("xent", "softmax")


@pytest.mark.parametrize("loss", CLASSES[:3])
def test_a_sigmoid_has_no_classes_that_exclude_one_another(loss):
    with pytest.raises(
        OptionError, match=rf"another one than '{loss}' behind 'sigmoid"
    ):
        configuration(loss, "sigmoid")


@pytest.mark.parametrize(
    ("input_type", "layer"),
    [
        (SERIES, dl.RnnOutput(n_out=2, activation="tanh")),
        (ROWS, dl.CenterLossOutput(n_out=2, activation="tanh")),
        (ROWS, dl.LossLayer(activation="tanh")),
        (SERIES, dl.RnnLoss(activation="tanh")),
        (IMAGES, dl.CnnLoss(activation="tanh")),
    ],
)
def test_every_layer_with_a_loss_is_looked_at(input_type, layer):
    with pytest.raises(OptionError, match="for the loss 'mcxent', got 'tanh'"):
        sequence(input_type, layer)


def test_the_layer_in_front_may_have_the_activation_of_a_loss_layer():
    net = sequence(
        ROWS,
        dl.Dense(n_out=2, activation="softmax"),
        dl.LossLayer(loss="mcxent", activation="identity"),
    )
    net.fit(dl.DataSet(np.eye(3), np.array([0, 1, 0])))
    assert np.isfinite(net.score)


def test_outputs_of_graphs_are_looked_at():
    with pytest.raises(OptionError, match=r"vertices.out.activation: must be an activ"):
        dl.ComputationGraphConfiguration(
            inputs={"in": ROWS},
            vertices={"out": dl.Output(n_out=2, activation="relu", inputs=["in"])},
            outputs=["out"],
        )


@pytest.mark.parametrize("how", [{"validate_output_layer": False}, {"dialect": DL4J}])
def test_it_is_done_in_exact_networks_that_do_not_say_otherwise(how):
    net = dl.MultiLayerNetwork(configuration("mcxent", "sigmoid", **how))
    net.fit(dl.DataSet(np.eye(3), np.eye(2)[[0, 1, 0]]))
    assert np.isfinite(net.score)


def test_workers_take_what_the_driver_took():
    net = dl.MultiLayerNetwork(
        configuration("mcxent", "sigmoid", validate_output_layer=False)
    )
    assert network_from_state(state_of(net)).conf == net.conf


def test_a_network_that_exists_comes_to_the_exact_dialect():
    net = dl.MultiLayerNetwork(configuration("mcxent", "sigmoid", dialect=DL4J))
    exact, _ = net.with_dialect(EXACT)
    assert not exact.conf.validate_output_layer
    fine = dl.MultiLayerNetwork(configuration("mcxent", "softmax", dialect=DL4J))
    assert fine.with_dialect(EXACT)[0].conf.validate_output_layer


def test_files_without_the_option_are_read():
    """They were written before anything was refused."""
    kind = dl.MultiLayerConfiguration
    old = configuration("mcxent", "sigmoid", validate_output_layer=False).to_dict()
    del old["validate_output_layer"]
    assert not stored_configuration(kind, old).validate_output_layer
    fine = configuration("mcxent", "softmax")
    assert stored_configuration(kind, fine.to_dict()) == fine
    with pytest.raises(OptionError, match="seeed: is not a known key"):
        stored_configuration(kind, {**old, "seeed": 1})
    with pytest.raises(OptionError, match="validate_output_layer: must be true or"):
        stored_configuration(kind, {**old, "validate_output_layer": "perhaps"})


@pytest.mark.parametrize("validates", [True, False])
def test_it_goes_to_dl4j_and_comes_back(tmp_path, validates):
    net = dl.MultiLayerNetwork(
        configuration("mcxent", "softmax", validate_output_layer=validates)
    )
    net.save(tmp_path / "net.zip", format="dl4j")
    assert dl.load(tmp_path / "net.zip").conf.validate_output_layer is validates


def test_a_saved_network_comes_back(tmp_path):
    net = dl.MultiLayerNetwork(
        configuration("mcxent", "tanh", validate_output_layer=False)
    )
    net.save(tmp_path / "net.safetensors")
    assert dl.load(tmp_path / "net.safetensors").conf == net.conf
