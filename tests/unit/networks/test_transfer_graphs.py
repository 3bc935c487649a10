"""Transfer learning of graphs."""

from pathlib import Path

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import OptionError

DATA = Path(__file__).parents[2] / "data" / "transfer"


def graph(vertices, *, inputs=None, outputs="out", **options):
    return dl.ComputationGraph(
        dl.ComputationGraphConfiguration(
            inputs=inputs or {"a": dl.FeedForward(size=4), "b": dl.FeedForward(size=2)},
            vertices=vertices,
            outputs=outputs,
            **{"updater": "adam", **options},
        )
    )


def two_branches(**options):
    """a -> d1 -> d2 and b -> e, merged, and an output."""
    return graph(
        {
            "d1": dl.Dense(n_out=5, activation="tanh", inputs="a"),
            "d2": dl.Dense(n_out=3, activation="tanh", inputs="d1"),
            "e": dl.Dense(n_out=2, activation="tanh", inputs="b"),
            "m": dl.MergeVertex(inputs=["d2", "e"]),
            "out": dl.Output(n_out=3, n_in=5, inputs="m"),
        },
        **options,
    )


@pytest.fixture
def data(rng):
    features = [rng.standard_normal((6, 4)), rng.standard_normal((6, 2))]
    return dl.MultiDataSet(features, [np.eye(3)[rng.integers(0, 3, 6)]])


@pytest.fixture
def old(data):
    return two_branches().fit(data, epochs=2)


def kinds(network):
    return {name: type(part).__name__ for name, part in network.conf.vertices.items()}


def same(new, old, *keys):
    return [np.array_equal(new.param_table()[k], old.param_table()[k]) for k in keys]


def test_without_changes_the_parameters_are_copied(old):
    new = dl.transfer_learning(old).build()
    np.testing.assert_array_equal(new.params, old.params)


class TestFreezing:
    def test_a_layer_is_frozen_with_what_leads_to_it(self, old):
        """And nothing else, wherever it lies in the order."""
        found = kinds(dl.transfer_learning(old).set_feature_extractor("d2").build())
        assert found["d1"] == found["d2"] == "Frozen"
        assert found["e"] == "Dense"

    def test_frozen_parameters_stay_and_the_others_move(self, old, data):
        new = dl.transfer_learning(old).set_feature_extractor("d2").build()
        new.fit(data, epochs=3)
        assert all(same(new, old, "d1_W", "d1_b", "d2_W", "d2_b"))
        assert not any(same(new, old, "e_W", "out_W", "out_b"))

    def test_a_vertex_freezes_all_that_leads_to_it(self, old):
        found = kinds(dl.transfer_learning(old).set_feature_extractor("m").build())
        assert [found[name] for name in ("d1", "d2", "e")] == ["Frozen"] * 3
        assert found["m"] == "MergeVertex"

    def test_several_layers_are_frozen(self, old, data):
        new = dl.transfer_learning(old).set_feature_extractor("d1", "e").build()
        new.fit(data)
        assert all(same(new, old, "d1_W", "e_W"))
        assert not any(same(new, old, "d2_W"))

    def test_a_vertex_with_parameters_is_frozen(self, rng):
        old = graph(
            {
                "at": dl.AttentionVertex(
                    n_out=4, project_input=True, inputs=["a", "a", "a"]
                ),
                "out": dl.RnnOutput(n_out=2, inputs="at"),
            },
            inputs={"a": dl.Recurrent(size=3)},
            weight_decay=0.1,
        )
        new = dl.transfer_learning(old).set_feature_extractor("at").build()
        labels = np.eye(2)[rng.integers(0, 2, (5, 4))].transpose(0, 2, 1)
        new.fit(dl.DataSet(rng.standard_normal((5, 3, 4)), labels), epochs=2)
        assert kinds(new)["at"] == "FrozenVertex"
        assert all(same(new, old, "at_Wq", "at_Wo"))
        assert not any(same(new, old, "out_W"))

    def test_an_output_layer_cannot_be_frozen(self, old):
        changes = dl.transfer_learning(old).set_feature_extractor("out")
        with pytest.raises(OptionError, match="must not freeze an output layer, got"):
            changes.build()


