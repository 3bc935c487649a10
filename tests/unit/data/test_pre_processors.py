"""Preprocessors of data sets, held against what the real DL4J made of the same."""

import json
from pathlib import Path

import numpy as np
import pytest

import daskdl as dl
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.pre_processors.composite import PRE_PROCESSORS, pre_processor_from_dict
from daskdl.errors import DataError, FormatError, OptionError, ShapeError
from daskdl.nn.conf.input_type import Convolutional, FeedForward
from tests.unit.data.pre_processor_cases import (
    DRAWN,
    EXACT,
    classes,
    images,
    sampling,
    series,
    several,
)

RECORDED = Path(__file__).parents[2] / "data" / "pre_processors" / "recorded.npz"
GROUPS = ("features", "labels", "features_masks", "labels_masks")
N_DRAWS = 200

GRAY = dl.RGBtoGrayscaleDataSetPreProcessor(keep_channel=True)
LAST = dl.LabelLastTimeStepPreProcessor()


@pytest.fixture(scope="module")
def recorded():
    with np.load(RECORDED) as arrays:
        return dict(arrays)


def given(recorded, name, side="before"):
    """Return a recorded data set; a DataSet if there is one input."""
    parts = []
    for group in GROUPS:
        found = []
        while f"{name}|{side}|{group}|{len(found)}" in recorded:
            found.append(recorded[f"{name}|{side}|{group}|{len(found)}"])
        parts.append(found)
    if len(parts[0]) > 1:
        return MultiDataSet(parts[0], parts[1])
    return dl.DataSet(*(part[0] if part else None for part in parts))


@pytest.mark.parametrize("name", EXACT)
def test_the_same_comes_out_as_in_dl4j(recorded, name):
    found = MultiDataSet.of(EXACT[name][0].transform(given(recorded, name)))
    expected = MultiDataSet.of(given(recorded, name, "after"))
    for group in GROUPS:
        ours, theirs = getattr(found, group) or (), getattr(expected, group) or ()
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("name", EXACT)
def test_what_is_given_is_not_changed(recorded, name):
    data = given(recorded, name)
    before = [array.copy() for array in MultiDataSet.of(data).features]
    EXACT[name][0].transform(data)
    for array, copy in zip(MultiDataSet.of(data).features, before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("name", DRAWN)
def test_steps_are_kept_as_often_as_in_dl4j(recorded, name):
    data, expected = given(recorded, name), recorded[f"{name}|share"]
    drawn = [DRAWN[name][0].pre_process(data).labels_mask for _ in range(N_DRAWS)]
    found = np.mean(drawn, axis=0)
    # Eight standard deviations of a share of so many draws.
    np.testing.assert_allclose(found, expected, atol=0.3)
    is_sure = np.isin(expected, (0, 1))
    np.testing.assert_array_equal(found[is_sure], expected[is_sure])


def test_the_rare_class_has_the_share_that_it_should(rng):
    labels = (rng.random((400, 1, 50)) < 0.1).astype("f4")
    data = dl.DataSet(np.zeros((400, 2, 50)), labels)
    mask = sampling(0.4, 50).pre_process(data).labels_mask
    assert labels[:, 0][mask == 1].mean() == pytest.approx(0.4, abs=0.03)


def test_each_minibatch_is_drawn_anew_and_alike_the_next_time(rng):
    data = classes(rng, one_hot=True, has_mask=False, rare=0.2)
    runs = []
    for _ in range(2):
        one = sampling(0.4, 12)
        runs.append([one.pre_process(data).labels_mask for _ in range(3)])
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0][0], runs[0][1])


def test_a_network_is_tried_on_all_steps(rng):
    data = classes(rng, one_hot=True)
    assert sampling(0.4, 12).transform(data) is data


def test_channels_may_come_last(rng):
    data = series(rng, has_mask=True)
    last = data.replaced(labels=data.labels.transpose(0, 2, 1))
    found = dl.LabelLastTimeStepPreProcessor(feature_axis=-1).transform(last)
    np.testing.assert_array_equal(found.labels, LAST.transform(data).labels)


def test_without_labels_there_is_no_last_one(rng):
    data = dl.DataSet(rng.random((2, 3, 4)))
    assert LAST.transform(data).labels is None


@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
def test_gray_images_have_the_type_of_colored_ones(rng, dtype):
    found = GRAY.transform(images(rng, dtype)).features
    assert found.shape == (3, 1, 5, 6)
    assert found.dtype == ("f4" if dtype == "u1" else dtype)


