"""DL4J's ``normalizer.bin``, both ways."""

import io
import struct

import numpy as np
import pytest

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.normalizers import kinds
from daskdl.data.normalizers.hybrid import MultiNormalizerHybrid
from daskdl.data.normalizers.image import (
    ImagePreProcessingScaler,
    VGG16ImagePreProcessor,
)
from daskdl.data.normalizers.min_max import NormalizerMinMaxScaler
from daskdl.data.normalizers.standardize import (
    MultiNormalizerStandardize,
    NormalizerStandardize,
)
from daskdl.dl4j.arrays.nd4j import write_array
from daskdl.dl4j.java.counted_stream import CountedStream
from daskdl.dl4j.normalizers import read_normalizer, write_normalizer
from daskdl.errors import CorruptFileError, FormatError, OptionError
from tests.unit.dl4j.golden import normalizer_bytes, normalizer_names


def read(raw):
    return read_normalizer(io.BytesIO(raw), name="normalizer.bin")


def written(normalizer):
    stream = io.BytesIO()
    write_normalizer(stream, normalizer)
    return stream.getvalue()


def text(value):
    return struct.pack(">H", len(value)) + value.encode()


def headed(kind, body=b"", *, version=1):
    return text("NORMALIZER") + struct.pack(">i", version) + text(kind) + body


def row(values, dtype=np.float32, shape=(1, -1)):
    stream = io.BytesIO()
    write_array(stream, np.array(values, dtype).reshape(shape))
    return stream.getvalue()


def data(dtype=np.float32):
    return DataSet(
        np.array([[1, 2], [3, 8]], dtype), np.array([[5, 5], [7, 9]], np.float32)
    )


@pytest.mark.parametrize("name", normalizer_names())
def test_what_dl4j_wrote_is_written_again(name):
    stream = io.BytesIO(normalizer_bytes(name))
    normalizer = read_normalizer(stream)
    assert stream.read() == b""
    assert written(normalizer) == normalizer_bytes(name)


@pytest.mark.parametrize(
    "normalizer",
    [
        NormalizerStandardize(fit_label=True).fit(data()),
        NormalizerStandardize().fit(data(np.float64)),
        NormalizerMinMaxScaler(-1, 2, fit_label=True).fit(data()),
        ImagePreProcessingScaler(-1, 1, 16),
        MultiNormalizerHybrid().standardize_input(0).fit(data()),
        MultiNormalizerHybrid().min_max_scale_all_outputs(0, 2).fit(data()),
    ],
)
def test_what_was_fitted_here_comes_back(normalizer):
    again = read(written(normalizer))
    assert type(again) is type(normalizer)
    np.testing.assert_allclose(
        again.transform(data()).features, normalizer.transform(data()).features
    )
    np.testing.assert_allclose(
        again.transform(data()).labels, normalizer.transform(data()).labels, rtol=1e-6
    )
    assert written(again) == written(normalizer)


def test_statistics_have_the_type_of_the_data():
    """DL4J cannot revert rows of floats by doubles."""
    assert b"FLOAT" in written(NormalizerStandardize().fit(data()))
    doubles = written(NormalizerStandardize(fit_label=True).fit(data(np.float64)))
    assert (doubles.count(b"DOUBLE"), doubles.count(b"FLOAT")) == (2, 2)


def test_several_inputs_become_dl4js_class_for_them():
    several = MultiDataSet([data().features, data().labels])
    again = read(written(NormalizerStandardize().fit(several)))
    assert type(again) is MultiNormalizerStandardize


def test_deviations_that_were_saved_before_their_first_use_are_used_as_dl4j_does():
    """DL4J saves 1e-5 of a constant feature, and makes it 1 at the first transform."""
    raw = headed("STANDARDIZE", b"\0" + row([4.0]) + row([1e-5]))
    scaled = read(raw).transform(DataSet([[4.5]])).features
    np.testing.assert_array_equal(scaled, [[0.5]])
    assert written(read(raw)) == raw


def test_statistics_may_be_of_rank_1():
    raw = headed("STANDARDIZE", b"\0" + row([1, 2], shape=2) + row([3, 4], shape=2))
    np.testing.assert_array_equal(read(raw).std, [3.0, 4.0])


def test_half_floats_stay_half_floats():
    half = np.float16
    raw = headed("STANDARDIZE", b"\0" + row([1, 2], half) + row([3, 4], half))
    assert written(read(raw)) == raw


def test_a_signalling_nan_is_read_without_a_warning():
    """Found by fuzzing."""
    raw = normalizer_bytes("standardize_2d")
    signalling = raw[:-4] + b"\x7f\xa0\x00\x01"
    assert np.isnan(read(signalling).std[-1])


def test_what_was_not_fitted_is_not_written():
    with pytest.raises(OptionError, match="must be fitted before it is used"):
        written(NormalizerStandardize())


