"""Transfer learning of sequences of layers."""

from pathlib import Path

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import OptionError
from tests.unit.networks.small import rows, sequence

DATA = Path(__file__).parents[2] / "data" / "transfer"
KEPT = {"keep_probability": 0.5}
NOISE = {"dropout": {"type": "gaussian_noise", "stddev": 0.1}}


@pytest.fixture
def data(rng):
    return rows(rng)


@pytest.fixture
def old(data):
    return deep().fit(data, epochs=2)


def deep(**options):
    return sequence(
        dl.FeedForward(size=4),
        dl.Dense(n_out=5, activation="tanh"),
        dl.Dense(n_out=6, activation="tanh", l2=0.5),
        dl.Output(n_out=3),
        **{"updater": "adam", **options},
    )


def kinds(network):
    return [type(layer).__name__ for layer in network.conf.layers]


def same(new, old, *keys):
    return [np.array_equal(new.param_table()[k], old.param_table()[k]) for k in keys]


def test_without_changes_the_parameters_are_copied(old):
    new = dl.transfer_learning(old).build()
    np.testing.assert_array_equal(new.params, old.params)
    assert new.conf == old.conf


def test_the_new_network_is_another_one(old, data):
    before = old.params.copy()
    dl.transfer_learning(old).build().fit(data)
    np.testing.assert_array_equal(old.params, before)


def test_updaters_and_counters_begin_anew(old):
    new = dl.transfer_learning(old).build()
    assert (new.iteration_count, new.epoch_count) == (0, 0)
    np.testing.assert_array_equal(new.updater_state, 0)


def test_the_normalizer_goes_on(old, data):
    old.normalizer = dl.NormalizerStandardize().fit(data)
    new = dl.transfer_learning(old).build().normalizer
    assert new is not old.normalizer
    assert new.to_dict() == old.normalizer.to_dict()


def test_the_same_changes_are_built_twice(old):
    changes = dl.transfer_learning(old).n_out_replace(1, 2)
    np.testing.assert_array_equal(changes.build().params, changes.build().params)


class TestFreezing:
    def test_a_layer_is_frozen_with_all_in_front_of_it(self, old):
        new = dl.transfer_learning(old).set_feature_extractor(1).build()
        assert kinds(new) == ["Frozen", "Frozen", "Output"]

    @pytest.mark.parametrize("name", ["layer1", 1, -2])
    def test_layers_have_names_and_numbers(self, old, name):
        new = dl.transfer_learning(old).set_feature_extractor(name).build()
        assert kinds(new) == ["Frozen", "Frozen", "Output"]

    def test_frozen_parameters_stay_and_the_others_move(self, old, data):
        new = dl.transfer_learning(old).set_feature_extractor(1).build()
        new.fit(data, epochs=3)
        assert all(same(new, old, "0_W", "0_b", "1_W", "1_b"))
        assert not any(same(new, old, "2_W", "2_b"))

    def test_frozen_layers_compute_what_they_did(self, old, data):
        new = dl.transfer_learning(old).set_feature_extractor(1).build()
        np.testing.assert_array_equal(
            new.output(data.features), old.output(data.features)
        )

    def test_frozen_layers_have_no_updater_state(self, old):
        new = dl.transfer_learning(old).set_feature_extractor(1).build()
        assert new.updater_state.size == 2 * (6 * 3 + 3)

    def test_what_is_frozen_can_be_frozen_again(self, old):
        once = dl.transfer_learning(old).set_feature_extractor(0).build()
        again = dl.transfer_learning(once).set_feature_extractor(1).build()
        assert kinds(again) == ["Frozen", "Frozen", "Output"]
        assert isinstance(again.conf.layers[0].layer, dl.Dense)

    def test_running_statistics_of_frozen_layers_stay(self, rng):
        old = sequence(
            dl.FeedForward(size=4), dl.BatchNormalization(), dl.Output(n_out=3)
        )
        old.fit(rows(rng), epochs=2)
        new = dl.transfer_learning(old).set_feature_extractor(0).build()
        new.fit(rows(rng), epochs=2)
        assert all(same(new, old, "0_mean", "0_log10stdev", "0_gamma"))

    def test_output_layers_cannot_be_frozen(self, old):
        changes = dl.transfer_learning(old).set_feature_extractor(2)
        with pytest.raises(
            OptionError, match=r"must not freeze an output layer, got Output\. Name"
        ):
            changes.build()

    def test_what_begins_anew_cannot_be_frozen(self, old):
        changes = dl.transfer_learning(old).n_out_replace(0, 3)
        changes.set_feature_extractor(0)
        with pytest.raises(
            OptionError, match=r"must not freeze 'layer0', whose parameters begin anew"
        ):
            changes.build()

    def test_a_frozen_layer_cannot_get_other_inputs(self, old):
        once = dl.transfer_learning(old).set_feature_extractor(0).build()
        changes = dl.transfer_learning(once).n_out_replace(1, 7)
        assert kinds(changes.build()) == ["Frozen", "Dense", "Output"]
        with pytest.raises(OptionError, match=r"not frozen, got Frozen"):
            changes.n_out_replace(0, 7)


