"""A saved network predicts as the one that was trained: normalizer, names and all."""

import json
import zipfile

import numpy as np
import pytest

import daskdl as dl
from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.errors import FormatError, OptionError
from daskdl.formats import conversion
from daskdl.formats.onnx import model
from tests.unit.networks.small import rnn, sequence, two_in_two_out


def far(rng, *shape):
    return rng.normal(500, 100, shape).astype(np.float32)


def rows(*output, **options):
    return sequence(
        dl.FeedForward(size=4), dl.Dense(n_out=5, activation="tanh"), *output, **options
    )


def images(data_format):
    kind = dl.Convolutional(height=5, width=4, channels=3, data_format=data_format)
    convolution = dl.Convolution2D(n_out=2, kernel_size=(3, 3))
    return sequence(kind, convolution, dl.Output(n_out=2))


def trained(case, rng):
    """A network with a fitted normalizer, and features."""
    if case == "series":
        network, data = rnn(), dl.DataSet(far(rng, 3, 3, 7))
        made = dl.NormalizerStandardize()
    elif case == "series last":
        network, data = rnn("NWC"), dl.DataSet(far(rng, 3, 7, 3))
        made = dl.NormalizerMinMaxScaler(-1, 1, feature_axis=-1)
    elif case == "pixels":
        network, data = images("NCHW"), dl.DataSet(far(rng, 3, 3, 5, 4))
        made = dl.ImagePreProcessingScaler(-1, 1)
    elif case == "colours":
        network, data = images("NHWC"), dl.DataSet(far(rng, 3, 5, 4, 3))
        made = dl.VGG16ImagePreProcessor(feature_axis=-1)
    elif case == "flat pixels":
        kind = dl.ConvolutionalFlat(height=3, width=2, channels=1)
        network = sequence(kind, dl.Output(n_out=2))
        data, made = dl.DataSet(far(rng, 9, 6)), dl.NormalizerStandardize()
    elif case == "numbers":
        network = rows(dl.Output(n_out=2, loss="mse", activation="identity"))
        data = dl.DataSet(far(rng, 9, 4), far(rng, 9, 2))
        made = dl.NormalizerStandardize(fit_label=True)
    elif case == "range":
        network = rows(dl.Output(n_out=2, loss="mse", activation="identity"))
        data = dl.DataSet(far(rng, 9, 4), far(rng, 9, 2))
        made = dl.NormalizerMinMaxScaler(-2, 3, fit_label=True)
    else:
        network = two_in_two_out()
        data = dl.MultiDataSet(
            [far(rng, 9, 4), far(rng, 9, 2)], [far(rng, 9, 1), np.eye(3)[[0, 1, 2] * 3]]
        )
        made = dl.MultiNormalizerHybrid().standardize_input(0)
        made.min_max_scale_input(1).standardize_output(0)
    network.normalizer = made.fit(data)
    return network, data.features


CASES = [
    "series",
    "series last",
    "pixels",
    "colours",
    "flat pixels",
    "numbers",
    "range",
    "graph",
]
# DL4J has no word for normalizers of what comes last.
IN_DL4J = [case for case in CASES if case not in ("series last", "colours")]


def arrays(outputs):
    return outputs if isinstance(outputs, list) else [outputs]


