"""What a run needs lies in the file of its network, and is told when damaged."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import FormatError
from daskdl.formats.checkpoint import load_run, save_run

RUN = {"epoch": 3, "threshold": float("inf")}
ARRAYS = ({"residual": np.arange(4, dtype=np.float32)}, {"residual": np.ones((2, 3))})


@pytest.fixture
def network():
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(input=dl.FeedForward(3), layers=[dl.Output(2)])
    )


@pytest.fixture
def path(network, tmp_path):
    path = tmp_path / "checkpoint.safetensors"
    save_run(network, str(path), RUN, ARRAYS)
    return path


def test_a_run_comes_back_with_the_arrays_of_each_worker(network, path):
    loaded, run, arrays = load_run(str(path))
    np.testing.assert_array_equal(loaded.params, network.params)
    assert run == RUN
    assert len(arrays) == 2
    for came, given in zip(arrays, ARRAYS, strict=True):
        np.testing.assert_array_equal(came["residual"], given["residual"])
        assert came["residual"].dtype == given["residual"].dtype


def test_whoever_reads_networks_reads_it(network, path):
    np.testing.assert_array_equal(dl.load(str(path)).params, network.params)


def test_any_damaged_byte_is_noticed(path):
    content = path.read_bytes()
    taken = []
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 4
        path.write_bytes(damaged)
        try:
            _, run, arrays = load_run(str(path))
        except FormatError:
            continue
        # Blanks and the like, on which nothing hangs.
        assert run == RUN
        np.testing.assert_array_equal(arrays[0]["residual"], ARRAYS[0]["residual"])
        taken.append(place)
    assert len(taken) < len(content) / 20


def test_a_file_that_was_cut_off_is_refused(path):
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FormatError, match=str(path)):
        load_run(str(path))
