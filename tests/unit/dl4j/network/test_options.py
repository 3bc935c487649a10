"""Options of training and functions in DL4J's JSON: each there and back."""

import pytest

from daskdl.dl4j.network.enumerations import ONE, ONE_OF_TWO
from daskdl.dl4j.network.functions import (
    ACTIVATION,
    ARRAY,
    DISTRIBUTIONS,
    ENUMERATED_ACTIVATION,
    ENUMERATED_INIT,
    ENUMERATED_LOSS,
    LOSS,
    WEIGHT_INIT,
)
from daskdl.dl4j.network.layers import read_layer, write_layer
from daskdl.dl4j.network.preprocessors import PREPROCESSOR
from daskdl.dl4j.network.reconstructions import RECONSTRUCTION
from daskdl.dl4j.network.schedules import SCHEDULE
from daskdl.dl4j.network.training import (
    CONSTRAINTS,
    DROPOUT,
    NOISE,
    UPDATER,
    read_regularization,
    with_lost_schedule,
    write_regularization,
)
from daskdl.dl4j.network.vertices import read_vertex, write_vertex
from daskdl.errors import FormatError

STEP = {"type": "step", "schedule_type": "epoch", "initial_value": 0.5}
STEP |= {"decay_rate": 0.1, "step": 3.0}
CYCLE = {"type": "cycle", "schedule_type": "iteration", "initial_learning_rate": 0.1}
CYCLE |= {"max_learning_rate": 0.9, "cycle_length": 100, "annealing_length": 10}
CYCLE |= {"annealing_decay": 0.1}
MOMENTS = {"learning_rate": 0.1, "beta1": 0.8, "beta2": 0.9, "epsilon": 1e-7}
IMAGE = {"height": 2, "width": 3, "channels": 4}
BOTH_WAYS = [
    (UPDATER, {"type": "sgd", "learning_rate": 0.1}),
    (UPDATER, {"type": "sgd", "learning_rate": STEP}),
    (UPDATER, {"type": "nesterovs", "learning_rate": 0.1, "momentum": STEP}),
    *((UPDATER, {"type": kind, **MOMENTS}) for kind in ("adam", "nadam", "adamax")),
    *((UPDATER, {"type": kind, **MOMENTS}) for kind in ("amsgrad", "adabelief")),
    (UPDATER, {"type": "adagrad", "learning_rate": 0.1, "epsilon": 1e-7}),
    (UPDATER, {"type": "adadelta", "rho": 0.9, "epsilon": 1e-7}),
    (UPDATER, {"type": "rmsprop", "learning_rate": 1.0, "decay": 0.9, "epsilon": 1e-7}),
    (UPDATER, {"type": "noop"}),
    (SCHEDULE, 0.25),
    (SCHEDULE, STEP),
    (SCHEDULE, CYCLE),
    (
        SCHEDULE,
        {"type": "map", "schedule_type": "iteration", "values": {0: 0.5, 10: 0.1}},
    ),
    (DROPOUT, {"type": "dropout", "keep_probability": 0.5}),
    (DROPOUT, {"type": "dropout", "keep_probability": STEP}),
    (
        DROPOUT,
        {"type": "alpha_dropout", "keep_probability": 0.5, "alpha": 1.0, "lambda": 2.0},
    ),
    (DROPOUT, {"type": "gaussian_dropout", "rate": 0.5}),
    (DROPOUT, {"type": "gaussian_noise", "stddev": STEP}),
    (DROPOUT, {"type": "spatial_dropout", "keep_probability": 0.5}),
    (
        NOISE,
        {
            "type": "drop_connect",
            "weight_retain_probability": STEP,
            "apply_to_biases": True,
        },
    ),
    (
        NOISE,
        {
            "type": "weight_noise",
            "additive": False,
            "apply_to_bias": True,
            "distribution": {"type": "uniform", "lower": 0.0, "upper": 1.0},
        },
    ),
    (
        CONSTRAINTS,
        [
            {
                "type": "max_norm",
                "apply_to": ["W"],
                "epsilon": 1e-6,
                "dimensions": [1],
                "max_norm": 2.0,
            },
            {"type": "non_negative", "apply_to": ["W"], "epsilon": 1e-6},
        ],
    ),
    (ACTIVATION, "tanh"),
    (ACTIVATION, "leakyrelu"),
    (ACTIVATION, {"type": "leakyrelu", "alpha": 0.3}),
    (ACTIVATION, {"type": "relu", "max": 6.0, "negative_slope": 0.1}),
    (LOSS, "mse"),
    (LOSS, {"type": "mse", "weights": [1.0, 2.0]}),
    (LOSS, {"type": "xent", "clip_eps": 0.1}),
    (LOSS, {"type": "mcxent", "weights": [1.0, 2.0]}),
    (LOSS, {"type": "mixture_density", "label_width": 2, "mixtures": 3}),
    (WEIGHT_INIT, "xavier"),
    (WEIGHT_INIT, {"type": "var_scaling_normal_fan_in", "scale": 2.0}),
    (
        WEIGHT_INIT,
        {
            "type": "distribution",
            "distribution": {"type": "orthogonal", "gain": 2.0},
        },
    ),
    (
        DISTRIBUTIONS.codec,
        {"type": "binomial", "number_of_trials": 3, "probability_of_success": 0.5},
    ),
    (ENUMERATED_INIT, "xavier"),
    (ENUMERATED_ACTIVATION, "tanh"),
    (ENUMERATED_LOSS, "kl_divergence"),
    (ENUMERATED_LOSS, "mse"),
    (ARRAY, [1.0, 2.0]),
    (ARRAY, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
    (ARRAY, [[[1.0], [2.0]], [[3.0], [4.0]]]),
    (ONE, 3),
    (ONE_OF_TWO, 3),
    (
        PREPROCESSOR,
        {"type": "cnn_to_feed_forward", **IMAGE, "data_format": "NHWC"},
    ),
    (PREPROCESSOR, {"type": "feed_forward_to_cnn", **IMAGE}),
    (PREPROCESSOR, {"type": "rnn_to_cnn", **IMAGE, "data_format": "NWC"}),
    (
        PREPROCESSOR,
        {"type": "cnn3d_to_feed_forward", "depth": 2, **IMAGE, "data_format": "NDHWC"},
    ),
    (
        PREPROCESSOR,
        {
            "type": "composable",
            "preprocessors": [{"type": "feed_forward_to_rnn", "data_format": "NCW"}],
        },
    ),
    (RECONSTRUCTION, {"type": "bernoulli", "activation": "sigmoid"}),
    (
        RECONSTRUCTION,
        {"type": "loss_wrapper", "activation": "identity", "loss": "mae"},
    ),
]


@pytest.mark.parametrize(("codec", "value"), BOTH_WAYS)
def test_what_is_written_is_read_again(codec, value):
    assert codec.read(codec.write(value), "file") == value


@pytest.mark.parametrize(
    ("init", "expected"),
    [
        ("lecun_normal", "WeightInitNormal"),
        ("xavier_fan_in", "WeightInitNormal"),
        ("zero", "WeightInitConstant"),
        ("ones", "WeightInitConstant"),
    ],
)
def test_initial_weights_without_a_class_are_those_of_another(init, expected):
    assert WEIGHT_INIT.write(init)["@class"].endswith(expected)


@pytest.mark.parametrize(
    ("init", "expected"),
    [
        ({"type": "constant", "value": 0.0}, "ZERO"),
        ({"type": "constant", "value": 1.0}, "ONES"),
        ({"type": "identity"}, "IDENTITY"),
    ],
)
def test_initial_weights_as_an_enumeration(init, expected):
    assert ENUMERATED_INIT.write(init) == expected


def test_the_size_of_a_cycle_is_written_as_dl4j_computes_it():
    written = SCHEDULE.write(CYCLE)
    assert list(written)[-2:] == ["increment", "stepSize"]
    assert written["stepSize"] == 45
    assert written["increment"] == pytest.approx(0.8 / 45)


def test_a_ramp_is_not_written():
    ramp = {"type": "ramp", "base": 0.1, "num_iter": 10}
    with pytest.raises(FormatError, match="cannot keep a ramp schedule in a file"):
        SCHEDULE.write(ramp)


def test_a_rate_from_a_schedule_is_no_number():
    written = UPDATER.write({"type": "sgd", "learning_rate": STEP})
    assert written["learningRate"] == "NaN"
    assert written["learningRateSchedule"]["step"] == 3.0


def test_a_rate_that_is_no_number_needs_a_schedule():
    """What DL4J writes of ``new AdaGrad(schedule)``: it loses the schedule."""
    lost = {"@class": "org.nd4j.linalg.learning.config.AdaGrad", "learningRate": "NaN"}
    with pytest.raises(FormatError, match="iupdater: must have a number in 'learningR"):
        UPDATER.read(lost, "iupdater")
    kept = {**lost, "learningRateSchedule": SCHEDULE.write(STEP)}
    assert UPDATER.read(kept, "iupdater")["learning_rate"] == STEP
    assert with_lost_schedule({"iupdater": kept, "biasUpdater": lost}) == {
        "iupdater": kept,
        "biasUpdater": kept,
    }
    assert with_lost_schedule({"iupdater": kept}) == {"iupdater": kept}


def test_no_constraints_are_null():
    assert CONSTRAINTS.write([]) is None


PENALTIES = {"l1": 0.1, "l2": STEP, "weight_decay": 0.2}


@pytest.mark.parametrize("suffix", ["", "_bias"])
def test_regularization_is_a_list(suffix):
    options = {f"{name}{suffix}": value for name, value in PENALTIES.items()}
    written = write_regularization(options, suffix)
    names = [item["@class"].rpartition(".")[2] for item in written]
    assert names == ["L1Regularization", "L2Regularization", "WeightDecay"]
    read = read_regularization(written, "file", suffix)
    decay = {"coefficient": 0.2, "apply_learning_rate": True}
    assert read == {**options, f"weight_decay{suffix}": decay}


def test_several_weight_decays_stay_several():
    decays = [
        {"coefficient": 0.1, "apply_learning_rate": True},
        {"coefficient": 0.2, "apply_learning_rate": False},
    ]
    written = write_regularization({"weight_decay": decays}, "")
    assert read_regularization(written, "file", "")["weight_decay"] == decays


@pytest.mark.parametrize(
    ("codec", "value", "message"),
    [
        (UPDATER, "lion", "DL4J: has no updater 'lion'"),
        (ACTIVATION, "maxout", "DL4J: has no activation 'maxout'"),
        (LOSS, "huber", "DL4J: has no loss 'huber'"),
        (SCHEDULE, {"type": "cosine"}, "DL4J: has no schedule 'cosine'"),
    ],
)
def test_what_dl4j_does_not_have_is_not_written(codec, value, message):
    with pytest.raises(FormatError, match=message):
        codec.write(value)


def test_a_vertex_that_dl4j_does_not_have_is_not_written():
    with pytest.raises(FormatError, match="DL4J: has no vertex 'gate'"):
        write_vertex({"type": "gate"})


def test_a_frozen_vertex_holds_another():
    frozen = {"type": "frozen_vertex", "vertex": {"type": "scale", "scale_factor": 2.0}}
    assert read_vertex(write_vertex(frozen), "file") == frozen


PACKAGE = "org.deeplearning4j.nn.conf.layers."


def dense(**properties):
    written = write_layer(
        {"type": "dense", "n_in": 2, "n_out": 3, "activation": "tanh", "l2": 0.5}
    )
    return {**written, **properties}


def changed(layer, **options):
    """Return what is written of a layer that was read and changed since."""
    return write_layer({**read_layer(layer, "file"), **options})


def test_a_property_without_a_meaning_is_kept():
    layer = dense(unheardOf=[1], timeDistributedFormat="NWC")
    read = read_layer(layer, "file")
    assert read["dl4j"] == {"unheardOf": [1], "timeDistributedFormat": "NWC"}
    assert write_layer(read)["unheardOf"] == [1]


def test_a_property_that_is_as_ever_is_not_kept():
    assert "dl4j" not in read_layer(dense(), "file")


def test_a_value_that_is_written_otherwise_is_kept():
    """A reader takes any case; the file gets back its own."""
    activation = {"@class": "org.example.ActivationTanH"}
    layer = dense(activationFn=activation)
    assert read_layer(layer, "file")["activation"] == "tanh"
    assert changed(layer)["activationFn"] == activation


def test_what_was_kept_for_an_option_goes_with_it():
    layer = dense(activationFn={"@class": "org.example.ActivationTanH"})
    written = changed(layer, activation="relu")["activationFn"]
    assert written["@class"].endswith("ActivationReLU")


def test_penalties_of_another_form_are_kept_until_they_change():
    zero = {"@class": "org.nd4j.linalg.schedule.FixedSchedule", "value": 0.0}
    name = "org.nd4j.linalg.learning.regularization.L1Regularization"
    layer = dense(regularization=[{"@class": name, "l1": zero}])
    assert changed(layer)["regularization"] == layer["regularization"]
    assert changed(layer, l1=0.1)["regularization"][0]["l1"]["value"] == 0.1


def test_missing_properties_mean_what_they_meant_in_older_releases():
    pooling = {"@class": f"{PACKAGE}SubsamplingLayer"}
    embedding = {"@class": f"{PACKAGE}EmbeddingLayer"}
    assert read_layer(pooling, "file")["include_padding"] is True
    assert read_layer(embedding, "file")["has_bias"] is True


def test_a_clip_that_is_left_open_is_written_as_dl4js():
    written = LOSS.write({"type": "mcxent", "softmax_clip_eps": None, "weights": [1.0]})
    assert written["softmaxClipEps"] == 1e-10
