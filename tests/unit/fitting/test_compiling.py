"""Compiling what a network needs before there are data."""

import subprocess
import sys

import numpy as np
import pytest

from daskdl.errors import OptionError
from daskdl.nn.build import build_network
from daskdl.nn.conf.network import configuration_from_dict
from daskdl.nn.fitting.compiling import compile_for, start_compiling

CLASSES = {"type": "output", "n_out": 3, "activation": "softmax", "loss": "mcxent"}
DENSE = {
    "input": {"type": "feed_forward", "size": 4},
    "layers": [{"type": "dense", "n_out": 5, "keep_probability": 0.5}, CLASSES],
}
SERIES = {
    "input": {"type": "recurrent", "size": 4},
    "layers": [{"type": "lstm", "n_out": 5}, {**CLASSES, "type": "rnn_output"}],
}
GRAPH = {
    "inputs": {"a": DENSE["input"], "b": DENSE["input"]},
    "vertices": {
        "both": {"inputs": ["a", "b"], "type": "merge"},
        "one": {"inputs": ["both"], **CLASSES},
        "two": {"inputs": ["both"], **CLASSES},
    },
    "outputs": ["one", "two"],
}

# Ends while a thread compiles, at one place or another.
SCRIPT = """
import time
from daskdl.nn.build import build_network
from daskdl.nn.conf.network import configuration_from_dict
from daskdl.nn.fitting.compiling import start_compiling
start_compiling(build_network(configuration_from_dict({conf!r})), 8)
time.sleep({seconds})
"""


def network_of(values):
    return build_network(configuration_from_dict(values))


@pytest.mark.parametrize(
    "values", [DENSE, SERIES, GRAPH], ids=["rows", "series", "graph"]
)
def test_one_minibatch_of_zeros_is_trained(values):
    network = network_of(values)
    compile_for(network, 8)
    assert network.iteration_count == 1


def test_sizes_that_only_data_tell_are_refused():
    image = {"type": "convolutional", "height": None, "width": None, "channels": 1}
    layers = [
        {"type": "convolution2d", "n_out": 2, "kernel_size": [3, 3]},
        {"type": "global_pooling"},
        CLASSES,
    ]
    with pytest.raises(OptionError, match="sizes must be known before there are data"):
        compile_for(network_of({"input": image, "layers": layers}), 8)


def test_the_network_that_will_be_trained_stays_as_it_is():
    network, alike = network_of(DENSE), network_of(DENSE)
    start_compiling(network, 8).join()
    assert network.iteration_count == 0
    np.testing.assert_array_equal(network.params, alike.params)
    np.testing.assert_array_equal(network.updater_state, alike.updater_state)


@pytest.mark.parametrize("seconds", [0, 0.7])
def test_a_process_ends_while_a_thread_compiles(tmp_path, seconds):
    script = SCRIPT.format(conf=DENSE, seconds=seconds)
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, timeout=50, check=False
    )
    assert done.returncode == 0
