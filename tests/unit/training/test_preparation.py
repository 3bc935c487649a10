"""Whatever cannot be trained is refused before anything is."""

import numpy as np
import pytest

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.normalizers import NormalizerStandardize
from daskdl.data.sources.source import Source
from daskdl.errors import DataError, OptionError, ShapeError
from daskdl.training.preparation import prepare


def test_class_labels_become_rows_of_the_networks_width(network, examples):
    prepared = prepare(network, examples(10), batch_size=4)
    assert prepared.facts.labels == ((3,),)


def test_a_label_outside_the_classes_is_refused_with_its_row(network):
    data = DataSet(np.zeros((3, 5), np.float32), np.array([0, 1, 7]))
    with pytest.raises(DataError, match=r"integers from 0 to 2, got 7 in row 2"):
        prepare(network, data, batch_size=2)


def test_a_number_that_is_not_finite_is_refused_with_its_row(network, examples):
    data = examples(6)
    data.features[4, 2] = np.nan
    with pytest.raises(DataError, match="row 4"):
        prepare(network, data, batch_size=2)


def test_the_wrong_width_is_refused(network):
    data = DataSet(np.zeros((3, 4), np.float32), np.array([0, 1, 2]))
    with pytest.raises((DataError, ShapeError), match="4"):
        prepare(network, data, batch_size=2)


def test_examples_that_are_not_minibatches_need_a_batch_size(network, examples):
    with pytest.raises(OptionError, match="batch_size must be given for DataSet"):
        prepare(network, examples(10))


def test_data_sets_in_a_list_keep_their_size(network, examples):
    prepared = prepare(network, [examples(4), examples(7)])
    assert [minibatch.rows for minibatch in prepared.minibatches] == [4, 7]


def test_data_sets_in_a_list_are_cut_anew_when_asked(network, examples):
    prepared = prepare(network, [examples(4), examples(7)], batch_size=5)
    assert [minibatch.rows for minibatch in prepared.minibatches] == [5, 5, 1]


@pytest.mark.parametrize("batch_size", [0, -3])
def test_an_illegal_batch_size_is_refused(network, examples, batch_size):
    with pytest.raises(OptionError, match="batch_size must be > 0"):
        prepare(network, examples(10), batch_size=batch_size)


def test_no_example_at_all_is_refused(network):
    empty = DataSet(np.zeros((0, 5), np.float32), np.zeros((0, 3), np.float32))
    with pytest.raises(DataError, match="must hold at least one example"):
        prepare(network, empty, batch_size=4)


def test_a_normalizer_is_fitted_in_the_same_pass(network, examples):
    data = examples(50)
    prepared = prepare(network, data, batch_size=8, normalizer=NormalizerStandardize())
    np.testing.assert_allclose(
        prepared.normalizer.mean, data.features.mean(axis=0), atol=1e-6
    )


def test_a_fitted_normalizer_is_left_as_it_is(network, examples):
    normalizer = NormalizerStandardize().fit(examples(20))
    before = normalizer.mean.copy()
    prepare(network, examples(50), batch_size=8, normalizer=normalizer)
    np.testing.assert_array_equal(normalizer.mean, before)


def test_an_opened_source_is_taken_as_it_is(network, examples):
    prepared = prepare(network, examples(9), batch_size=3)
    assert isinstance(prepared.source, Source)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_every_minibatch_is_dealt_once(network, examples, workers):
    prepared = prepare(network, examples(50), batch_size=7)
    dealt = prepared.epoch(4, workers, shuffled=True, seed=1)
    indices = sorted(minibatch.index for share in dealt for minibatch in share)
    assert indices == list(range(8))


def test_another_epoch_has_another_order(network, examples):
    prepared = prepare(network, examples(90), batch_size=7)
    first, second = (
        [m.index for m in prepared.epoch(e, 1, shuffled=True, seed=1)[0]]
        for e in (0, 1)
    )
    assert first != second


def test_memory_is_dealt_in_turn(network, examples):
    prepared = prepare(network, examples(20), batch_size=5)
    dealt = prepared.epoch(0, 2, shuffled=False, seed=1)
    assert [[m.index for m in share] for share in dealt] == [[0, 2], [1, 3]]


def test_several_inputs_for_a_network_with_one_are_refused(network):
    data = MultiDataSet(
        [np.zeros((2, 5), np.float32)] * 2, [np.zeros((2, 3), np.float32)]
    )
    with pytest.raises((DataError, ShapeError, OptionError), match="2"):
        prepare(network, [data])
