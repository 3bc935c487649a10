"""The ending of a file's name says its format, wherever networks are saved."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import OptionError
from daskdl.formats import conversion
from tests.unit.networks.small import mlp

BEGINNINGS = {
    "m.zip": b"PK\x03\x04",
    "M.ZIP": b"PK\x03\x04",
    "m.json": b"{",
    "m.yaml": b"---",
    "m.yml": b"---",
}


@pytest.mark.parametrize("name", BEGINNINGS)
def test_the_ending_says_the_format(name, tmp_path):
    mlp().save(tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(BEGINNINGS[name])


def test_zip_is_read_as_dl4j_does(tmp_path):
    network = mlp()
    network.save(tmp_path / "m.zip")
    np.testing.assert_array_equal(dl.load(tmp_path / "m.zip").params, network.params)


def test_onnx_is_written(tmp_path):
    onnx = pytest.importorskip("onnx")
    mlp().save(tmp_path / "m.onnx")
    onnx.checker.check_model(onnx.load(tmp_path / "m.onnx"))


@pytest.mark.parametrize("name", ["m.safetensors", "m", "m.keras", "m.v2"])
def test_all_other_names_are_our_own_format(name, tmp_path):
    network = mlp()
    network.save(tmp_path / name)
    (tmp_path / name).rename(tmp_path / "own")
    assert b'"daskdl"' in (tmp_path / "own").read_bytes()[:4096]


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("m.zip", "daskdl"),
        ("m.safetensors", "dl4j"),
        ("m.onnx", "daskdl"),
        ("m.json", "dl4j"),
        ("m.yml", "dl4j-json"),
    ],
)
def test_another_format_than_that_of_the_ending_is_refused(name, format, tmp_path):
    with pytest.raises(OptionError, match=rf"got {format!r} for .*{name}'\. Leave it"):
        mlp().save(tmp_path / name, format=format)
    with pytest.raises(OptionError, match=r"convert: to must be '.*', as the ending"):
        conversion.convert(mlp(), str(tmp_path / name), format)
    assert not any(tmp_path.iterdir())


def test_a_name_without_an_ending_takes_any_format(tmp_path):
    mlp().save(tmp_path / "model", format="dl4j")
    assert (tmp_path / "model").read_bytes().startswith(b"PK")
