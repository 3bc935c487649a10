"""Models as DL4J's ModelSerializer keeps them: entries, bytes, normalizers."""

import zipfile

import numpy as np
import pytest

import daskdl as dl
from daskdl.data.normalizers.standardize import NormalizerStandardize
from daskdl.dl4j.network import model_zip
from daskdl.errors import FormatError, OutputExistsError, SourceNotFoundError
from daskdl.formats.load import load
from daskdl.nn.conf.input_type import FeedForward, Recurrent


def network(updater="adam", **options):
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=FeedForward(size=3),
            layers=[dl.Dense(n_out=4), dl.Output(n_out=2)],
            updater=updater,
            **options,
        )
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.zip"


def names(path):
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def normalizer(rng):
    features = rng.standard_normal((20, 3)).astype("f4")
    return NormalizerStandardize().fit(dl.DataSet(features, np.ones((20, 1))))


def test_entries_come_in_the_order_of_dl4j(path, rng):
    model_zip.save(network(), path, normalizer=normalizer(rng))
    assert names(path) == [
        "configuration.json",
        "coefficients.bin",
        "updaterState.bin",
        "normalizer.bin",
    ]


def test_the_state_of_the_updaters_may_be_left_out(path):
    model_zip.save(network(), path, save_updater=False)
    assert "updaterState.bin" not in names(path)
    assert not model_zip.load(path).updater_state.any()


def test_an_updater_without_state_has_no_entry(path):
    model_zip.save(network("sgd"), path)
    assert names(path) == ["configuration.json", "coefficients.bin"]


def test_the_same_network_gives_the_same_bytes(path, tmp_path):
    model_zip.save(network(), path)
    model_zip.save(network(), tmp_path / "again.zip")
    assert path.read_bytes() == (tmp_path / "again.zip").read_bytes()


def test_the_normalizer_of_the_network_is_saved(path, rng):
    trained = network()
    trained.normalizer = normalizer(rng)
    model_zip.save(trained, path)
    found = model_zip.load(path).normalizer
    for name in ("mean", "std"):
        expected = trained.normalizer.to_dict()[name]
        np.testing.assert_allclose(found.to_dict()[name], expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers_keep_their_type(path, dtype):
    model_zip.save(network(dtype=dtype), path)
    assert model_zip.load(path).dtype == np.dtype(dtype)


def test_the_type_of_the_numbers_goes_before_that_of_the_configuration(path):
    model_zip.save(network(dtype="float64"), path)
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    text = content["configuration.json"].replace(b'"DOUBLE"', b'"HALF"')
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in {**content, "configuration.json": text}.items():
            archive.writestr(name, value)
    found = model_zip.load(path)
    assert found.dtype == np.float64
    assert found.conf.dl4j["dataType"] == "HALF"


def test_a_network_without_parameters_needs_no_vector(path):
    series = dl.MultiLayerConfiguration(
        input=Recurrent(size=3), layers=[dl.Activation(), dl.RnnLoss(loss="mse")]
    )
    model_zip.save(dl.MultiLayerNetwork(series), path)
    with zipfile.ZipFile(path) as archive:
        text = archive.read("configuration.json")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("configuration.json", text)
        archive.writestr("noParams.marker", b"")
    assert model_zip.load(path).n_params == 0


def test_the_file_is_known_by_its_content(path):
    model_zip.save(network(), path)
    with path.open("rb") as stream:
        assert model_zip.recognizes(stream)
    np.testing.assert_array_equal(load(path).params, network().params)


def test_another_zip_file_is_none(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", b"")
    with path.open("rb") as stream:
        assert not model_zip.recognizes(stream)
    with pytest.raises(FormatError, match=r"must hold configuration\.json, got 'a'"):
        model_zip.load(path)


def test_a_file_of_another_kind_is_none(path):
    path.write_bytes(b"GIF89a")
    with path.open("rb") as stream:
        assert not model_zip.recognizes(stream)


def test_a_missing_file_is_said(path):
    with pytest.raises(SourceNotFoundError, match="must be a file, got nothing"):
        model_zip.load(path)


def test_what_is_there_is_replaced_only_if_asked(path):
    model_zip.save(network(), path)
    with pytest.raises(OutputExistsError):
        model_zip.save(network(), path)
    model_zip.save(network("sgd"), path, overwrite=True)
    assert len(names(path)) == 2


def test_nothing_is_left_of_what_cannot_be_saved(path):
    ramp = {"type": "ramp", "base": 0.1, "num_iter": 10}
    with pytest.raises(FormatError, match="cannot keep a ramp schedule"):
        model_zip.save(network({"type": "sgd", "learning_rate": ramp}), path)
    assert not path.exists()