class TestAnotherNumberOfOutputs:
    def test_layers_behind_a_vertex_take_it(self, old):
        new = dl.transfer_learning(old).n_out_replace("d2", 7).build()
        assert new.param_table()["out_W"].shape == (9, 3)

    def test_only_what_is_behind_begins_anew(self, old):
        new = dl.transfer_learning(old).n_out_replace("d2", 7).build()
        assert all(same(new, old, "d1_W", "e_W", "e_b"))

    def test_all_that_read_it_take_it(self):
        old = graph(
            {
                "d": dl.Dense(n_out=3, inputs="a"),
                "one": dl.Output(n_out=2, n_in=3, inputs="d"),
                "two": dl.Output(n_out=2, n_in=3, inputs="d"),
            },
            inputs={"a": dl.FeedForward(size=4)},
            outputs=["one", "two"],
        )
        new = dl.transfer_learning(old).n_out_replace("d", 6).build()
        shapes = [new.param_table()[key].shape for key in ("one_W", "two_W")]
        assert shapes == [(6, 2), (6, 2)]

    def test_sizes_that_no_longer_agree_are_refused(self):
        old = graph(
            {
                "d": dl.Dense(n_out=2, inputs="a"),
                "sum": dl.ElementWiseVertex(op="add", inputs=["d", "b"]),
                "out": dl.Output(n_out=2, inputs="sum"),
            }
        )
        changes = dl.transfer_learning(old).n_out_replace("d", 3)
        with pytest.raises(OptionError, match=r"vertices.sum.inputs: must "):
            changes.build()

    @pytest.mark.parametrize("name", ["m", "a"])
    def test_only_layers_have_such_a_number(self, old, name):
        with pytest.raises(OptionError, match=r"n_out_replace: must name"):
            dl.transfer_learning(old).n_out_replace(name, 3)


class TestOtherVertices:
    def test_a_layer_is_replaced_in_its_place(self, old, data):
        new = (
            dl.transfer_learning(old)
            .remove_vertex_keep_connections("out")
            .add("out", dl.Output(n_out=3, loss="mse"), "m")
            .build()
        )
        assert new.output_losses == ["mse"]
        assert all(same(new, old, "d1_W", "d2_W", "e_W"))
        assert not any(same(new, old, "out_W"))
        new.fit(data)

    def test_a_name_without_its_layer_is_refused(self, old):
        changes = dl.transfer_learning(old).remove_vertex_keep_connections("d2")
        with pytest.raises(OptionError, match="must name inputs or vertices, got 'd2'"):
            changes.build()

    def test_a_layer_is_left_out_with_all_that_only_it_feeds(self, old):
        new = (
            dl.transfer_learning(old)
            .remove_vertex_and_connections("m")
            .remove_vertex_and_connections("e")
            .set_inputs({"a": dl.FeedForward(size=4)})
            .add("top", dl.Output(n_out=2), "d2")
            .set_outputs("top")
            .build()
        )
        assert list(new.conf.vertices) == ["d1", "d2", "top"]
        assert all(same(new, old, "d1_W", "d2_W"))

    def test_what_reads_others_besides_goes_on_with_those(self, old):
        new = (
            dl.transfer_learning(old)
            .remove_vertex_and_connections("e")
            .set_inputs({"a": dl.FeedForward(size=4)})
            .build()
        )
        assert new.conf.vertices["m"].inputs == ("d2",)
        assert new.param_table()["out_W"].shape == (3, 3)

    def test_another_output_beside_the_first(self, old, data):
        new = (
            dl.transfer_learning(old)
            .add("half", dl.ScaleVertex(scale_factor=0.5), "m")
            .add("two", dl.Output(n_out=1, loss="mse", inputs="half"))
            .set_outputs("out", "two")
            .build()
        )
        assert all(same(new, old, "d1_W", "d2_W", "e_W", "out_W"))
        labels = [*data.labels, np.zeros((6, 1))]
        new.fit(dl.MultiDataSet(data.features, labels))

    def test_an_order_that_was_given_stays_where_it_can(self):
        old = two_branches(order=["b", "a", "e", "d1", "d2", "m", "out"])
        kept = dl.transfer_learning(old).n_out_replace("d1", 2).build()
        assert kept.conf.order == old.conf.order

    def test_another_vertex_ends_it(self):
        old = two_branches(order=["b", "a", "e", "d1", "d2", "m", "out"])
        new = (
            dl.transfer_learning(old)
            .add("two", dl.Output(n_out=2), "e")
            .set_outputs("out", "two")
            .build()
        )
        assert new.conf.order is None
        assert all(same(new, old, "e_W", "d1_W", "d2_W", "out_W"))

    def test_two_vertices_of_one_name_are_refused(self, old):
        with pytest.raises(OptionError, match="add: must have a new name, got 'd1'"):
            dl.transfer_learning(old).add("d1", dl.Dense(n_out=2), "a")

    @pytest.mark.parametrize(
        "change",
        [
            "remove_vertex_and_connections",
            "remove_vertex_keep_connections",
            "set_outputs",
            "set_feature_extractor",
        ],
    )
    def test_names_that_are_none_are_refused(self, old, change):
        changes = dl.transfer_learning(old)
        with pytest.raises(
            OptionError, match=rf"{change}: must name one of 'd1', .*, got 'd3'"
        ):
            getattr(changes, change)("d3")


