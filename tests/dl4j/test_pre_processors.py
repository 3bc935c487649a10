"""Preprocessors of data sets and those of the real DL4J, on the same arrays."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.dl4j.normalizers import write_normalizer
from daskdl.errors import CorruptFileError, FormatError
from tests.dl4j.real_dl4j import RefusedError, read
from tests.unit.data.pre_processor_cases import DRAWN, EXACT, classes, last_channels

N_DRAWS = 400
# Seven standard deviations of the difference of two such shares.
TOLERANCE = 0.25


def of_dl4j(dl4j, pre_processor, data):
    path, out = dl4j.new(), dl4j.new()
    data.save(path)
    dl4j.ask("pre_process", path=path, how=pre_processor.to_dict(), out=out)
    return type(data).load(out)


def check_same(found, expected):
    found, expected = MultiDataSet.of(found), MultiDataSet.of(expected)
    for group in ("features", "labels", "features_masks", "labels_masks"):
        pairs = zip(
            getattr(found, group) or (), getattr(expected, group) or (), strict=True
        )
        for ours, theirs in pairs:
            if ours is None or theirs is None:
                assert ours is theirs
            else:
                np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("name", EXACT)
def test_the_same_comes_out(dl4j, rng, name):
    pre_processor, make = EXACT[name]
    data = make(rng)
    found = pre_processor.transform(data)
    expected = of_dl4j(dl4j, pre_processor, data)
    assert MultiDataSet.of(found).features[0].dtype == "float32"
    check_same(found, expected)


def test_dl4j_crops_the_first_image_alone(dl4j, rng):
    pre_processor, _ = EXACT["crop"]
    data = last_channels(rng, n_images=3)
    # One example, and three labels.
    with pytest.raises(CorruptFileError, match="must be a whole DataSet file"):
        of_dl4j(dl4j, pre_processor, data)
    assert len(pre_processor.transform(data)) == 3


def share_kept(dl4j, pre_processor, data, **more):
    path, out = dl4j.new(), dl4j.new()
    data.save(path)
    how = pre_processor.to_dict()
    dl4j.ask("share_kept", path=path, how=how, draws=N_DRAWS, out=out, **more)
    return read(out)


def own_share(pre_processor, data, output=0):
    masks = [
        MultiDataSet.of(pre_processor.pre_process(data)).labels_masks[output]
        for _ in range(N_DRAWS)
    ]
    return np.mean(masks, axis=0)


@pytest.mark.parametrize("name", DRAWN)
def test_steps_are_kept_as_often(dl4j, rng, name):
    pre_processor, how = DRAWN[name]
    data = classes(rng, **how)
    found, expected = (
        own_share(pre_processor, data),
        share_kept(dl4j, pre_processor, data),
    )
    np.testing.assert_allclose(found, expected, atol=TOLERANCE)
    is_sure = np.isin(expected, (0, 1))
    np.testing.assert_array_equal(found[is_sure], expected[is_sure])


@pytest.mark.parametrize("output", [0, 1])
def test_steps_of_several_outputs_are_kept_as_often(dl4j, rng, output):
    first, second = (classes(rng, one_hot=one_hot) for one_hot in (True, False))
    data = MultiDataSet(
        [first.features],
        [first.labels, second.labels],
        None,
        [first.labels_mask, second.labels_mask],
    )
    pre_processor = dl.UnderSamplingByMaskingMultiDataSetPreProcessor(
        {0: 0.4, 1: 0.2}, 5, minority_labels={1: 0}
    )
    found = own_share(pre_processor, data, output)
    expected = share_kept(dl4j, pre_processor, data, output=output)
    np.testing.assert_allclose(found, expected, atol=TOLERANCE)


def test_dl4j_refuses_labels_that_are_not_one_hot(dl4j, rng):
    data = classes(rng, one_hot=True)
    data.labels[0, 0, 0] = 5
    with pytest.raises(RefusedError, match="expected to be one hot"):
        share_kept(dl4j, DRAWN["one-hot"][0], data)


@pytest.mark.parametrize("name", ["gray", "several", "composite"])
def test_dl4j_stores_no_preprocessor(name, tmp_path):
    with (
        (tmp_path / "normalizer.bin").open("wb") as stream,
        pytest.raises(FormatError, match="must be of a class that DL4J stores"),
    ):
        write_normalizer(stream, EXACT[name][0])
