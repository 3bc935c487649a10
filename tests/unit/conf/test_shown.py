"""What configurations and networks look like at a prompt, and in ``help``."""

import inspect

import pytest

import daskdl
from daskdl import (
    LSTM,
    Adam,
    Bidirectional,
    Dense,
    FeedForward,
    MultiLayerConfiguration,
    MultiLayerNetwork,
    NormalizerStandardize,
    Output,
)
from daskdl.nn.conf.values import Conf

CONF = MultiLayerConfiguration(
    input=FeedForward(size=4),
    layers=[Dense(n_out=8, activation="relu"), Output(n_out=3)],
    updater=Adam(learning_rate=0.01),
)


@pytest.mark.parametrize(
    ("conf", "text"),
    [
        (Dense(n_out=96), "Dense(n_out=96)"),
        (Dense(n_out=96, activation="relu"), "Dense(n_out=96, activation='relu')"),
        (Adam(), "Adam()"),
        (
            Bidirectional(layer=LSTM(n_out=2)),
            "Bidirectional(layer=LSTM(n_out=2))",
        ),
        (
            CONF,
            (
                "MultiLayerConfiguration(updater=Adam(learning_rate=0.01), "
                "input=FeedForward(size=4), "
                "layers=(Dense(n_out=8, activation='relu'), Output(n_out=3)))"
            ),
        ),
    ],
)
def test_a_configuration_shows_what_was_said(conf, text):
    assert repr(conf) == text
    assert eval(text, vars(daskdl)) == conf


def configurations():
    found, waiting = [], [Conf]
    while waiting:
        kinds = waiting.pop().__subclasses__()
        waiting += kinds
        found += [kind for kind in kinds if kind.__module__.startswith("daskdl.")]
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("kind", configurations(), ids=lambda kind: kind.__name__)
def test_signatures_are_short_and_tell_what_is_required(kind):
    text = str(inspect.signature(kind))
    assert " at 0x" not in text
    assert "Annotated" not in text
    fields = kind.model_fields.items()
    required = [n for n, field in fields if field.is_required() and n != "type"]
    parameters = inspect.signature(kind).parameters.values()
    empty = inspect.Parameter.empty
    assert len(required) == sum(one.default is empty for one in parameters)


def test_a_signature_is_the_same_after_use():
    before = inspect.signature(Dense)
    Dense(n_out=1)
    assert inspect.signature(Dense) == before


def test_a_network_is_told_in_one_line():
    network = MultiLayerNetwork(CONF)
    assert repr(network) == "<MultiLayerNetwork: 2 layers, 67 parameters>"
    network.fit(([[0.0] * 4] * 2, [0, 1]), batch_size=1)
    told = f", 2 iterations, score {network.score:.4g}>"
    assert repr(network).endswith(told)


def test_a_notebook_shows_the_summary():
    network = MultiLayerNetwork(CONF)
    network.class_names = ["<a>", "b", "c"]
    assert "Dense   rows of 4" in network._repr_html_()
    assert "classes: &lt;a&gt;, b, c" in network._repr_html_()


def test_a_normalizer_says_whether_it_was_fitted():
    normalizer = NormalizerStandardize()
    assert repr(normalizer) == "<NormalizerStandardize: not fitted>"
    normalizer.fit(daskdl.DataSet([[1.0], [2.0]]))
    assert repr(normalizer) == "<NormalizerStandardize: fitted>"
