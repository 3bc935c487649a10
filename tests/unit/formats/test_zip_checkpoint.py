"""Networks that were saved as zip files, which the first versions wrote, are read."""

import io
import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from daskdl.errors import FormatError
from daskdl.formats.load import load

# 2,098 bytes: four columns, three units, batch normalization, two classes, Adam.
OLD = Path(__file__).parents[2] / "data" / "formats" / "version_1.zip"


@pytest.fixture
def path(tmp_path):
    return shutil.copy(OLD, tmp_path / "old.zip")


def entries(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewritten(path, **changes):
    """Write the file again with other entries; None leaves one out."""
    content = {**entries(path), **changes}
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in content.items():
            if value is not None:
                archive.writestr(name, value)


def description(**changes):
    """Return the entry network.json with other values."""
    return {
        "network.json": json.dumps(
            {**json.loads(entries(OLD)["network.json"]), **changes}
        )
    }


def array(values):
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


def test_numbers_come_back_bit_for_bit():
    network, stored = load(OLD), entries(OLD)
    assert (
        network.params.tobytes() == np.load(io.BytesIO(stored["params.npy"])).tobytes()
    )
    state = np.load(io.BytesIO(stored["updater_state.npy"]))
    assert network.updater_state.tobytes() == state.tobytes()


def test_counters_and_score_come_back():
    network = load(OLD)
    assert (network.iteration_count, network.epoch_count) == (3, 3)
    assert network.score == pytest.approx(0.8383389711380005)


def test_the_normalizer_comes_back():
    assert load(OLD).normalizer.is_fitted


def test_saved_again_it_is_the_new_format(path, tmp_path):
    network = load(path)
    network.save(tmp_path / "new.safetensors")
    assert (
        load(tmp_path / "new.safetensors").params.tobytes() == network.params.tobytes()
    )


@pytest.mark.parametrize("share", [0.01, 0.3, 0.6, 0.9, 0.999])
def test_a_file_that_was_cut_off_is_refused(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(FormatError, match=r"old\.zip: must be a network .* got"):
        load(path)


def test_any_damaged_byte_is_noticed_or_harmless(path, rng):
    """Whatever byte is changed: the same network comes back, or a FormatError."""
    expected, content = load(path).params.tobytes(), path.read_bytes()
    for at in rng.integers(0, len(content), 150):
        damaged = bytearray(content)
        damaged[at] ^= rng.integers(1, 256)
        path.write_bytes(damaged)
        try:
            restored = load(path)
        except FormatError:
            continue
        assert restored.params.tobytes() == expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"network.json": "[]"}, "network.json: must be a mapping, got list"),
        ({"network.json": "{"}, "network.json: must be JSON"),
        ({"network.json": "[" * 100_000}, "network.json: must not be nested that deep"),
        (description(version=2), "version must be 1, got 2. A newer file"),
        (
            description(kind="Forest"),
            "must describe a MultiLayerNetwork or Computation",
        ),
        (description(layout=[["0_W", [4, 5]]]), "layout must be what follows from"),
        ({"params.npy": None}, "must have an entry 'params.npy'"),
        ({"params.npy": b"PAR"}, "params.npy: must be an array, got"),
        (
            {"params.npy": array(np.zeros(3, "f4"))},
            r"must hold 35 numbers.*shape \(3,\)",
        ),
        (
            {"params.npy": array(np.zeros(35))},
            "35 numbers of float32, got .* of float64",
        ),
        (
            {"updater_state.npy": array(np.zeros(1, "f4"))},
            "updater_state.npy: must hold",
        ),
        ({"normalizer.json": "{}"}, "normalizer: type must be one of"),
    ],
)
def test_a_file_that_does_not_fit_together_is_refused(path, changes, message):
    rewritten(path, **changes)
    with pytest.raises(FormatError, match=rf"(?s)old\.zip: .*{message}"):
        load(path)


def test_a_pickle_in_the_file_is_not_run(path):
    """An object array would run code when it is read."""
    stream = io.BytesIO()
    np.save(stream, np.array([{}], dtype=object), allow_pickle=True)
    rewritten(path, **{"params.npy": stream.getvalue()})
    with pytest.raises(FormatError, match=r"must hold 35 numbers.* of object"):
        load(path)