def test_fine_tuning_reaches_vertices_with_parameters():
    old = graph(
        {
            "at": dl.AttentionVertex(
                n_out=4, project_input=True, l2=0.5, inputs=["a", "a", "a"]
            ),
            "out": dl.RnnOutput(n_out=2, inputs="at"),
        },
        inputs={"a": dl.Recurrent(size=3)},
    )
    new = dl.transfer_learning(old).fine_tune(l2=0.25).build()
    assert [node.conf.l2 for node in new.nodes] == [0.25, 0.25]


class TestModelsOfDL4J:
    """Two dense layers and an input, merged, and an output; with a stored order."""

    @pytest.fixture
    def old(self):
        return dl.load(DATA / "g_merge.zip")

    def test_a_branch_is_frozen_and_another_made_wider(self, old, rng):
        new = (
            dl.transfer_learning(old)
            .fine_tune(updater="sgd")
            .set_feature_extractor("d1")
            .n_out_replace("d2", 6)
            .build()
        )
        features = [rng.standard_normal((5, 4)), rng.standard_normal((5, 3))]
        labels = np.eye(3)[rng.integers(0, 3, 5)]
        new.fit(dl.MultiDataSet(features, [labels]), epochs=2)
        assert all(same(new, old, "d1_W", "d1_b"))
        assert new.param_table()["out_W"].shape == (14, 3)

    @pytest.mark.parametrize("format", ["daskdl", "dl4j"])
    def test_the_new_graph_is_saved_and_loaded(self, old, rng, tmp_path, format):
        new = (
            dl.transfer_learning(old)
            .set_feature_extractor("d1")
            .remove_vertex_keep_connections("out")
            .add("out", dl.Output(n_out=2), "m")
            .build()
        )
        new.save(tmp_path / "new", format=format)
        again = dl.load(tmp_path / "new")
        features = [rng.standard_normal((5, 4)), rng.standard_normal((5, 3))]
        assert kinds(again) == kinds(new)
        np.testing.assert_array_equal(again.output(features), new.output(features))


@pytest.fixture
def merging():
    """A layer of two inputs, in front of which a vertex merges them."""
    layers = {
        "d": dl.Dense(n_out=3, inputs="a"),
        "e": dl.Dense(n_out=2, inputs="b"),
        "out": dl.Output(n_out=3, inputs=["d", "e"]),
    }
    return graph(layers).init()


def test_a_layer_of_several_inputs_is_replaced(merging):
    learning = dl.transfer_learning(merging).remove_vertex_keep_connections("out")
    new = learning.add("out", dl.Output(n_out=5), "d", "e").build()
    assert {*kinds(new)} == {"d", "e", "out", "out-merge"}
    assert new.param_table()["out_W"].shape == (5, 5)
    assert same(new, merging, "d_W", "e_W") == [True, True]


def test_a_layer_of_several_inputs_goes_with_the_vertex_that_merges_them(merging):
    learning = dl.transfer_learning(merging).remove_vertex_and_connections("out")
    learning.add("new", dl.Output(n_out=5), "d", "e").set_outputs("new")
    assert {*kinds(learning.build())} == {"d", "e", "new", "new-merge"}


def test_what_merged_the_inputs_of_a_layer_that_went_may_be_read(merging):
    learning = dl.transfer_learning(merging).remove_vertex_and_connections("out")
    learning.add("new", dl.Output(n_out=5), "out-merge").set_outputs("new")
    assert {*kinds(learning.build())} == {"d", "e", "out-merge", "new"}