REFUSED = {
    "flat": (dl.ImageFlatteningDataSetPreProcessor(), (2, 3, 4), "images with four"),
    "gray": (GRAY, (2, 4, 5, 6), "must have 3 channels"),
    "rows": (GRAY, (2, 4), "images with four axes"),
    "axes": (dl.PermuteDataSetPreProcessor((0, 2, 1)), (2, 3), "must have 3 axes"),
    "channels": (EXACT["crop"][0], (2, 7, 9, 3), r"\(batch, height, width, 2\)"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_features_that_do_not_fit_are_refused(name):
    pre_processor, shape, message = REFUSED[name]
    with pytest.raises(ShapeError, match=message):
        pre_processor.transform(dl.DataSet(np.zeros(shape)))


def test_several_inputs_are_refused(rng):
    with pytest.raises(ShapeError, match="there must be one input, got 3"):
        GRAY.transform(several(rng))


def test_an_input_that_is_not_there_is_refused(rng):
    with pytest.raises(ShapeError, match="there must be an input 3, got 3 inputs"):
        dl.ImageMultiPreProcessingScaler([3]).transform(several(rng))


def test_an_example_that_is_masked_whole_has_no_last_step(rng):
    data = series(rng, has_mask=True)
    data.labels_mask[2] = 0
    with pytest.raises(DataError, match="must keep a time step, got none of 2"):
        LAST.transform(data)


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        (np.zeros((2, 2)), ShapeError, "series of one or two classes"),
        (np.zeros((2, 3, 4)), ShapeError, "series of one or two classes"),
        (np.ones((2, 2, 4)), DataError, "must be one-hot"),
    ],
)
def test_labels_that_cannot_be_sampled_are_refused(labels, error, message):
    with pytest.raises(error, match=message):
        sampling(0.4, 4).pre_process(dl.DataSet(np.zeros((2, 3, 4)), labels))


BAD_OPTIONS = {
    "share": (lambda: sampling(0.6, 4), "target_minority_dist must be > 0 and <="),
    "window": (lambda: sampling(0.4, 0), "window_size must be a whole number > 0"),
    "class": (lambda: sampling(0.4, 1, minority_label=2), "minority_label must be one"),
    "no output": (
        lambda: dl.UnderSamplingByMaskingMultiDataSetPreProcessor({}, 4),
        "target_minority_dist must name an output",
    ),
    "other output": (
        lambda: dl.UnderSamplingByMaskingMultiDataSetPreProcessor(
            {0: 0.4}, 4, minority_labels={1: 0}
        ),
        "minority_labels must be one of 0, got 1",
    ),
    "permutation": (
        lambda: dl.PermuteDataSetPreProcessor((1, 0)),
        "an order of axes that begins with 0",
    ),
    "name": (
        lambda: dl.PermuteDataSetPreProcessor("nchw"),
        "permutation must be one of 'nchw_to_nhwc', 'nhwc_to_nchw'",
    ),
    "size": (
        lambda: dl.CropAndResizeDataSetPreProcessor(0, 1, 0, 0, 1, 1, 1),
        "original_height must be a whole number > 0",
    ),
    "start": (
        lambda: dl.CropAndResizeDataSetPreProcessor(1, 1, -1, 0, 1, 1, 1),
        "crop_y_start must be >= 0",
    ),
    "nothing": (dl.CompositeDataSetPreProcessor, "there must be a preprocessor"),
    "no preprocessor": (
        lambda: dl.CompositeDataSetPreProcessor(3),
        "preprocessor 0 must be a Normalizer, got int",
    ),
    "no index": (lambda: dl.ImageMultiPreProcessingScaler([]), "must be indices of"),
    "labels": (lambda: LAST.fit_label(), "fit_label must be False"),
}


@pytest.mark.parametrize("name", BAD_OPTIONS)
def test_options_that_cannot_be_are_refused(name):
    make, message = BAD_OPTIONS[name]
    with pytest.raises(OptionError, match=message):
        make()


MULTI = dl.UnderSamplingByMaskingMultiDataSetPreProcessor(
    {0: 0.4, 2: 0.1}, 5, minority_labels={2: 0}
)
ALL = [
    *(pre_processor for pre_processor, _ in EXACT.values()),
    *(pre_processor for pre_processor, _ in DRAWN.values()),
    dl.CompositeMultiDataSetPreProcessor(MULTI, stop_on_empty_data_set=True),
    MULTI,
]


