"""A real device; without one all tests of this folder are skipped."""

import pytest

from daskdl.arrays.device import imported_cupy, n_devices
from daskdl.errors import DeviceError, MissingExtraError
from tests.devices import Device

# How far the numbers of both devices may be apart, as a part of the largest one: of one
# pass through a layer, and behind ten steps of training.
ONE_PASS = {"float32": 1e-5, "float64": 1e-12}
TRAINING = {"float32": 1e-3, "float64": 1e-9}


@pytest.fixture(scope="session", autouse=True)
def cupy():
    try:
        found = imported_cupy()
        n_devices(found)
    except (MissingExtraError, DeviceError) as error:
        pytest.skip(str(error))
    return found


@pytest.fixture(scope="session")
def gpu(cupy):
    return Device(cupy, ONE_PASS)


@pytest.fixture(scope="session")
def training_gpu(cupy):
    return Device(cupy, TRAINING)