class TestAnotherNumberOfOutputs:
    def test_the_layer_has_it(self, old):
        new = dl.transfer_learning(old).n_out_replace("layer1", 9).build()
        assert new.param_table()["1_W"].shape == (5, 9)

    def test_the_layer_behind_takes_it(self, old):
        new = dl.transfer_learning(old).n_out_replace("layer1", 9).build()
        assert new.param_table()["2_W"].shape == (9, 3)

    def test_what_lies_in_front_stays(self, old):
        new = dl.transfer_learning(old).n_out_replace("layer1", 9).build()
        assert all(same(new, old, "0_W", "0_b"))

    def test_biases_begin_anew_too(self, old):
        new = dl.transfer_learning(old).n_out_replace("layer1", 9).build()
        np.testing.assert_array_equal(new.param_table()["2_b"], 0)
        assert old.param_table()["2_b"].any()

    def test_weights_are_drawn_as_asked(self, old):
        new = (
            dl.transfer_learning(old)
            .n_out_replace("layer1", 6, weight_init="ones", next_weight_init="zero")
            .build()
        )
        np.testing.assert_array_equal(new.param_table()["1_W"], 1)
        np.testing.assert_array_equal(new.param_table()["2_W"], 0)

    def test_what_is_asked_wins_over_fine_tuning(self, old):
        new = (
            dl.transfer_learning(old)
            .fine_tune(weight_init="zero")
            .n_out_replace("layer1", 6, weight_init="ones")
            .build()
        )
        np.testing.assert_array_equal(new.param_table()["1_W"], 1)
        np.testing.assert_array_equal(new.param_table()["2_W"], 0)

    def test_the_new_network_learns(self, old, rng):
        new = dl.transfer_learning(old).n_out_replace(-1, 2).build()
        data = rows(rng, n_classes=2)
        before = new.compute_score(data)
        assert new.fit(data, epochs=20).compute_score(data) < before

    def test_of_a_recurrent_layer_in_a_wrapper(self):
        old = sequence(
            dl.Recurrent(size=3),
            dl.Bidirectional(layer=dl.LSTM(n_out=4, n_in=3)),
            dl.LastTimeStep(layer=dl.LSTM(n_out=5, n_in=8)),
            dl.Output(n_out=2, n_in=5),
        )
        new = (
            dl.transfer_learning(old)
            .n_out_replace(0, 6, weight_init="zero", next_weight_init="ones")
            .build()
        )
        assert not new.param_table()["0_fW"].any()
        assert new.param_table()["1_W"].shape == (12, 20)
        np.testing.assert_array_equal(new.param_table()["1_W"], 1)
        assert all(same(new, old, "2_W"))

    def test_pooling_and_slopes_in_between(self, rng):
        old = sequence(
            dl.Convolutional(height=6, width=6, channels=1),
            dl.Convolution2D(n_out=2, kernel_size=3),
            dl.PReLU(input_shape=(2, 4, 4), weight_init="normal"),
            dl.Subsampling(),
            dl.Output(n_out=3, n_in=8),
        )
        new = dl.transfer_learning(old).n_out_replace(0, 5).build()
        assert new.param_table()["1_W"].shape == (4, 4, 5)
        assert new.param_table()["3_W"].shape == (20, 3)

    @pytest.mark.parametrize(("name", "kind"), [(0, "Activation"), (1, "Frozen")])
    def test_a_layer_without_such_a_number_is_refused(self, name, kind):
        old = sequence(
            dl.FeedForward(size=4),
            dl.Activation(),
            dl.Frozen(layer=dl.Dense(n_out=2)),
            dl.Output(n_out=2),
        )
        with pytest.raises(OptionError, match=rf"must name a layer with n_out.*{kind}"):
            dl.transfer_learning(old).n_out_replace(name, 3)

    def test_a_number_that_cannot_be_is_refused(self, old):
        with pytest.raises(OptionError, match=r"Dense.n_out: must be .* 0, got -1"):
            dl.transfer_learning(old).n_out_replace(0, -1)