@pytest.mark.parametrize(
    ("normalizer", "message"),
    [
        (
            VGG16ImagePreProcessor(),
            "VGG16ImagePreProcessor must be of a class that DL4J",
        ),
        (
            NormalizerStandardize(feature_axis=-1).fit(data()),
            "must have feature_axis 1, .* got -1",
        ),
    ],
)
def test_what_dl4j_cannot_read_is_not_written(normalizer, message):
    stream = io.BytesIO()
    with pytest.raises(FormatError, match=message):
        write_normalizer(stream, normalizer)
    assert stream.getvalue() == b""


def test_a_class_of_the_users_is_named_with_where_to_register_it():
    raw = headed("CUSTOM", text("org.example.LogStrategy") + b"\0" * 8)
    with pytest.raises(
        FormatError,
        match=r"'org\.example\.LogStrategy' wrote\. .* 'daskdl\.normalizers'",
    ):
        read(raw)


def test_a_type_of_a_later_release_is_named():
    with pytest.raises(FormatError, match="got one that 'QUANTILE' wrote"):
        read(headed("QUANTILE"))


def test_a_class_of_the_users_is_read_by_what_is_registered(monkeypatch):
    class Reader:
        def load(self):
            return self

        def read(self, stream):
            return ImagePreProcessingScaler(0.0, *struct.unpack(">d", stream.read(8)))

    def found(*, group, name):
        assert group == "daskdl.normalizers"
        return [Reader()] if name == "org.example.LogStrategy" else []

    monkeypatch.setattr(kinds.importlib.metadata, "entry_points", found)
    body = text("org.example.LogStrategy") + struct.pack(">d", 2.0)
    assert read(headed("CUSTOM", body)).max_range == 2.0


def test_a_counted_stream_reads_what_is_left():
    stream = CountedStream(io.BytesIO(b"abcd"), "f")
    assert not stream.is_at_end()
    assert (stream.read(0), stream.read(3), stream.read()) == (b"", b"abc", b"d")
    assert (stream.read(), stream.offset) == (b"", 4)


ONE = row([1.0])
HYBRID_HEAD = struct.pack(">i", 0) * 2


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (text("NORMALISER"), "must begin with NORMALIZER, got another at offset 0"),
        (headed("STANDARDIZE", version=2), "version .* must be 1, got 2 at offset 12"),
        (headed("STANDARDIZE", b"\x07"), "from 0 to 1, got 7"),
        (
            headed("STANDARDIZE", b"\0" + row([1, 2]) + ONE),
            "both parts of statistics must have one length, got 2 and 1",
        ),
        (
            headed("STANDARDIZE", b"\0" + row([1, 2], shape=(2, 1)) + ONE),
            r"must be a row of floats, got float32 of shape \(2, 1\)",
        ),
        (
            headed("STANDARDIZE", b"\0" + row([1], np.int32) + ONE),
            r"must be a row of floats, got int32 of shape \(1, 1\)",
        ),
        (
            headed("MIN_MAX", b"\0" + struct.pack(">2d", 1, 1) + ONE + ONE),
            "normalizer at offset 16 must be one that can be, it is damaged: MinMaxS",
        ),
        (
            headed("IMAGE_MIN_MAX", struct.pack(">3d", 0, 1, -1)),
            "it is damaged: .* max_pixel_value must be > 0",
        ),
        (
            headed("MULTI_STANDARDIZE", b"\0" + struct.pack(">2i", -1, 0)),
            "the number of inputs must be from 0 to 10000, got -1",
        ),
        (
            headed("MULTI_STANDARDIZE", b"\0" + struct.pack(">2i", 1, -2)),
            "the number of outputs must be from -1 to 10000, got -2",
        ),
        (
            headed("MULTI_STANDARDIZE", b"\0" + struct.pack(">2i", 0, -1)),
            "a normalizer must have an input, got none",
        ),
        (
            headed("MULTI_HYBRID", struct.pack(">3i", 1, 0, 3)),
            "statistics must be of kind 1 or 2, got 3",
        ),
        (
            headed(
                "MULTI_HYBRID", struct.pack(">3i", 2, 0, 1) + (ONE + ONE) + b"\0" * 4
            ),
            "an index must come once, got 0 twice",
        ),
        (
            headed("MULTI_HYBRID", HYBRID_HEAD + struct.pack(">i", 3)),
            "the number of the strategy must be from 0 to 2, got 3",
        ),
        (
            headed("MULTI_HYBRID", struct.pack(">3i", 1, 0, 1) + ONE * 2 + b"\0" * 20),
            "damaged: MultiNormalizerHybrid: what was learnt of features 0 must be of",
        ),
    ],
)
def test_damage_is_named_with_its_offset(raw, message):
    with pytest.raises(CorruptFileError, match=rf"^normalizer\.bin: .*{message}"):
        read(raw)


@pytest.mark.parametrize(
    "name", ["standardize_2d_labels", "multi_minmax_labels", "multi_hybrid"]
)
def test_a_stream_that_was_cut_off_anywhere_is_corrupt(name):
    raw = normalizer_bytes(name)
    for n_bytes in range(len(raw)):
        with pytest.raises(CorruptFileError, match=r"^normalizer\.bin: "):
            read(raw[:n_bytes])
