"""Whole trainings on the device, against the same on the host and against DL4J."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.nn.conf.input_type import Convolutional
from tests.devices import check_training, living_on
from tests.unit.networks.small import sequence
from tests.unit.networks.test_dl4j_training import NOISE, build, load, minibatches
from tests.unit.networks.training_cases import CASES

N_EPOCHS = 5


@pytest.mark.parametrize("name", sorted(CASES.keys() - NOISE.keys()))
def test_training_is_the_same(training_gpu, name):
    golden = load(name)
    check_training(training_gpu, build(CASES[name], golden), minibatches(golden))


def lenet():
    return sequence(
        Convolutional(height=12, width=12, channels=1),
        dl.Convolution2D(n_out=6, kernel_size=3, activation="relu"),
        dl.Subsampling(),
        dl.BatchNormalization(),
        dl.Dense(n_out=20, activation="relu"),
        dl.Output(n_out=3),
        updater={"type": "nesterovs", "learning_rate": 0.01},
        seed=5,
    )


def striped(rng, n=240):
    """Images of noise with a bright line, which is the class."""
    classes = rng.integers(0, 3, n)
    images = rng.normal(0, 0.3, (n, 1, 12, 12)).astype(np.float32)
    images[np.arange(n), 0, 3 * classes + 2] += 1
    return dl.DataSet(images, np.eye(3, dtype=np.float32)[classes])


def curve(network, data):
    scores = []
    for _ in range(N_EPOCHS):
        network.fit(data, batch_size=24)
        scores.append(network.compute_score(data))
    return scores


def test_from_one_seed_both_learn_along_the_same_curve(rng):
    data = striped(rng)
    with living_on("cupy"):
        on_device = curve(lenet(), data)
    on_host = curve(lenet(), data)
    assert on_host[-1] < on_host[0] / 2
    np.testing.assert_allclose(on_device, on_host, rtol=0.02)
