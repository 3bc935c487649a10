"""Every form that Spark wrote gives the rows that Spark was given."""

from typing import Any

import numpy as np
import pytest

from daskdl.data.sources.source import SourceOptions
from daskdl_bridge.source import PathSources
from tests.unit.bridge.form_rows import ALL_READ, AS_EXAMPLES, check_rows, options_of
from tests.unit.bridge.sample_forms import FORMS, SAMPLES, path_of

STORED = [form for form in ALL_READ if (SAMPLES / form).exists()]


@pytest.mark.parametrize("form", STORED)
def test_examples_have_the_values_that_spark_was_given(form):
    """Null, NaN, infinite, empty and escaped values included."""
    check_rows(form, path_of(form))


@pytest.mark.parametrize("form", [f for f in AS_EXAMPLES if "csv" not in f])
def test_rows_are_known_without_loading_where_a_footer_tells(form):
    partitions = PathSources().open(path_of(form), options_of(form)).partitions
    known = [partition.rows for partition in partitions]
    if form.startswith(("parquet", "orc")):
        assert sum(known) == FORMS[form]["rows"]
    else:
        assert known == [None] * len(partitions)


def test_raw_and_encoded_images_hold_the_same_pixels():
    def features(column: str, shape: tuple[int, ...] | None) -> Any:
        options = SourceOptions(
            features=column, label="label", feature_shape=shape, n_classes=10
        )
        source = PathSources().open(path_of("parquet_image"), options)
        return np.concatenate([p.load().features for p in source.partitions])

    raw = features("pixels", (1, 8, 8))
    assert raw.shape == (200, 1, 8, 8)
    # The images were scaled by 16 and clipped to a byte.
    np.testing.assert_array_equal(features("png", None), np.minimum(raw * 16, 255))
