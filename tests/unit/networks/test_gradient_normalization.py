"""The six normalizations on one small layer; test_update_replays has DL4J's numbers."""

import numpy as np
import pytest

from daskdl.nn.gradient_normalization import normalize_gradient

# Two parameters of norms 5 and 12, a layer of norm 13.
LAYER = [3.0, 4.0, 0.0, 12.0]
NORMALIZED = {
    "none": LAYER,
    "renormalize_l2_per_layer": [3 / 13, 4 / 13, 0, 12 / 13],
    "renormalize_l2_per_param_type": [0.6, 0.8, 0, 1],
    "clip_elementwise_absolute_value": [3, 4, 0, 6.5],
    "clip_l2_per_layer": [1.5, 2, 0, 6],
    "clip_l2_per_param_type": [3, 4, 0, 6.5],
}


def normalized(kind, values, threshold=6.5):
    layer = np.array(values)
    normalize_gradient(kind, threshold, [layer], [layer[:2], layer[2:]])
    return layer


@pytest.mark.parametrize(("kind", "expected"), list(NORMALIZED.items()))
def test_what_becomes_of_a_gradient(kind, expected):
    np.testing.assert_allclose(normalized(kind, LAYER), expected)


@pytest.mark.parametrize(("kind", "expected"), list(NORMALIZED.items()))
def test_a_layer_may_lie_in_pieces(kind, expected):
    apart = np.array([3.0, 4.0, 100.0, 0.0, 12.0])
    pieces = [apart[:2], apart[3:]]
    normalize_gradient(kind, 6.5, pieces, pieces)
    np.testing.assert_allclose(np.concatenate(pieces), expected)


@pytest.mark.parametrize("kind", NORMALIZED)
def test_a_gradient_of_zero_stays_zero(kind):
    assert normalized(kind, [0.0] * 4).tolist() == [0.0] * 4


@pytest.mark.parametrize("kind", [name for name in NORMALIZED if "clip" in name])
def test_what_is_below_the_threshold_is_left_alone(kind):
    assert normalized(kind, LAYER, threshold=20).tolist() == LAYER


def test_negative_numbers_are_clipped_from_below():
    clipped = normalized("clip_elementwise_absolute_value", [-9.0, 1.0, -6.0, 9.0])
    assert clipped.tolist() == [-6.5, 1.0, -6.0, 6.5]


@pytest.mark.parametrize("kind", NORMALIZED)
def test_single_precision_stays_single(kind):
    layer = np.array(LAYER, np.float32)
    normalize_gradient(kind, 6.5, [layer], [layer[:2], layer[2:]])
    np.testing.assert_allclose(layer, NORMALIZED[kind], rtol=1e-6)
