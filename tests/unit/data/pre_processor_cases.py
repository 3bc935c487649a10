"""What preprocessors are tried with, here and in the real DL4J."""

import numpy as np

import daskdl as dl

SERIES, STEPS = 4, 6


def images(rng, dtype="f4", channels=3, shape=(5, 6)):
    pixels = rng.integers(0, 256, (3, channels, *shape)).astype(dtype)
    return dl.DataSet(pixels, np.eye(3, dtype="f4"))


def last_channels(rng, n_images=1):
    pixels = rng.integers(0, 256, (n_images, 7, 9, 2)).astype("f4")
    return dl.DataSet(pixels, np.ones((n_images, 1), "f4"))


def rows(rng):
    return dl.DataSet(rng.standard_normal((3, 4)).astype("f4"), np.eye(3, dtype="f4"))


def series(rng, *, has_mask):
    features, labels = rng.standard_normal((2, SERIES, 3, STEPS)).astype("f4")
    # The last one that is kept need not be behind a block of others.
    mask = np.array(
        [
            [1, 1, 1, 1, 1, 1],
            [1, 1, 0, 0, 0, 0],
            [1, 0, 0, 1, 0, 0],
            [0, 0, 0, 0, 0, 1],
        ],
        "f4",
    )
    return dl.DataSet(features, labels, mask, mask if has_mask else None)


def several(rng):
    first, second = (images(rng, channels=c).features for c in (1, 3))
    row = rng.standard_normal((3, 2)).astype("f4")
    return dl.MultiDataSet([first, row, second], [row])


def crop(*box, method="bilinear"):
    return dl.CropAndResizeDataSetPreProcessor(7, 9, *box, 2, method)


EXACT = {
    "flattening": (dl.ImageFlatteningDataSetPreProcessor(), images),
    "flattening of rows": (dl.ImageFlatteningDataSetPreProcessor(), rows),
    "gray": (dl.RGBtoGrayscaleDataSetPreProcessor(), images),
    "to channels last": (dl.PermuteDataSetPreProcessor("NCHWtoNHWC"), images),
    "to channels first": (dl.PermuteDataSetPreProcessor("NHWCtoNCHW"), last_channels),
    "another order": (dl.PermuteDataSetPreProcessor((0, 3, 2, 1)), images),
    "another order of series": (
        dl.PermuteDataSetPreProcessor((0, 2, 1)),
        lambda rng: series(rng, has_mask=False),
    ),
    "last step": (
        dl.LabelLastTimeStepPreProcessor(),
        lambda rng: series(rng, has_mask=False),
    ),
    "last step of the mask": (
        dl.LabelLastTimeStepPreProcessor(),
        lambda rng: series(rng, has_mask=True),
    ),
    "whole": (crop(0, 0, 7, 9), last_channels),
    "crop": (crop(1, 2, 4, 5), last_channels),
    "crop, nearest": (crop(1, 2, 4, 5, method="nearest_neighbor"), last_channels),
    "crop beyond the edge": (crop(4, 5, 6, 7), last_channels),
    "crop of one pixel": (crop(2, 3, 1, 1), last_channels),
    "several": (dl.ImageMultiPreProcessingScaler([0, 2], -1, 2), several),
    "several, 0 to 1": (dl.ImageMultiPreProcessingScaler([2], max_bits=4), several),
    "composite": (
        dl.CompositeDataSetPreProcessor(
            dl.RGBtoGrayscaleDataSetPreProcessor(), dl.ImagePreProcessingScaler(-1, 1)
        ),
        images,
    ),
}
"""By name: the preprocessor, and data for it."""


def classes(rng, *, one_hot, has_mask=True, rare=0.3):
    """Return series of two classes, of which 1 is rare."""
    is_rare = rng.random((SERIES, STEPS * 2)) < rare
    is_rare[:, :4] = False
    is_rare[2] = False
    is_rare[3, -3:] = True
    labels = is_rare[:, None].astype("f4")
    if one_hot:
        labels = np.concatenate([1 - labels, labels], axis=1)
    mask = np.ones(is_rare.shape, "f4")
    mask[0, -2:] = 0
    mask[1, :5] = 0
    features = rng.standard_normal((SERIES, 3, STEPS * 2)).astype("f4")
    return dl.DataSet(features, labels, None, mask if has_mask else None)


def sampling(target, window_size, **options):
    return dl.UnderSamplingByMaskingPreProcessor(target, window_size, **options)


DRAWN = {
    "one column": (sampling(0.4, 12), {"one_hot": False}),
    "one-hot": (sampling(0.5, 12), {"one_hot": True}),
    "no mask": (sampling(0.4, 12), {"one_hot": True, "has_mask": False}),
    "windows": (sampling(0.3, 4), {"one_hot": True}),
    "windows that do not divide": (sampling(0.3, 5), {"one_hot": False}),
    "rare 0": (sampling(0.3, 6, minority_label=0), {"one_hot": False, "rare": 0.7}),
    "rare 0, one-hot": (sampling(0.3, 6, minority_label=0), {"one_hot": True}),
    "frequent windows stay": (
        sampling(0.3, 4, mask_all_majority_windows=False),
        {"one_hot": True},
    ),
    "rare windows stay": (
        sampling(0.3, 4, mask_minority_windows=False),
        {"one_hot": True},
    ),
    "always rare": (sampling(0.4, 4), {"one_hot": True, "rare": 1.0}),
}
"""By name: the preprocessor, and what the labels are like."""
