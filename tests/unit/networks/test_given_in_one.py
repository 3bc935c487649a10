"""Calls that come naturally, and are none: what is said of them."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import OptionError
from tests.unit.networks.small import mlp

X, Y = np.zeros((4, 4)), np.eye(3)[[0, 1, 2, 0]]
METHODS = ("fit", "evaluate")


@pytest.mark.parametrize("labels", [Y, Y.tolist(), [0, 1, 2, 0]], ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_features_and_labels_are_one_argument(method, labels):
    with pytest.raises(OptionError, match=rf"Give {method}\(\(features, labels\)\)"):
        getattr(mlp(), method)(X, labels)


def test_the_function_fit_says_so_too():
    with pytest.raises(
        OptionError, match=r"MultiLayerNetwork\.fit: features and labels"
    ):
        dl.fit(mlp(), X, Y)


def test_a_number_of_epochs_needs_its_name():
    with pytest.raises(OptionError, match="with data, and options by name, got 2 arg"):
        mlp().fit((X, Y), 10)


@pytest.mark.parametrize("method", ["fit", "evaluate"])
def test_an_unknown_option_is_refused_by_the_method_that_was_called(method):
    with pytest.raises(
        OptionError, match=rf"MultiLayerNetwork\.{method}: .* of {method}"
    ):
        getattr(mlp(), method)((X, Y), average=True)
