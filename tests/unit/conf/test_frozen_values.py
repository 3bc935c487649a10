"""Configurations do not change; who sets an option is told what to do."""

import pytest

import daskdl as dl
from daskdl.errors import OptionError

CONF = dl.MultiLayerConfiguration(
    input=dl.FeedForward(size=1), layers=[dl.Output(n_out=2)]
)


@pytest.mark.parametrize(
    ("conf", "name"),
    [
        (CONF, "seed"),
        (dl.Adam(), "learning_rate"),
        (dl.Dense(n_out=2), "n_out"),
        (CONF, "anything"),
    ],
)
def test_an_option_that_is_set_is_refused(conf, name):
    kind = type(conf).__name__
    with pytest.raises(
        OptionError,
        match=rf"^{kind}: {name} must stay .*, got 3\. .*conf\.replaced\({name}=\.\.\.",
    ):
        setattr(conf, name, 3)


def test_what_it_says_to_do_can_be_done():
    assert CONF.replaced(seed=3).seed == 3


@pytest.mark.parametrize("kind", [dl.MultiLayerNetwork, dl.ComputationGraph])
def test_a_network_that_is_called_with_options_is_named(kind):
    with pytest.raises(
        TypeError, match=rf"^{kind.__name__}\.__init__\(\) got an unexp"
    ):
        kind(input=dl.FeedForward(size=1))
