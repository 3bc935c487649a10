"""Dropout and weight noise that a layer itself asks for: every kind has them."""

from dataclasses import replace

import numpy as np
import pytest

import daskdl as dl
from daskdl.dialects import EXACT
from daskdl.dl4j.quirks.rows import WITHOUT_DROPOUT, WITHOUT_NOISE
from daskdl.errors import OptionError
from daskdl.nn.conf.defaults import NetworkConf
from daskdl.nn.layers.table import LAYERS
from daskdl.nn.layers.wrapper import WrapperConf
from tests.dialects import DL4J, in_dl4j
from tests.unit.layers.case import IMAGES, ROWS, SERIES
from tests.unit.layers.cases import CASES, Alone
from tests.unit.layers.single import Single

DROPOUT = {"type": "gaussian_dropout", "rate": 0.2}
NOISE = {
    "type": "weight_noise",
    "distribution": {"type": "normal", "std": 0.1},
    "apply_to_bias": True,
}

# The first row of each kind that keeps what it is given.
FIRST = {
    type(case.conf): name
    for name, case in reversed(CASES.items())
    if case.conf.dropout is None
    and getattr(case.conf, "keep_probability", None) is None
    and getattr(case.conf, "weight_noise", None) is None
}
KINDS = [name for name in CASES if name in FIRST.values()]
NOISY = [
    name for name in KINDS if "weight_noise" in type(CASES[name].conf).model_fields
]
NEVER_DROPPED = [name for name in KINDS if not CASES[name].conf.takes_network_dropout]


@pytest.fixture
def alone(monkeypatch):
    """Return a layer of the table with more options."""

    def with_options(name, dialect=EXACT, **options):
        case = CASES[name]
        changed = replace(case, conf=case.conf.replaced(**options))
        monkeypatch.setitem(CASES, name, changed)
        try:
            return Alone(name, dialect=dialect)
        finally:
            monkeypatch.setitem(CASES, name, case)

    return with_options


def slope_and_gradient(layer, rng):
    """Return the slope of a loss in a random direction, twice."""
    x, trained = layer.x(rng), layer.trained()
    target = rng.standard_normal(layer.out_shape())
    start = layer.params + 0.1 * rng.standard_normal(layer.params.size) * trained
    way, way_x = rng.standard_normal(start.size) * trained, rng.standard_normal(x.shape)
    way_x *= layer.answers_for_x

    def loss(step):
        layer.params[...] = start + step * way
        return float((layer.forward(x + step * way_x) * target).sum())

    slope = (loss(1e-6) - loss(-1e-6)) / 2e-6
    loss(0)
    grad_x = layer.backward(target)
    return slope, float(layer.gradients @ way + (grad_x * way_x).sum())


@pytest.mark.parametrize("name", KINDS)
def test_every_layer_drops_its_input_if_asked_to(rng, alone, name):
    dropped, plain = alone(name, dropout=DROPOUT), alone(name)
    x = dropped.x(rng)
    is_the_same = np.array_equal(dropped.forward(x), plain.forward(x))
    # Names of rows as they are, and capsules of zeros, too.
    assert not is_the_same


@pytest.mark.parametrize("name", KINDS)
def test_the_gradient_knows_of_it(rng, alone, name):
    slope, gradient = slope_and_gradient(alone(name, dropout=DROPOUT), rng)
    assert gradient == pytest.approx(slope, rel=1e-5, abs=1e-7)


def test_the_rows_of_the_quirks_name_these_layers():
    kinds = {kind.model_fields["type"].default: kind for kind in LAYERS}
    never = {tag for tag, kind in kinds.items() if not kind.takes_network_dropout}
    quiet = {
        tag
        for tag, kind in kinds.items()
        if getattr(kind, "ignores_weight_noise", False)
    }
    assert set(WITHOUT_DROPOUT) == never
    assert set(WITHOUT_NOISE) == quiet


@pytest.mark.parametrize("name", NEVER_DROPPED)
def test_some_are_never_dropped_in_dl4j(rng, alone, name):
    dropped, plain = alone(name, DL4J, dropout=DROPOUT), alone(name, DL4J)
    x = dropped.x(rng)
    np.testing.assert_array_equal(dropped.forward(x), plain.forward(x))


@pytest.mark.parametrize("name", NOISY)
def test_every_layer_has_noise_on_its_weights_if_asked_to(rng, alone, name):
    noisy, plain = alone(name, weight_noise=NOISE), alone(name)
    x = noisy.x(rng)
    is_the_same = np.array_equal(noisy.forward(x), plain.forward(x))
    assert is_the_same == (not noisy.layer.run.params)


@pytest.mark.parametrize("name", NOISY)
def test_the_gradient_is_that_in_the_noisy_weights(rng, alone, name):
    slope, gradient = slope_and_gradient(alone(name, weight_noise=NOISE), rng)
    assert gradient == pytest.approx(slope, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize(
    "name", [name for name in NOISY if CASES[name].conf.ignores_weight_noise]
)
def test_some_have_no_noise_in_dl4j(rng, alone, name):
    noisy, plain = alone(name, DL4J, weight_noise=NOISE), alone(name, DL4J)
    x = noisy.x(rng)
    np.testing.assert_array_equal(noisy.forward(x), plain.forward(x))


@pytest.mark.parametrize("dialect", [EXACT, DL4J])
@pytest.mark.parametrize("name", NEVER_DROPPED)
def test_dropout_of_the_network_reaches_the_same_layers_in_all_dialects(name, dialect):
    case = CASES[name]
    if isinstance(case.conf, WrapperConf):
        return
    network = NetworkConf(activation="tanh", keep_probability=0.5, dialect=dialect)
    filled = case.conf.filled(network.defaults(), case.input_type, "me")
    assert filled.input_dropout is None


@pytest.mark.parametrize(
    ("conf", "input_type"),
    [
        (dl.Subsampling(keep_probability=0.5), IMAGES),
        (dl.BatchNormalization(keep_probability=0.5), ROWS),
        (dl.LearnedSelfAttention(n_out=3, n_queries=2, keep_probability=0.5), SERIES),
    ],
)
def test_dl4j_refuses_what_it_would_never_do(conf, input_type):
    message = f"keep_probability: must be left out: {type(conf).__name__} never drops"
    with pytest.raises(OptionError, match=message):
        in_dl4j(conf).filled(NetworkConf().defaults(), input_type, "me")


def test_an_embedding_drops_whole_rows(rng):
    """As a dense layer does behind one-hot rows that are dropped."""
    conf = dl.Embedding(n_in=5, n_out=3, keep_probability=0.5, has_bias=True)
    numbers = rng.integers(0, 5, (40, 1)).astype(float)
    single = Single(conf, dl.FeedForward(size=1), bias_init=0.25)
    found = single.forward(numbers, rng=np.random.default_rng(1)) - 0.25
    rows = single.layer.run.params["W"][numbers[:, 0].astype(int)]
    kept = found / rows
    assert set(np.unique(kept.round(9))) == {0.0, 2.0}
    np.testing.assert_allclose(kept, np.repeat(kept[:, :1], 3, axis=1))


def test_numbers_of_rows_have_no_noise():
    conf = dl.Embedding(
        n_in=5, n_out=3, dropout={"type": "gaussian_noise", "stddev": 1}
    )
    with pytest.raises(OptionError, match="dropout: must be plain or gaussian dropout"):
        conf.filled(NetworkConf().defaults(), dl.FeedForward(size=1), "me")
