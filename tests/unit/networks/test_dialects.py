"""The dialect of a network: told, kept, changed, said where it makes a difference."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.dialects import EXACT
from daskdl.errors import DialectWarning, OptionError
from daskdl.nn.dialect_differences import differences
from tests.dialects import DL4J

SERIES = dl.Recurrent(size=3)


def network(**options):
    attention = dl.SelfAttention(n_out=4, n_heads=1, project_input=True)
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=SERIES,
            layers=[attention, dl.GlobalPooling(), dl.Output(n_out=2)],
            updater="adam",
            **options,
        )
    )


def batch(rng):
    return dl.DataSet(rng.standard_normal((4, 3, 5)), np.eye(2)[rng.integers(0, 2, 4)])


def test_a_new_network_is_exact():
    assert network().conf.dialect == EXACT


def test_an_unknown_dialect_is_refused():
    with pytest.raises(OptionError, match=r"dialect: must be one of 'exact', 'dl4j"):
        network(dialect="dl4j-1")


def test_the_other_one_says_what_it_computes_otherwise(rng):
    _, found = network().with_dialect(DL4J)
    assert "same_diff_gradients_twice" in {quirk.name for quirk in found}
    _, back = network(dialect=DL4J).with_dialect(EXACT)
    assert back == found


def test_nothing_differs_from_itself():
    assert differences(network().conf, EXACT) == []


def test_the_other_one_goes_on_from_here(rng):
    first = network().fit(batch(rng))
    other, _ = first.with_dialect(DL4J)
    assert other.conf.dialect == DL4J
    assert other.iteration_count == 1
    np.testing.assert_array_equal(other.params, first.params)
    np.testing.assert_array_equal(other.updater_state, first.updater_state)


def test_this_one_stays_as_it_is():
    first = network()
    first.with_dialect(DL4J)
    assert first.conf.dialect == EXACT


def test_a_checkpoint_keeps_it(tmp_path):
    path = str(tmp_path / "network.safetensors")
    network(dialect=DL4J).save(path)
    assert dl.load(path).conf.dialect == DL4J


def test_a_file_of_dl4j_has_it(tmp_path):
    path = str(tmp_path / "network.zip")
    network(dialect=DL4J).save(path)
    assert dl.load(path).conf.dialect == DL4J


def test_what_dl4j_computes_otherwise_is_said_when_it_is_written(tmp_path):
    with pytest.warns(DialectWarning, match=r"- attention, .*twice the derivative"):
        network().save(str(tmp_path / "network.zip"))


def test_what_shows_with_certain_data_alone_is_no_reason_to_warn(tmp_path, recwarn):
    conf = dl.MultiLayerConfiguration(input=dl.FeedForward(3), layers=[dl.Output(2)])
    assert differences(conf, DL4J) != []
    dl.MultiLayerNetwork(conf).save(str(tmp_path / "network.zip"))
    assert [item for item in recwarn if item.category is DialectWarning] == []


def test_its_own_dialect_is_written_without_a_word(tmp_path, recwarn):
    network(dialect=DL4J).save(str(tmp_path / "network.zip"))
    assert [item for item in recwarn if item.category is DialectWarning] == []


def test_the_summary_tells_it():
    assert f"dialect: {DL4J}" in network(dialect=DL4J).summary()


def test_an_updater_that_a_file_keeps_for_the_way_back_is_none_of_ours():
    kept = {"updater": {"@class": "org.nd4j.linalg.learning.config.Adam"}}
    conf = dl.MultiLayerConfiguration(
        input=dl.FeedForward(3),
        layers=[dl.Activation("relu", dl4j=kept), dl.Output(2)],
        dialect=DL4J,
    )
    exact, _ = dl.MultiLayerNetwork(conf).with_dialect("exact")
    assert exact.conf.dialect == "exact"
