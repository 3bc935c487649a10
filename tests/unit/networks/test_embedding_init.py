"""First weights that are vectors which somebody else has learnt."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.dl4j.arrays.nd4j import write_array
from daskdl.dl4j.network import model_zip
from daskdl.errors import CorruptFileError, OptionError, SourceNotFoundError
from daskdl.nn.conf.input_type import FeedForward
from daskdl.training.state import network_from_state, state_of

VECTORS = np.arange(10.0).reshape(5, 2) / 7


def network(layer=None, **options):
    init = {"type": "embedding", **options}
    layer = layer or dl.Embedding(n_in=5, n_out=2, weight_init=init)
    conf = dl.MultiLayerConfiguration(
        input=FeedForward(size=1),
        layers=[layer, dl.Output(n_out=3)],
        dtype="float64",
    )
    return dl.MultiLayerNetwork(conf)


@pytest.fixture
def numpy_file(tmp_path):
    np.save(tmp_path / "vectors.npy", VECTORS.astype("f4"))
    return tmp_path / "vectors.npy"


@pytest.mark.parametrize("weights", [VECTORS, VECTORS.tolist()])
def test_vectors_of_the_configuration(weights):
    found = network(weights=weights).param_table()["0_W"]
    np.testing.assert_array_equal(found, VECTORS)


def test_vectors_of_a_file_of_numpy(numpy_file):
    found = network(path=str(numpy_file)).param_table()["0_W"]
    np.testing.assert_array_equal(found, VECTORS.astype("f4"))


def test_vectors_of_a_file_of_nd4j(tmp_path):
    with (tmp_path / "vectors.bin").open("wb") as stream:
        write_array(stream, VECTORS)
    found = network(path=str(tmp_path / "vectors.bin")).param_table()["0_W"]
    np.testing.assert_array_equal(found, VECTORS)


def test_sequences_of_numbers_have_vectors_too():
    layer = dl.EmbeddingSequence(
        n_in=5, n_out=2, weight_init={"type": "embedding", "weights": VECTORS}
    )
    conf = dl.MultiLayerConfiguration(
        input=FeedForward(size=3), layers=[layer, dl.RnnOutput(n_out=2)]
    )
    found = dl.MultiLayerNetwork(conf).param_table()["0_W"]
    np.testing.assert_array_equal(found, VECTORS.astype("f4"))


@pytest.mark.parametrize("name", ["model.zip", "model.daskdl"])
def test_a_saved_network_needs_no_file(numpy_file, tmp_path, name):
    saved = network(path=str(numpy_file))
    form = "dl4j" if name.endswith("zip") else "daskdl"
    saved.save(tmp_path / name, format=form)
    numpy_file.unlink()
    again = dl.load(tmp_path / name)
    np.testing.assert_array_equal(again.params, saved.params)


def test_a_worker_needs_no_file(numpy_file):
    state = state_of(network(path=str(numpy_file)))
    numpy_file.unlink()
    np.testing.assert_array_equal(network_from_state(state).params, state.params)


def test_the_file_of_dl4j_holds_the_kind_alone(tmp_path):
    model_zip.save(network(weights=VECTORS), tmp_path / "model.zip")
    again = model_zip.load(tmp_path / "model.zip")
    init = again.conf.layers[0].weight_init
    assert (init.type, init.weights, init.path) == ("embedding", None, None)


def test_without_vectors_nothing_is_drawn():
    with pytest.raises(OptionError, match="'embedding' must have weights or a path"):
        network()


def test_vectors_of_another_shape_are_refused():
    with pytest.raises(
        OptionError, match=r"must have vectors of shape \(5, 2\), .*got"
    ):
        network(weights=VECTORS.T)


def test_vectors_are_given_once():
    with pytest.raises(OptionError, match="path: must be left out where weights are"):
        network(weights=VECTORS, path="vectors.npy")


def test_vectors_of_several_lengths_are_refused():
    with pytest.raises(OptionError, match="weights: must be rows of one length"):
        network(weights=[[1.0, 2.0], [3.0]])


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(SourceNotFoundError, match="must be a file"):
        network(path=str(tmp_path / "vectors.npy"))


def test_a_damaged_file_is_refused(numpy_file):
    numpy_file.write_bytes(numpy_file.read_bytes()[:-4])
    with pytest.raises(CorruptFileError, match="must be an array that NumPy saved"):
        network(path=str(numpy_file))