def test_every_kind_is_tried():
    assert {type(one) for one in ALL} == set(PRE_PROCESSORS.values())


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.kind)
def test_every_kind_survives_json(one):
    again = pre_processor_from_dict(json.loads(json.dumps(one.to_dict())))
    assert type(again) is type(one)
    assert again.to_dict() == one.to_dict()


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.kind)
def test_values_that_nobody_knows_are_refused(one):
    with pytest.raises(FormatError, match=r"from_dict: keys must be among .*'colour'"):
        pre_processor_from_dict({**one.to_dict(), "colour": 1})


NEEDS_OPTIONS = set(PRE_PROCESSORS) - {
    "image_flattening",
    "label_last_time_step",
    "rgb_to_grayscale",
}


@pytest.mark.parametrize("kind", sorted(NEEDS_OPTIONS))
def test_a_kind_without_what_it_needs_is_refused(kind):
    with pytest.raises((FormatError, OptionError), match=", got "):
        pre_processor_from_dict({"type": kind})


def test_what_forgets_cannot_be_undone(rng):
    with pytest.raises(OptionError, match="must be something that can be undone"):
        GRAY.revert(images(rng))


def test_predictions_stay_as_they_are(rng):
    outputs = rng.random((3, 2))
    np.testing.assert_array_equal(LAST.revert_labels(outputs), outputs)


def composite(*others, **options):
    return dl.CompositeDataSetPreProcessor(GRAY, *others, **options)


def test_a_composite_is_fitted_with_what_its_parts_make(rng):
    data = images(rng)
    both = composite(dl.NormalizerStandardize()).fit([data])
    expected = dl.NormalizerStandardize().fit([GRAY.transform(data)])
    np.testing.assert_array_equal(
        both.transform(data).features,
        expected.transform(GRAY.transform(data)).features,
    )


def test_a_composite_of_normalizers_can_be_undone(rng):
    data = images(rng)
    both = dl.CompositeDataSetPreProcessor(
        dl.ImagePreProcessingScaler(), dl.NormalizerStandardize()
    ).fit(data)
    again = both.revert(both.transform(data))
    np.testing.assert_allclose(again.features, data.features, atol=1e-3)


def test_a_composite_stops_where_nothing_is_left():
    empty = dl.DataSet(np.zeros((0, 3, 4, 4)))
    stops = composite(dl.NormalizerStandardize(), stop_on_empty_data_set=True)
    assert stops.transform(empty) is empty


def network(input_type, n_out=3):
    layers = [dl.Dense(n_out=4), dl.Output(n_out=n_out)]
    conf = dl.MultiLayerConfiguration(input=input_type, layers=layers)
    return dl.MultiLayerNetwork(conf)


def test_a_network_trains_what_comes_out(rng):
    data = [images(rng) for _ in range(2)]
    gray = Convolutional(height=5, width=6, channels=1)
    both = composite(dl.NormalizerStandardize()).fit(data)
    trained = network(gray).fit([both.pre_process(one) for one in data], epochs=2)
    assert trained.iteration_count == 4


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.kind)
def test_a_network_holds_what_changes_numbers_alone(one):
    changed = network(FeedForward(size=4))
    if isinstance(one, dl.ImageMultiPreProcessingScaler):
        changed.normalizer = one
        return
    with pytest.raises(OptionError, match="normalizer must change numbers alone, got"):
        changed.normalizer = one


def test_a_network_scales_the_images_among_its_inputs(rng):
    scaler = dl.ImageMultiPreProcessingScaler([0])
    rows = dl.DataSet(rng.integers(0, 256, (3, 4)).astype("f4"))
    by_hand = network(FeedForward(size=4))
    holding = network(FeedForward(size=4))
    holding.normalizer = scaler
    np.testing.assert_array_equal(
        holding.output(rows.features),
        by_hand.output(scaler.transform(rows).features),
    )


def test_a_scaler_of_several_inputs_is_saved_with_its_network(tmp_path):
    saved = network(FeedForward(size=4))
    saved.normalizer = dl.ImageMultiPreProcessingScaler([0], -1, 1)
    saved.save(tmp_path / "model")
    assert (
        dl.load(tmp_path / "model").normalizer.to_dict() == saved.normalizer.to_dict()
    )


def test_statistics_fit_no_composite():
    with pytest.raises(OptionError, match="must be fitted with data, got statistics"):
        composite(dl.NormalizerStandardize()).fit_statistics(())