@pytest.mark.parametrize(
    ("case", "format"),
    [*((case, "daskdl") for case in CASES), *((case, "dl4j") for case in IN_DL4J)],
)
def test_a_saved_network_predicts_the_same(case, format, rng, tmp_path):
    network, features = trained(case, rng)
    network.save(tmp_path / "model", format=format)
    loaded = dl.load(tmp_path / "model")
    expected = arrays(network.output(features))
    for one, other in zip(arrays(loaded.output(features)), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_onnx_takes_data_as_they_are(case, rng):
    runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    network, features = trained(case, rng)
    content = model.to_model(network).SerializeToString()
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    names = [port.name for port in session.get_inputs()]
    found = session.run(None, dict(zip(names, arrays(features), strict=True)))
    for one, other in zip(found, arrays(network.output(features)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_large_numbers_lose_nothing_in_onnx(rng):
    """Years: the mean is 2,000 times the deviation."""
    runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    network = rows(dl.Output(n_out=2))
    years = rng.normal(2000, 1, (50, 4)).astype(np.float32)
    network.normalizer = dl.NormalizerStandardize().fit(dl.DataSet(years))
    content = model.to_model(network).SerializeToString()
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"input": years})
    np.testing.assert_allclose(found, network.output(years), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("write", ["save", "onnx"])
def test_none_leaves_it_out_of_a_file(write, rng, tmp_path):
    network, features = trained("series", rng)
    path = tmp_path / "model"
    if write == "save":
        network.save(path, normalizer=None)
        found = dl.load(path).output(features)
    else:
        runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
        dl.export_onnx(network, path, normalizer=None)
        found = runtime.InferenceSession(path).run(None, {"input": features})[0]
    expected = network.output(features, normalizer=None)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_onnx_refuses_one_that_has_learnt_nothing(rng):
    pytest.importorskip("onnx", reason="needs onnx")
    network, _ = trained("series", rng)
    network.normalizer = dl.NormalizerStandardize()
    with pytest.raises(OptionError, match="ONNX: normalizer must be fitted"):
        model.to_model(network)


class Cubic:
    """A scaler that nobody else knows."""

    def scale(self, who, direction, values, mask):
        return values**3


class Own(Normalizer):
    kind = "own"
    is_fitted = True

    def fit(self, data):
        return self

    def fit_statistics(self, statistics, label_statistics=()):
        return self

    def to_dict(self):
        return {"type": "own"}

    @classmethod
    def from_dict(cls, values):
        return cls()

    def _scalers(self, who, group, n_arrays):
        return [Cubic() if group == "features" else None] * n_arrays


def test_onnx_refuses_one_that_it_has_no_form_for(rng):
    pytest.importorskip("onnx", reason="needs onnx")
    network, _ = trained("series", rng)
    network.normalizer = Own()
    with pytest.raises(FormatError, match="normalizer must say its steps, got Own"):
        model.to_model(network)


@pytest.mark.parametrize("format", ["daskdl", "dl4j"])
def test_names_of_classes_travel(format, rng, tmp_path):
    network, _ = trained("series", rng)
    network.class_names = ["low", "high"]
    network.save(tmp_path / "model", format=format)
    assert dl.load(tmp_path / "model").class_names == ("low", "high")


def test_names_of_classes_are_in_the_metadata_of_onnx(rng):
    onnx = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    network, _ = trained("series", rng)
    network.class_names = ["low", "high"]
    session = onnx.InferenceSession(model.to_model(network).SerializeToString())
    told = session.get_modelmeta().custom_metadata_map
    assert json.loads(told["class_names"]) == ["low", "high"]


def test_names_of_classes_are_missed_where_there_is_no_place(rng):
    network, _ = trained("series", rng)
    network.class_names = ["low", "high"]
    assert "names of classes (low, high)" in conversion.lost_parts(network, "dl4j-json")
    assert not [
        item for item in conversion.lost_parts(network, "dl4j") if "names" in item
    ]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ('{"class_names": ["low"]}', "class_names must be 2 different names"),
        ('{"class_names": 7}', "class_names must be a list, got 7"),
        ("[1]", "daskdl_class_names.json"),
    ],
)
def test_wrong_names_in_a_zip_are_refused(names, message, rng, tmp_path):
    network, _ = trained("series", rng)
    network.save(tmp_path / "model.zip", format="dl4j")
    with zipfile.ZipFile(tmp_path / "model.zip", "a") as archive:
        archive.writestr("daskdl_class_names.json", names)
    with pytest.raises(FormatError, match=message):
        dl.load(tmp_path / "model.zip")
