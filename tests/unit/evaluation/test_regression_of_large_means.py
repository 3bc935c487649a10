"""`RegressionEvaluation` where sums of squares have lost the spread."""

import pickle

import numpy as np
import pytest

from daskdl.evaluation.regression import RegressionEvaluation
from daskdl.evaluation.regression_sums import deviations_of

N_ROWS = 600
MEANS = [1e8, -1.7e9]


def drawn(rng, mean, shape=(N_ROWS, 2), dtype=np.float64, scale=1.0):
    labels = (mean + scale * rng.standard_normal(shape)).astype(dtype)
    noise = 0.5 * scale * rng.standard_normal(shape)
    return labels, (labels + noise + 0.25 * scale).astype(dtype)


def evaluated(labels, predictions, mask=None, *, rows=64, **options):
    evaluation = RegressionEvaluation(**options)
    for start in range(0, len(labels), rows):
        part = slice(start, start + rows)
        kept = None if mask is None else mask[part]
        evaluation.eval(labels[part], predictions[part], kept)
    return evaluation


def truth(labels, predictions):
    """RSE, correlation and R² of columns, of differences from their first label."""
    labels, predictions = labels.astype(float), predictions.astype(float)
    moved, predicted = labels - labels[0], predictions - labels[0]
    residual = ((predicted - moved) ** 2).sum(axis=0)
    total = ((moved - moved.mean(axis=0)) ** 2).sum(axis=0)
    columns = range(labels.shape[1])
    correlation = [np.corrcoef(moved[:, i], predicted[:, i])[0, 1] for i in columns]
    return np.array([residual / total, correlation, 1 - residual / total])


def found(evaluation):
    return np.array(
        [
            evaluation.relative_squared_error(),
            evaluation.pearson_correlation(),
            evaluation.r_squared(),
        ]
    )


@pytest.mark.parametrize("mean", MEANS)
def test_batches(rng, mean):
    data = drawn(rng, mean)
    np.testing.assert_allclose(found(evaluated(*data)), truth(*data), rtol=1e-7)


@pytest.mark.parametrize("mean", MEANS)
def test_merged_parts_after_pickle(rng, mean):
    """The last part is of one row, and the first of none."""
    data = drawn(rng, mean)
    parts = np.split(np.arange(N_ROWS), [0, 50, 350, N_ROWS - 1])
    merged = RegressionEvaluation(2)
    for rows in parts:
        part = evaluated(*(array[rows] for array in data))
        merged.merge(pickle.loads(pickle.dumps(part)))
    np.testing.assert_allclose(found(merged), truth(*data), rtol=1e-7)


def test_float32_labels(rng):
    data = drawn(rng, 2e7, dtype=np.float32, scale=300)
    np.testing.assert_allclose(found(evaluated(*data)), truth(*data), rtol=1e-10)


def test_masked_outputs_do_not_count(rng):
    labels, predictions = drawn(rng, 1e8)
    mask = rng.random(labels.shape) > 0.3
    mask[:64, 0] = False
    labels[~mask] = np.nan
    predictions[~mask] = -1e12
    evaluation = evaluated(labels, predictions, mask)
    for i in (0, 1):
        kept = mask[:, i]
        column = truth(labels[kept, i : i + 1], predictions[kept, i : i + 1])
        np.testing.assert_allclose(found(evaluation)[:, i], column[:, 0], rtol=1e-7)


@pytest.mark.parametrize(("axis", "shape"), [(2, (30, 4, 2)), (3, (10, 3, 4, 2))])
def test_columns_on_the_last_axis(rng, axis, shape):
    labels, predictions = drawn(rng, 1e8, shape)
    evaluation = evaluated(labels, predictions, rows=7, axis=axis)
    expected = truth(labels.reshape(-1, 2), predictions.reshape(-1, 2))
    np.testing.assert_allclose(found(evaluation), expected, rtol=1e-7)


@pytest.mark.parametrize("value", [0.1, 1e8 + 0.1, 1.7e18])
def test_constant_labels_have_no_correlation(rng, value):
    """In any batches: the mean of a constant is exact."""
    labels = np.full((N_ROWS, 1), value)
    predictions = labels + value * rng.random((N_ROWS, 1))
    evaluation = evaluated(labels, predictions)
    assert evaluation.relative_squared_error().tolist() == [np.inf]
    assert np.isnan(evaluation.pearson_correlation()).all()
    assert evaluation.r_squared().tolist() == [-np.inf]


def test_constant_predictions_have_no_correlation(rng):
    labels = rng.standard_normal((N_ROWS, 1))
    evaluation = evaluated(labels, np.full((N_ROWS, 1), 1e8 + 0.1))
    assert np.isnan(evaluation.pearson_correlation()).all()


def test_one_row_and_large_numbers_beside_empty_columns():
    mask = np.array([[1, 0]])
    evaluation = RegressionEvaluation()
    for _ in range(2):
        evaluation.eval(np.full((1, 2), 1e200), np.full((1, 2), 1e200), mask)
    assert evaluation.relative_squared_error().tolist() == [np.inf, np.inf]


def test_on_ordinary_data_the_numbers_are_those_of_the_sums(rng):
    evaluation = evaluated(*drawn(rng, 0.5))
    of_sums = deviations_of(evaluation._sums)
    expected = [
        of_sums.errors / of_sums.labels,
        of_sums.products / np.sqrt(of_sums.labels * of_sums.predictions),
        1 - evaluation._sums["squared_errors"] / of_sums.total,
    ]
    np.testing.assert_allclose(found(evaluation), expected, rtol=1e-12)


class TestFromJson:
    """A file has DL4J's sums and no moments."""

    @pytest.fixture
    def data(self, rng):
        return drawn(rng, 40.0)

    def read(self, data, rows=slice(None)):
        whole = evaluated(*(array[rows] for array in data))
        return RegressionEvaluation.from_json(whole.to_json())

    def test_gives_what_the_sums_give(self, data):
        of_sums = deviations_of(self.read(data)._sums)
        expected = of_sums.errors / of_sums.labels
        error = self.read(data).relative_squared_error()
        assert error.tolist() == expected.tolist()

    @pytest.mark.parametrize("into_empty", [True, False])
    def test_is_not_changed_by_what_is_empty(self, data, into_empty):
        read, empty = self.read(data), RegressionEvaluation(2)
        expected = found(read)
        one, other = (empty, read) if into_empty else (read, empty)
        one.merge(other)
        assert found(one).tolist() == expected.tolist()

    def test_counts_on(self, data):
        read = self.read(data, slice(200))
        read.eval(*(array[200:] for array in data))
        np.testing.assert_allclose(found(read), truth(*data), rtol=1e-9)

    @pytest.mark.parametrize("is_read", [(True, False), (False, True), (True, True)])
    def test_is_merged(self, data, is_read):
        halves = [
            self.read(data, rows)
            if from_file
            else evaluated(*(array[rows] for array in data))
            for from_file, rows in zip(
                is_read, (slice(200), slice(200, None)), strict=True
            )
        ]
        halves[0].merge(halves[1])
        np.testing.assert_allclose(found(halves[0]), truth(*data), rtol=1e-9)

    def test_without_digits_is_no_correlation_beyond_1(self, rng):
        data = drawn(rng, 1.7e9)
        read = self.read(data, slice(200))
        read.eval(*(array[200:] for array in data))
        assert (np.abs(read.pearson_correlation()) <= 1).all()
