"""One way to name the kind of a normalizer, in checkpoints and job files."""

import json

import numpy as np
import pytest

from daskdl.data.dataset import DataSet
from daskdl.data.normalizers import kinds
from daskdl.data.normalizers.kinds import NORMALIZERS, normalizer_from_dict
from daskdl.data.normalizers.standardize import NormalizerStandardize
from daskdl.errors import FormatError, OptionError


def images(rng):
    return DataSet(rng.normal(size=(4, 3, 2, 2)), rng.normal(size=(4, 2)))


@pytest.mark.parametrize("kind", NORMALIZERS)
def test_a_kind_alone_is_a_normalizer_to_be_fitted(kind, rng):
    normalizer = normalizer_from_dict({"type": kind})
    assert type(normalizer) is NORMALIZERS[kind]
    assert normalizer.fit(images(rng)).is_fitted


@pytest.mark.parametrize("kind", NORMALIZERS)
def test_every_kind_survives_json(kind, rng):
    data = images(rng)
    normalizer = normalizer_from_dict({"type": kind}).fit(data)
    again = normalizer_from_dict(json.loads(json.dumps(normalizer.to_dict())))
    np.testing.assert_array_equal(
        again.transform(data).features, normalizer.transform(data).features
    )
    assert again.to_dict() == normalizer.to_dict()


@pytest.mark.parametrize("kind", ["standardize", "multi_min_max"])
def test_labels_survive_json_with_their_own_type(kind, rng):
    data = images(rng).replaced(labels=rng.normal(size=(4, 2)).astype(np.float32))
    normalizer = normalizer_from_dict({"type": kind, "fit_label": True}).fit(data)
    again = normalizer_from_dict(json.loads(json.dumps(normalizer.to_dict())))
    assert again.learned("labels")[0].dtype == "float32"
    assert again.learned("features")[0].dtype == "float64"


def test_files_of_the_first_release_are_read():
    values = {"type": "standardize", "feature_axis": 1, "mean": [[1.0]], "std": [[2.0]]}
    normalizer = normalizer_from_dict(values)
    np.testing.assert_array_equal(
        normalizer.transform(DataSet([[3.0]])).features, [[1.0]]
    )


def learnt(**changes):
    return {"type": "standardize", "mean": [[1.0]], "std": [[2.0]], **changes}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (None, "type must be one of 'standardize', .* got None"),
        ({"type": ["standardize"]}, r"got \['standardize'\]"),
        ({"type": "standardise"}, "Did you mean 'standardize'.* 'daskdl.normalizers'"),
        ({"type": "standardize", "means": []}, "got 'means'. Did you mean 'mean'"),
        (learnt(std=None), "std must be a list of numbers"),
        (learnt(std=[[2.0], [3.0]]), "must be lists with one entry an array"),
        (learnt(std="2"), "must be lists with one entry an array"),
        (learnt(std=[["x"]]), "std must be a list of numbers"),
        (learnt(std=[[[2.0]]]), r"std must be a list of numbers, got shape \(1, 1\)"),
        (learnt(std=[[2.0, 3.0]]), "must have one length, got 1 and 2"),
        (learnt(dtype=["int8"]), "dtype of statistics must be one of .* got 'int8'"),
        (learnt(mean=[], std=[]), "vectors for features, .* got 0 and 0"),
        (learnt(fit_label=True), "where fit_label is true, got 1 and 0"),
        (learnt(label_mean=[[1.0]], label_std=[[1.0]]), "got 1 and 1"),
        (learnt(fit_label="yes"), "fit_label must be true or false, got 'yes'"),
    ],
)
def test_a_foreign_dict_is_refused(values, message):
    with pytest.raises(FormatError, match=message):
        normalizer_from_dict(values)


def test_an_option_that_cannot_be_is_refused():
    with pytest.raises(OptionError, match="max_range must be at least min_range"):
        normalizer_from_dict({"type": "min_max", "target_max": -1})


def test_other_packages_register_kinds(monkeypatch):
    class Entry:
        def load(self):
            return NormalizerStandardize

    def found(*, group, name):
        assert group == "daskdl.normalizers"
        return [Entry()] if name == "theirs" else []

    monkeypatch.setattr(kinds.importlib.metadata, "entry_points", found)
    monkeypatch.setattr(NormalizerStandardize, "kind", "theirs")
    assert isinstance(normalizer_from_dict({"type": "theirs"}), NormalizerStandardize)
