"""Networks of layers on rows, batch normalization, dropout and frozen layers."""

import numpy as np
import pytest

from daskdl.data.dataset import DataSet
from daskdl.dl4j.network.parameters import to_dl4j
from tests.golden.feed_forward_cases import MODELS, PRETRAINED, REPLAYS
from tests.golden.networks import Golden, Replay, deviation

PREFIXES = (
    "dense_",
    "output_",
    "losslayer",
    "centerloss",
    "embedding",
    "activation_layer",
    "prelu",
    "elementwise_mult",
    "repeat_vector",
    "autoencoder",
    "vae",
    "frozen",
    "batchnorm_",
    "dropout_",
    "weightnoise_",
)
# Not here: one of recurrent layers, and one that DL4J itself cannot run.
ELSEWHERE = {"dense_in_rnn", "batchnorm_input_rnn"}
# DL4J computes the training score of a layer without weights from an input that the
# gradient has just overwritten.
WRONG_SCORES = {"losslayer_mse", "no_params"}


@pytest.fixture(scope="module", params=MODELS)
def case(request, golden):
    return Golden(golden / "models", request.param, MODELS[request.param])


@pytest.fixture(scope="module", params=MODELS)
def float_case(request, golden):
    name = request.param
    return Golden(golden / "models", name, MODELS[name], "float")


@pytest.fixture(scope="module", params=REPLAYS)
def replay(request, golden):
    name = request.param
    dtype = "float32" if name.startswith("float") else "float64"
    return Replay(golden / "training", name, REPLAYS[name], dtype).run()


def check(found, case, name, bound=1e-12):
    # DL4J recorded none where its training is random, or fails.
    if name in case.expected:
        assert deviation(found, case.expected[name]) < bound


def test_every_case_of_these_layers_is_tried(manifest):
    names = {
        case["name"]
        for case in manifest["cases"]
        if case["kind"] == "models" and case["name"].startswith(PREFIXES)
    }
    assert names - ELSEWHERE <= set(MODELS)


def test_output(case):
    check(case.output(), case, "out0")


def test_output_in_float32(float_case):
    check(float_case.output(), float_case, "out0", 1e-6)


def test_score(case):
    if case.name not in WRONG_SCORES:
        check(case.gradient()[0], case, "score")


def test_gradient(case):
    check(case.gradient()[1], case, "grad")


def test_scores_of_examples(case):
    scores = case.network.score_examples(case.data, include_regularization=True)
    check(scores, case, "score_examples")


def test_score_in_inference(case):
    check(case.network.compute_score(case.data), case, "score_inference")


def test_size_of_the_updater_state(float_case):
    state = float_case.expected.get("updater", np.empty(0))
    assert float_case.network.updater_state.size == state.size


def test_parameters_after_every_step(replay):
    params, recorded = np.stack(replay.params), replay.expected["params"]
    if replay.name == "float_batchnorm_cnn":
        keep = without_noise(replay.network)
        params, recorded = params[:, keep], recorded[:, keep]
    tolerance = 2e-5 if replay.dtype == "float32" else 1e-12
    assert deviation(params, recorded) < tolerance


def test_scores_of_every_step(replay):
    tolerance = 1e-5 if replay.dtype == "float32" else 1e-12
    np.testing.assert_allclose(replay.scores, replay.expected["scores"], rtol=tolerance)


@pytest.mark.parametrize("name", PRETRAINED)
def test_pretraining(golden, name):
    replay = Replay(golden / "training", name, PRETRAINED[name])
    for step in range(len(replay.expected["params"])):
        features = DataSet(replay.expected[f"x{step}"], None)
        replay.network.pretrain_layer(0, features)
        replay.params.append(to_dl4j(replay.network, replay.network.params))
    assert deviation(replay.params, replay.expected["params"]) < 1e-12


def without_noise(network):
    """Return which numbers of DL4J's vector are more than rounding.

    A bias in front of batch normalization has no effect: its gradient is what is left
    of rounding, which Adam makes steps of, and the running mean follows it.
    """
    flags = np.ones(network.n_params)
    views = network.layout.views(flags)
    for name in ("0_b", "1_mean"):
        views[name].fill(0)
    return to_dl4j(network, flags) == 1


def test_normalizing_series_works_where_dl4j_fails(golden):
    import daskdl as dl
    from daskdl.nn.conf.input_type import Recurrent
    from tests.golden.feed_forward_cases import rnn_out, sequence

    conf = sequence(
        dl.BatchNormalization(),
        dl.LSTM(n_out=3, activation="tanh"),
        rnn_out(),
        input=Recurrent(size=3),
    )
    found = Golden(golden / "models", "batchnorm_input_rnn", conf)
    assert np.isfinite(found.gradient()[1]).all()
