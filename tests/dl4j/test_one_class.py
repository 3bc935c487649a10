"""One-class networks over several epochs, with the real DL4J."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.data.dataset import DataSet
from daskdl.dl4j.network import model_zip
from tests.dl4j.networks import IMAGES, ROWS, as_graph, dense, sequence
from tests.dl4j.real_dl4j import RefusedError
from tests.dl4j.trials import built, close

N_BATCHES, N_EXAMPLES, N_EPOCHS = 3, 5, 4
# Room for fewer scores than an epoch has, for just as many, and for more.
WINDOWS = {"small": 7, "full": N_BATCHES * N_EXAMPLES, "large": 40}


def one_class(**options):
    layer = dl.OCNNOutput(hidden_size=3, activation="sigmoid", **options)
    return sequence(ROWS, dense(n_out=4), layer)


def minibatches(rng, shape=(4,), n_batches=N_BATCHES):
    return [
        DataSet(rng.standard_normal((N_EXAMPLES, *shape)), np.ones((N_EXAMPLES, 1)))
        for _ in range(n_batches)
    ]


# With configure_r DL4J forgets r when it loads a file without an epoch.
KEPT = {"hidden_size": 3, "configure_r": False}
FIRST_EPOCHS = {
    "rows": sequence(ROWS, dense(n_out=4), dl.OCNNOutput(**KEPT, nu=0.2)),
    "images": sequence(IMAGES, dl.OCNNOutput(**KEPT)),
    "softmax": sequence(ROWS, dl.OCNNOutput(**KEPT, activation="softmax")),
    "elu": sequence(
        ROWS, dl.OCNNOutput(**KEPT, activation={"type": "elu", "alpha": 0.5})
    ),
    "l2": sequence(ROWS, dense(n_out=4), dl.OCNNOutput(**KEPT), l2=0.1, l1=0.1),
    "weight decay": sequence(ROWS, dl.OCNNOutput(**KEPT), weight_decay=0.1),
    "bias updater": sequence(
        ROWS, dl.OCNNOutput(**KEPT), bias_updater={"type": "sgd", "learning_rate": 1.0}
    ),
    "sums": sequence(ROWS, dense(n_out=4), dl.OCNNOutput(**KEPT), mini_batch=False),
    "constraint": sequence(
        ROWS,
        dl.OCNNOutput(
            **KEPT, constraints=[{"type": "non_negative", "apply_to": "weights"}]
        ),
    ),
    "clipping": sequence(
        ROWS,
        dl.OCNNOutput(**KEPT),
        gradient_normalization="clip_l2_per_param_type",
        gradient_normalization_threshold=0.1,
    ),
    "frozen in front": sequence(
        ROWS, dl.Frozen(layer=dense(n_out=4)), dl.OCNNOutput(**KEPT)
    ),
}


@pytest.mark.parametrize("name", FIRST_EPOCHS)
@pytest.mark.parametrize("graph", [False, True], ids=["layers", "graph"])
def test_the_first_epoch_goes_on(dl4j, rng, tmp_path, name, graph):
    conf = FIRST_EPOCHS[name]
    network = built(as_graph(conf) if graph else conf, "float64", rng)
    batches = minibatches(rng, network.inputs[0].type.border_shape)
    for batch in batches:
        network.fit_minibatch(batch)
    path = tmp_path / "model.zip"
    model_zip.save(network, path)
    scores, trained = dl4j.fit(path, batches, dtype="float64")
    ours = [network.fit_minibatch(batch) for batch in batches]
    close(ours, scores, 1e-9)
    again = model_zip.load(trained)
    close(network.params, again.params, 1e-9)
    close(network.updater_state, again.updater_state, 1e-9)


def test_the_score_of_the_first_minibatch_of_an_epoch(dl4j, rng, tmp_path):
    """DL4J has set r when it scores."""
    network = built(one_class(initial_r_value=0.3, window_size=6), "float64", rng)
    network.param_table()["1_r"].fill(0.3)
    model_zip.save(network, tmp_path / "model.zip")
    batches = minibatches(rng, n_batches=1)
    scores, _ = dl4j.fit(
        tmp_path / "model.zip", batches, dtype="float64", epochs=N_EPOCHS
    )
    network.fit(batches, epochs=N_EPOCHS)
    close([network.score], scores, 1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("nu", [0.005, 0.2, 1.0])
@pytest.mark.parametrize("size", WINDOWS)
def test_epochs(dl4j, rng, tmp_path, size, nu, dtype):
    conf = one_class(window_size=WINDOWS[size], nu=nu, initial_r_value=0.3)
    network = built(conf, dtype, rng)
    # What DL4J sets it to when it loads the file.
    network.param_table()["1_r"].fill(0.3)
    path = tmp_path / "model.zip"
    model_zip.save(network, path)
    batches = minibatches(rng)
    if dtype == "float32":
        batches = [
            DataSet(batch.features.astype("f4"), batch.labels.astype("f4"))
            for batch in batches
        ]
    _, trained = dl4j.fit(path, batches, dtype=dtype, epochs=N_EPOCHS)
    network.fit(batches, epochs=N_EPOCHS)
    tolerance = {"float32": 1e-5, "float64": 1e-9}[dtype]
    close(network.params, model_zip.load(trained).params, tolerance)


def test_dl4j_cannot_go_on_behind_an_epoch(dl4j, rng, tmp_path):
    """Its window of scores is not in the file."""
    network = built(one_class(), "float64", rng)
    batches = minibatches(rng)
    network.fit(batches, epochs=2)
    model_zip.save(network, tmp_path / "model.zip")
    with pytest.raises(RefusedError, match=r'"this.window" is null'):
        dl4j.fit(tmp_path / "model.zip", batches, dtype="float64")


def test_what_dl4j_trained_goes_on_here(dl4j, rng, tmp_path):
    network = built(one_class(nu=0.3), "float64", rng)
    path = tmp_path / "model.zip"
    model_zip.save(network, path)
    batches = minibatches(rng)
    _, trained = dl4j.fit(path, batches, dtype="float64", epochs=2)
    again = model_zip.load(trained)
    r = float(again.param_table()["1_r"][0])
    again.fit(batches, epochs=2)
    assert np.isfinite(again.params).all()
    assert float(again.param_table()["1_r"][0]) != r
