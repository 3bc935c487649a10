"""Every recorded training, from DL4J's file: parameters, scores and updater state."""

import numpy as np
import pytest

from daskdl.arrays.namespace import to_host
from daskdl.dl4j.network import model_zip
from daskdl.dl4j.network.parameters import to_dl4j
from tests.golden.case_names import case_files
from tests.golden.networks import set_params
from tests.golden.recordings import Recording

# DL4J fails in the middle of it; or nothing of it but the name is in the file.
WITHOUT_FILE = {"adabelief", "sched_ramp"}
NAMES = [
    name
    for file in case_files("training", ".zip")
    if (name := file.partition("/")[2].removesuffix(".zip")) not in WITHOUT_FILE
    and not name.startswith(("pretrain_", "rnn_time_step_"))
]


# In front of batch normalization the bias of a convolution has no gradient but rounding
# errors, of which Adam makes steps as large as any; the running mean follows.
ROUNDING = {"float_batchnorm_cnn": ("0_b", "1_mean")}


def compared(network, name):
    """Return which of DL4J's parameters mean something."""
    flags = np.ones(network.n_params)
    for slot in network.layout:
        if slot.name in ROUNDING.get(name, ()):
            flags[slot.offset : slot.stop] = 0
    return to_dl4j(network, flags).astype(bool)


def tolerance(name):
    """Relative to the largest number: the manifest asks for 2e-5 and 1e-9."""
    return 2e-5 if name.startswith("float") else 1e-10


def close(found, expected, name):
    expected = np.asarray(expected, "f8")
    scale = np.abs(expected).max(initial=0) or 1
    np.testing.assert_allclose(
        to_host(found) / scale, expected / scale, rtol=0, atol=tolerance(name)
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_training_goes_as_in_dl4j(golden, name):
    recording = Recording(golden / "training", name)
    path = golden / "training" / f"{name}.zip"
    trained = model_zip.load(path)
    network = type(trained)(trained.conf)
    set_params(network, recording["params_init"].ravel())
    means = compared(network, name)
    for step, batch in enumerate(recording.batches()):
        score = network.fit_minibatch(batch)
        params = to_dl4j(network, network.params)
        close(params[means], recording["params"][step][means], name)
        close(score, recording["scores"][step], name)
        if recording.ends_epoch(step):
            network.epoch_count += 1
    assert [network.iteration_count, network.epoch_count] == list(
        recording["iteration_epoch"]
    )
    if name in ROUNDING:
        return
    if "updater" in recording:
        state = to_host(network.updater_state)[model_zip.state_order(network)]
        close(state, recording["updater"].ravel(), name)
    # What DL4J saved at the end is what we have now.
    close(network.params, to_host(trained.params), name)
    close(network.updater_state, to_host(trained.updater_state), name)
    assert trained.iteration_count == network.iteration_count
    assert trained.epoch_count == network.epoch_count