class TestOtherLayers:
    def test_the_output_layer_is_replaced(self, old, rng):
        new = (
            dl.transfer_learning(old)
            .remove_output_layer()
            .add_layer(dl.Dense(n_out=2))
            .add_layer(dl.Output(n_out=4))
            .build()
        )
        assert kinds(new) == ["Dense", "Dense", "Dense", "Output"]
        assert all(same(new, old, "0_W", "0_b", "1_W", "1_b"))
        new.fit(rows(rng, n_classes=4))

    def test_several_layers_are_left_out(self, old):
        new = (
            dl.transfer_learning(old)
            .remove_layers_from_output(2)
            .add_layer(dl.Output(n_out=3))
            .build()
        )
        assert new.n_params == 4 * 5 + 5 + 5 * 3 + 3

    def test_an_added_layer_begins_anew_also_where_another_one_was(self, old):
        new = (
            dl.transfer_learning(old)
            .remove_output_layer()
            .add_layer(dl.Output(n_out=3))
            .build()
        )
        assert new.param_table()["2_W"].shape == old.param_table()["2_W"].shape
        assert not any(same(new, old, "2_W"))

    def test_an_added_layer_keeps_its_own_options(self, old):
        new = (
            dl.transfer_learning(old)
            .fine_tune(updater="sgd", l2=0.1)
            .remove_output_layer()
            .add_layer(dl.Output(n_out=3, updater="nadam"))
            .build()
        )
        assert new.conf.layers[2].updater.type == "nadam"
        assert new.nodes[2].conf.l2 == 0.1

    def test_a_frozen_layer_that_is_left_out_is_forgotten(self, old):
        new = (
            dl.transfer_learning(old)
            .set_feature_extractor(1)
            .remove_layers_from_output(2)
            .add_layer(dl.Dense(n_out=3))
            .add_layer(dl.Output(n_out=3))
            .build()
        )
        assert kinds(new) == ["Frozen", "Dense", "Output"]

    @pytest.mark.parametrize("n", [0, 3, 1.5, True])
    def test_a_layer_must_stay(self, old, n):
        with pytest.raises(OptionError, match=r"remove_layers_from_output: n must .*"):
            dl.transfer_learning(old).remove_layers_from_output(n)

    def test_two_layers_of_one_name_are_refused(self, old):
        changes = dl.transfer_learning(old).remove_output_layer()
        with pytest.raises(
            OptionError, match=r"add_layer: must have a new name, got 'layer1'\."
        ):
            changes.add_layer(dl.Output(n_out=2, name="layer1"))

    def test_a_network_that_cannot_be_is_refused(self, old):
        changes = dl.transfer_learning(old).add_layer(dl.Output(n_out=2))
        with pytest.raises(
            OptionError, match=r"layers\[2\]: must be the last layer because it is an"
        ):
            changes.build()


