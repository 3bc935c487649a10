"""What holds for every layer that carries a state from one stretch to the next."""

import copy

import numpy as np
import pytest

from daskdl.errors import OptionError, ShapeError
from daskdl.nn.conf.input_type import Recurrent
from daskdl.nn.layers.graves_lstm import GravesLSTM
from daskdl.nn.layers.lstm import LSTM
from daskdl.nn.layers.simple_rnn import SimpleRnn
from daskdl.nn.tbptt import carrying, forget
from tests.unit.layers.cases import CASES, Alone

WITH_STATE = (LSTM, GravesLSTM, SimpleRnn)


def layers_of(name):
    return list(Alone(name).layer.walk())


READ_WHOLE = [name for name, case in CASES.items() if case.conf.reads_whole_series]
CARRYING = [
    name
    for name in CASES
    if name not in READ_WHOLE
    and any(isinstance(layer.conf, WITH_STATE) for layer in layers_of(name))
]


class Stretches:
    """A layer alone, which gets its series in two stretches."""

    def __init__(self, name, rng):
        self.alone = Alone(name)
        self.runs = [layer.run for layer in self.alone.layer.walk()]
        self.x = self.alone.x(rng)

    def forward(self, part):
        mask = self.alone.mask(len(self.x))
        return self.alone.forward(
            self.x[:, part],
            mask=None if mask is None else mask[:, part],
            training=False,
        ).copy()

    @property
    def rest(self):
        """What follows the first step, if anything does."""
        n_steps = self.x.shape[1]
        return [slice(1, n_steps)] if n_steps > 1 else []

    @property
    def states(self):
        return [run.state for run in self.runs if run.state is not None]


@pytest.fixture
def stretches(request, rng):
    return Stretches(request.param, rng)


every_carrying = pytest.mark.parametrize("stretches", CARRYING, indirect=True)


@every_carrying
def test_two_stretches_are_the_whole(stretches):
    whole = stretches.forward(slice(None))
    with carrying(stretches.runs):
        first = stretches.forward(slice(1))
        parts = [first, *map(stretches.forward, stretches.rest)]
    if isinstance(stretches.alone.layer.output_type, Recurrent):
        np.testing.assert_allclose(np.concatenate(parts, axis=1), whole, rtol=1e-12)
    elif stretches.alone.mask() is None:
        np.testing.assert_allclose(parts[-1], whole, rtol=1e-12)


@every_carrying
def test_without_carrying_no_state_is_left(stretches):
    stretches.forward(slice(None))
    assert stretches.states == []


@every_carrying
def test_a_state_that_is_forgotten_is_zeros(stretches):
    expected = stretches.forward(slice(None))
    with carrying(stretches.runs):
        stretches.forward(slice(None))
        forget(stretches.runs)
        again = stretches.forward(slice(None))
    np.testing.assert_array_equal(again, expected)


@every_carrying
def test_a_state_is_not_changed_by_later_stretches(stretches):
    with carrying(stretches.runs):
        stretches.forward(slice(None))
        (state,) = stretches.states
        before = copy.deepcopy(state)
        stretches.forward(slice(None))
    np.testing.assert_equal(arrays_of(state), arrays_of(before))


def arrays_of(state):
    """Return the arrays of a state, which is one or holds two."""
    return state if isinstance(state, np.ndarray) else [state.hidden, state.cell]


@every_carrying
def test_a_state_of_other_series_is_refused(stretches):
    with carrying(stretches.runs):
        stretches.forward(slice(None))
        stretches.x = stretches.x[:2]
        with pytest.raises(ShapeError, match=r"as many examples .* over, 3, got 2"):
            stretches.forward(slice(None))


@pytest.mark.parametrize("name", READ_WHOLE)
def test_a_layer_that_reads_from_both_ends_refuses_stretches(rng, name):
    alone = Alone(name)
    with (
        carrying([layer.run for layer in alone.layer.walk()]),
        pytest.raises(OptionError, match=r"'me.*': must get whole series"),
    ):
        alone.forward(alone.x(rng))