class TestFineTuning:
    def test_options_win_over_those_of_the_layers(self, old):
        new = dl.transfer_learning(old).fine_tune(l2=0.25, updater="nadam").build()
        assert [node.conf.l2 for node in new.nodes] == [0.25] * 3
        assert {node.conf.updater.type for node in new.nodes} == {"nadam"}

    def test_what_is_not_given_stays(self, old):
        new = dl.transfer_learning(old).fine_tune(seed=7).build()
        assert new.conf.seed == 7
        assert new.conf.layers == old.conf.layers

    def test_frozen_layers_keep_theirs(self, old):
        new = dl.transfer_learning(old).fine_tune(l2=0.25).set_feature_extractor(1)
        assert new.build().conf.layers[1].layer.l2 == 0.5

    def test_frozen_layers_keep_the_activation_of_the_old_network(self, data):
        old = sequence(
            dl.FeedForward(size=4),
            dl.Dense(n_out=5),
            dl.FrozenWithBackprop(layer=dl.Dense(n_out=5)),
            dl.Output(n_out=3),
            activation="tanh",
        )
        new = (
            dl.transfer_learning(old)
            .fine_tune(activation="relu")
            .set_feature_extractor(1)
            .build()
        )
        np.testing.assert_array_equal(
            new.output(data.features), old.output(data.features)
        )

    def test_an_activation_reaches_neither_recurrent_nor_output_layers(self):
        old = sequence(
            dl.Recurrent(size=3),
            dl.LSTM(n_out=2),
            dl.Dense(n_out=2, activation="tanh"),
            dl.RnnOutput(n_out=2, loss="mse", activation="softsign"),
        )
        new = dl.transfer_learning(old).fine_tune(activation="relu").build()
        found = [node.conf.activation for node in new.nodes]
        assert found == ["tanh", "relu", "softsign"]

    def test_layers_in_wrappers_are_reached(self):
        old = sequence(
            dl.Recurrent(size=3),
            dl.Bidirectional(layer=dl.LSTM(n_out=2, l2=0.5)),
            dl.RnnOutput(n_out=2),
        )
        new = dl.transfer_learning(old).fine_tune(l2=0.25).build()
        assert new.nodes[0].conf.layer.l2 == 0.25

    @pytest.mark.parametrize(
        "option",
        [
            {"keep_probability": 0.5},
            {"dropout": {"type": "gaussian_noise", "stddev": 0.1}},
        ],
        ids=["keep_probability", "dropout"],
    )
    @pytest.mark.parametrize(
        "own",
        [
            {"keep_probability": 0.9},
            {"dropout": {"type": "gaussian_dropout", "rate": 0.1}},
        ],
        ids=["keep_probability", "dropout"],
    )
    @pytest.mark.parametrize("of_layer", [True, False])
    def test_one_way_to_drop_takes_the_place_of_another(self, option, own, of_layer):
        old = sequence(
            dl.FeedForward(size=4),
            dl.Dense(n_out=3, **(own if of_layer else {})),
            dl.Output(n_out=3),
            **({} if of_layer else own),
        )
        new = dl.transfer_learning(old).fine_tune(**option).build()
        expected = dl.Dense(n_out=3, **option).input_dropout
        assert new.nodes[0].conf.input_dropout == expected

    def test_options_that_are_none_are_refused(self, old):
        with pytest.raises(
            OptionError, match=r"options of a network, got 'updates'.*Did .*'updater'"
        ):
            dl.transfer_learning(old).fine_tune(updates="adam")

    @pytest.mark.parametrize("option", ["dtype", "dl4j"])
    def test_what_is_no_training_stays(self, old, option):
        with pytest.raises(OptionError, match=f"options of a network, got '{option}'"):
            dl.transfer_learning(old).fine_tune(**{option: "float64"})

    def test_a_value_that_cannot_be_is_refused(self, old):
        changes = dl.transfer_learning(old).fine_tune(l2="much")
        with pytest.raises(OptionError, match=r"l2: must .* got 'much'"):
            changes.build()


class TestModelsOfDL4J:
    """A convolution, batch normalization, and an output that flattens images."""

    @pytest.fixture
    def old(self):
        return dl.load(DATA / "batchnorm_cnn.zip")

    def test_other_channels_go_through_normalization_and_preprocessor(self, old, rng):
        new = dl.transfer_learning(old).n_out_replace("layer0", 4).build()
        assert new.param_table()["1_gamma"].shape == (4,)
        assert new.conf.layers[2].preprocessor.channels == 4
        assert new.output(rng.standard_normal((2, 2, 6, 7))).shape == (2, 3)

    def test_a_frozen_normalization_stays_though_training_shows_other_data(
        self, old, rng
    ):
        new = dl.transfer_learning(old).set_feature_extractor("layer1").build()
        labels = np.eye(3)[[0, 1]]
        new.fit(dl.DataSet(rng.standard_normal((2, 2, 6, 7)), labels), epochs=3)
        assert all(same(new, old, "0_W", "1_mean", "1_log10stdev", "1_gamma"))
        assert not any(same(new, old, "2_W"))

    @pytest.mark.parametrize("format", ["daskdl", "dl4j"])
    def test_the_new_network_is_saved_and_loaded(self, old, rng, tmp_path, format):
        new = (
            dl.transfer_learning(old)
            .fine_tune(updater="nesterovs")
            .set_feature_extractor("layer1")
            .n_out_replace("layer2", 5)
            .build()
        )
        new.save(tmp_path / "new", format=format)
        again = dl.load(tmp_path / "new")
        x = rng.standard_normal((2, 2, 6, 7))
        assert kinds(again) == ["Frozen", "Frozen", "Output"]
        np.testing.assert_array_equal(again.output(x), new.output(x))


@pytest.mark.parametrize("name", [3, -4])
def test_numbers_that_no_layer_has_are_refused(old, name):
    with pytest.raises(OptionError, match=rf"must number one of 3 layers, got {name}"):
        dl.transfer_learning(old).set_feature_extractor(name)


@pytest.mark.parametrize("name", ["layer9", True, None, 1.0])
def test_names_that_no_layer_has_are_refused(old, name):
    with pytest.raises(OptionError, match=r"must name one of 'layer0', .*, got"):
        dl.transfer_learning(old).n_out_replace(name, 2)


def test_what_is_no_network_is_refused():
    with pytest.raises(OptionError, match=r"a MultiLayerNetwork or a .*got str"):
        dl.transfer_learning("network")
