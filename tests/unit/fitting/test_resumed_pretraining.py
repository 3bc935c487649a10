"""Pretraining that goes on from a checkpoint ends as one that was never stopped."""

import json

import numpy as np
import pyarrow as pa
import pytest

import daskdl as dl
from daskdl.errors import FormatError, OptionError, OutputExistsError
from daskdl.formats.checkpoint import load_run
from daskdl.nn.fitting.run_state import RunState
from tests.pretrained_layers import assert_same_layers
from tests.unit.fitting.test_run_checkpoint import data, folder

__all__ = ["data", "folder"]

HOW = {"epochs": 3, "batch_size": 10, "shuffle": True}
# Of one layer: five minibatches an epoch.
OF_A_LAYER = 15


class Dying(dl.Listener):
    """Ends the process, as far as the fit can tell, at a minibatch of the run."""

    def __init__(self, minibatch):
        self._left = minibatch

    def iteration_done(self, fit):
        self._left -= 1
        if not self._left:
            raise KeyboardInterrupt


class Hearing(dl.Listener):
    """Notes which moments it hears of, and keeps them in checkpoints."""

    def __init__(self):
        self.heard = []

    def on_fit_start(self, fit):
        self.heard.append(f"{fit.layer} starts")

    def on_epoch_end(self, fit):
        self.heard.append(f"{fit.layer} {fit.epoch} {fit.score}")

    def on_fit_end(self, fit):
        self.heard.append(f"{fit.layer} ends")

    def on_complete_run(self, fit):
        self.heard.append(f"{fit.layer} is complete")

    def kept_state(self):
        return {"heard": list(self.heard)}

    def restore_state(self, state):
        self.heard = list(state["heard"])


class Stopping(dl.Listener):
    """Ends the pretraining of a layer at a minibatch of its own."""

    def __init__(self, layer, iteration):
        self._at = layer, iteration

    def iteration_done(self, fit):
        if (fit.layer, fit.iteration) == self._at:
            fit.stop()


def variational(**options):
    return dl.VariationalAutoencoder(
        n_out=2, encoder_layer_sizes=[4], decoder_layer_sizes=[4], **options
    )


NETWORKS = {
    "adam": {"updater": dl.Adam(learning_rate=0.05)},
    "sgd": {"updater": "sgd"},
    "dropout": {"updater": "nesterovs", "keep_probability": 0.7},
    "schedule by epochs": {
        "updater": dl.Sgd(
            dl.StepSchedule(
                schedule_type="epoch", initial_value=0.5, decay_rate=0.5, step=1
            )
        )
    },
    "schedule by iterations": {
        "updater": dl.Adam(
            dl.ExponentialSchedule(
                schedule_type="iteration", initial_value=0.1, gamma=0.9
            )
        )
    },
}


def network(**options):
    """Return a network with three layers that corrupt, draw, and keep statistics."""
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=dl.FeedForward(5),
            layers=[
                dl.AutoEncoder(name="first", n_out=4, corruption_level=0.4),
                variational(name="second"),
                dl.AutoEncoder(name="third", n_out=2, corruption_level=0.2),
                dl.Output(3),
            ],
            seed=4,
            **{"activation": "tanh", **NETWORKS["adam"], **options},
        )
    )


def checkpoint(folder, **options):
    return dl.RunCheckpoint(folder, **{"every_n_iterations": 3, **options})


def stopped(net, data, folder, at=22, **how):
    listeners = [checkpoint(folder), Dying(at)]
    with pytest.raises(KeyboardInterrupt):
        net.pretrain(data, **{**HOW, **how}, listeners=listeners)


def completed(net, data, folder):
    net.pretrain(data, **HOW, listeners=checkpoint(folder))


BEGUN = pytest.mark.parametrize("begun", [stopped, completed])


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def assert_same(one, other):
    """Of networks, and of all that pretraining of their layers has come to."""
    np.testing.assert_array_equal(one.params, other.params)
    np.testing.assert_array_equal(one.updater_state, other.updater_state)
    assert one.score == other.score
    assert_same_layers(one, other)


@pytest.mark.parametrize(
    ("kind", "dies_at"),
    [
        *(("adam", dies_at) for dies_at in (1, 5, 14, 15, 16, 22, 30, 31, 45)),
        *((kind, dies_at) for kind in list(NETWORKS)[1:] for dies_at in (4, 22)),
    ],
)
def test_it_goes_on_at_the_layer_and_the_epoch(kind, dies_at, data, folder):
    options = NETWORKS[kind]
    whole = network(**options).pretrain(data, **HOW)
    stopped(network(**options), data, folder, dies_at)
    went_on = network(**options)
    went_on.pretrain(data, **HOW, resume=folder, listeners=checkpoint(folder))
    assert_same(went_on, whole)


@pytest.mark.parametrize("every", [None, 1, 4])
def test_it_may_die_again_and_again_anywhere(every, data, folder, rng):
    whole = network().pretrain(data, **HOW)
    resume, net = None, network()
    for _ in range(60):
        listeners = [
            checkpoint(folder, every_n_iterations=every),
            Dying(rng.integers(1, 2 * OF_A_LAYER)),
        ]
        # Half of the time in the object that died.
        net = net if rng.integers(2) else network()
        try:
            net.pretrain(data, **HOW, listeners=listeners, resume=resume)
        except KeyboardInterrupt:
            resume = folder
        else:
            break
    assert_same(net, whole)


def test_what_is_trained_behind_it_is_the_same(data, folder):
    """The layers that were done before keep their updaters, and the network its."""
    whole = network().pretrain(data, **HOW)
    stopped(network(), data, folder, 40)
    went_on = network().pretrain(data, **HOW, resume=folder)
    for net in (whole, went_on):
        net.pretrain(data, **HOW)
        net.fit(data, **HOW)
    assert_same(went_on, whole)


def test_layers_that_were_pretrained_before_count_on(data, folder):
    nets = [network().pretrain(data, **HOW) for _ in range(2)]
    stopped(nets[0], data, folder)
    went_on = network().pretrain(data, **HOW, resume=folder)
    assert_same(went_on, nets[1].pretrain(data, **HOW))


def test_a_run_may_have_other_layers_and_another_order(data, folder):
    how = {**HOW, "layers": ["third", 0, "third"]}
    whole = network().pretrain(data, **how)
    stopped(network(), data, folder, 35, layers=how["layers"])
    assert_same(network().pretrain(data, **how, resume=folder), whole)


def test_one_layer_goes_on_too(data, folder):
    whole = network().pretrain_layer("second", data, **HOW)
    with pytest.raises(KeyboardInterrupt):
        network().pretrain_layer(
            "second", data, **HOW, listeners=[checkpoint(folder), Dying(8)]
        )
    went_on = network().pretrain_layer("second", data, **HOW, resume=folder)
    assert_same(went_on, whole)


def test_a_graph_goes_on_too(data, folder):
    def graph():
        return dl.ComputationGraph(
            dl.ComputationGraphConfiguration(
                inputs={"in": dl.FeedForward(5)},
                vertices={
                    "a.b": dl.AutoEncoder(n_out=4, activation="tanh", inputs="in"),
                    "c": variational(inputs="a.b"),
                    "out": dl.Output(3, inputs="c"),
                },
                outputs=("out",),
                updater="adam",
            )
        )

    whole = graph().pretrain(data, **HOW)
    stopped(graph(), data, folder, 20)
    assert_same(graph().pretrain(data, **HOW, resume=folder), whole)


def test_stored_data_and_their_normalizer_go_on(data, folder):
    table = pa.table({f"f{i}": column for i, column in enumerate(data.features.T)})
    how = {"features": table.column_names, "normalizer": dl.NormalizerStandardize()}
    whole = network().pretrain(table, **HOW, **how)
    stopped(network(), table, folder, **how)
    how["normalizer"] = "own"
    went_on = network().pretrain(table, **HOW, **how, resume=folder)
    assert_same(went_on, whole)
    assert went_on.normalizer.to_dict() == whole.normalizer.to_dict()


def test_a_list_that_is_trained_as_it_is_goes_on(data, folder):
    batches, how = list(data.batches(10)), {"batch_size": None}
    whole = network().pretrain(batches, **{**HOW, **how})
    stopped(network(), batches, folder, **how)
    went_on = network().pretrain(batches, **{**HOW, **how}, resume=folder)
    assert_same(went_on, whole)


@pytest.mark.parametrize("dies_at", [7, 15, 16, 22, 30, 31])
def test_listeners_hear_of_each_layer_as_in_one_run(dies_at, data, folder):
    whole, killed, hearing = Hearing(), Hearing(), Hearing()
    network().pretrain(data, **HOW, listeners=whole)
    with pytest.raises(KeyboardInterrupt):
        network().pretrain(
            data, **HOW, listeners=[checkpoint(folder), killed, Dying(dies_at)]
        )
    network().pretrain(
        data, **HOW, resume=folder, listeners=[checkpoint(folder), hearing]
    )
    again = [one for one in hearing.heard if "start" not in one and "ends" not in one]
    assert again == [
        one for one in whole.heard if "start" not in one and "ends" not in one
    ]
    assert hearing.heard[-1] == "third ends"


def test_a_layer_that_had_learnt_all_is_heard_of_before_the_next(data, folder):
    listeners = [checkpoint(folder, every_n_iterations=None), Hearing(), Dying(17)]
    with pytest.raises(KeyboardInterrupt):
        network().pretrain(data, **HOW, listeners=listeners)
    hearing = Hearing()
    network().pretrain(data, **HOW, resume=folder, listeners=hearing)
    told = [one for one in hearing.heard if "start" in one or "ends" in one]
    # The last checkpoint is of the end of the first layer.
    assert told == [
        *("first starts", "first starts", "first ends"),
        *("second starts", "second ends", "third starts", "third ends"),
    ]


@pytest.mark.parametrize("dies_at", [14, 17])
def test_it_may_go_on_in_another_directory(dies_at, data, folder, tmp_path):
    """Whose first checkpoint is written before anything is trained."""
    listeners = [checkpoint(folder, every_n_iterations=None), Dying(dies_at)]
    with pytest.raises(KeyboardInterrupt):
        network().pretrain(data, **HOW, listeners=listeners)
    other = tmp_path / "other"
    with pytest.raises(KeyboardInterrupt):
        network().pretrain(
            data, **HOW, resume=folder, listeners=[checkpoint(other), Dying(1)]
        )
    assert names(other) == ["checkpoint-000001.safetensors"]
    went_on = network().pretrain(data, **HOW, resume=other)
    assert_same(went_on, network().pretrain(data, **HOW))


@pytest.mark.parametrize("dies_at", [4, 10, 11, 15, 23])
def test_early_stopping_goes_on_with_the_next_layer_anew(data, folder, dies_at):
    """Two epochs of each layer, as none improves by that much."""

    def stopping():
        error = dl.AutoencoderScoreCalculator("MSE", data.features, layer="third")
        return dl.EarlyStopping(
            error, dl.ScoreImprovementEpochTerminationCondition(1, 1e9)
        )

    how = {**HOW, "epochs": 6}
    whole = stopping()
    expected = network().pretrain(data, **how, listeners=whole)
    with pytest.raises(KeyboardInterrupt):
        network().pretrain(
            data, **how, listeners=[stopping(), checkpoint(folder), Dying(dies_at)]
        )
    again = stopping()
    went_on = network().pretrain(
        data, **how, resume=folder, listeners=[again, checkpoint(folder)]
    )
    assert_same(went_on, expected)
    assert again.result.score_vs_epoch == whole.result.score_vs_epoch


def test_a_layer_that_a_listener_ended_stays_ended(data, folder):
    stop = Stopping("first", 7)
    whole = network().pretrain(data, **HOW, listeners=stop)
    listeners = [checkpoint(folder, every_n_iterations=100), stop, Dying(9)]
    with pytest.raises(KeyboardInterrupt):
        network().pretrain(data, **HOW, listeners=listeners)
    went_on = network().pretrain(data, **HOW, resume=folder)
    assert_same(went_on, whole)
    assert went_on.pretraining.layer("test", "first").iteration_count == 7


def test_of_a_complete_run_nothing_is_trained(data, folder, caplog):
    whole = network()
    completed(whole, data, folder)
    hearing = Hearing()
    went_on = network().pretrain(data, **HOW, resume=folder, listeners=hearing)
    assert_same(went_on, whole)
    assert hearing.heard == ["third is complete"]
    assert went_on.last_fit.examples == 3 * 45
    assert "pretrain: the run is complete, 3 of 3 epochs" in caplog.text


def test_the_report_of_the_layer_goes_on(data, folder):
    whole = network().pretrain(data, **HOW)
    stopped(network(), data, folder, 42)
    went_on = network().pretrain(data, **HOW, resume=folder)
    told = [(one.epoch, one.examples, one.score) for one in went_on.last_fit.epochs]
    assert told == [(e.epoch, e.examples, e.score) for e in whole.last_fit.epochs]


def test_the_last_checkpoints_of_all_layers_are_kept(data, folder):
    network().pretrain(data, **HOW, listeners=dl.RunCheckpoint(folder, keep_last=4))
    stood = []
    for name in names(folder):
        _, values, _ = load_run(str(folder / name))
        stood.append((values["pretraining"]["number"], values["position"]["epoch"]))
    assert stood == [(1, 3), (2, 1), (2, 2), (2, 3)]


def test_one_is_written_before_anything_is_trained(data, folder):
    net = network()
    before = net.params.copy()
    with pytest.raises(KeyboardInterrupt):
        net.pretrain(data, **HOW, listeners=[checkpoint(folder), Dying(1)])
    _, values, arrays = load_run(str(folder / names(folder)[0]))
    assert (values["pretraining"], arrays) == ({"number": 0, "counts": {}}, ())
    assert (net.params != before).any()


def test_a_state_comes_back_as_it_was(data, folder):
    stopped(network(), data, folder)
    _, values, arrays = load_run(str(folder / names(folder)[-1]))
    state = RunState.from_dict(values, arrays)
    assert state.pretraining.counts == {"first": (15, 3), "second": (6, 1)}
    assert json.dumps(state.to_dict()) == json.dumps(values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": {"first": [15, 3]}}, r"updater states of \['first', 'second'\]"),
        (None, "arrays of nobody"),
    ],
)
def test_a_state_that_does_not_fit_its_arrays_is_refused(data, folder, change, message):
    stopped(network(), data, folder)
    _, values, arrays = load_run(str(folder / names(folder)[-1]))
    values["pretraining"] = change and {**values["pretraining"], **change}
    with pytest.raises(FormatError, match=message):
        RunState.from_dict(values, arrays)


def test_a_listener_that_keeps_arrays_goes_with_it(data, folder):
    class KeepsArrays(dl.Listener):
        value = None

        def kept_state(self):
            return {"array": np.full((2, 3), 1.5)}

        def restore_state(self, state):
            self.value = state["array"]

    with pytest.raises(KeyboardInterrupt):
        network().pretrain(
            data, **HOW, listeners=[checkpoint(folder), KeepsArrays(), Dying(22)]
        )
    again = KeepsArrays()
    went_on = network().pretrain(data, **HOW, resume=folder, listeners=again)
    np.testing.assert_array_equal(again.value, np.full((2, 3), 1.5))
    assert_same(went_on, network().pretrain(data, **HOW))


def test_the_checkpoints_of_another_run_are_refused(data, folder):
    completed(network(), data, folder)
    with pytest.raises(OutputExistsError, match="checkpoint of another run, got check"):
        network().pretrain(data, **HOW, listeners=checkpoint(folder))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 5}, "resume must go on with the epochs of the run, 3, got 5"),
        ({"batch_size": 9}, "the batch_size of the run, 10, got 9"),
        ({"shuffle": False}, "the shuffle of the run, True, got False"),
        ({"layers": "second"}, r"the layers of the run, \('first', 'second', 'third'"),
        ({"layers": [2, 1, 0]}, r"'third'\), got \('third', 'second', 'first'\)"),
    ],
)
@BEGUN
def test_other_arguments_are_refused(data, folder, begun, change, message):
    begun(network(), data, folder)
    net = network()
    before = net.params.copy()
    with pytest.raises(OptionError, match=message):
        net.pretrain(data, **{**HOW, **change}, resume=folder)
    np.testing.assert_array_equal(net.params, before)


@BEGUN
def test_other_data_are_refused(data, examples, folder, begun):
    begun(network(), data, folder)
    with pytest.raises(OptionError, match="the data of the run, 45 examples, got 44"):
        network().pretrain(examples(44), **HOW, resume=folder)


def test_fewer_epochs_than_were_trained_are_refused(data, folder):
    stopped(network(), data, folder, 14)
    with pytest.raises(OptionError, match=r"epochs must be at least 2, which the run"):
        network().pretrain(data, **{**HOW, "epochs": 1}, resume=folder)


def test_another_network_is_refused(data, folder):
    stopped(network(), data, folder)
    with pytest.raises(OptionError, match="network of the run, whose configuration"):
        network(activation="sigmoid").pretrain(data, **HOW, resume=folder)


@BEGUN
def test_fit_does_not_go_on_with_pretraining(data, folder, begun):
    begun(network(), data, folder)
    message = (
        r"fit: resume must be a checkpoint of a fit, got one of pretraining\. Give"
    )
    with pytest.raises(OptionError, match=message):
        network().fit(data, **HOW, resume=folder)


def test_pretraining_does_not_go_on_with_a_fit(data, folder):
    network().fit(data, **HOW, listeners=checkpoint(folder))
    message = r"pretrain: resume must be a checkpoint of pretraining, got one of a fit"
    with pytest.raises(OptionError, match=message):
        network().pretrain(data, **HOW, resume=folder)


def test_pretraining_does_not_go_on_with_a_network_alone(data, tmp_path):
    network().save(tmp_path / "net.safetensors")
    with pytest.raises(FormatError, match="a checkpoint of a run"):
        network().pretrain(data, **HOW, resume=tmp_path / "net.safetensors")


@BEGUN
def test_its_checkpoints_are_no_network_to_load(data, folder, begun):
    begun(network(), data, folder)
    message = r"got a checkpoint of the pretraining of 'first', 'second', 'third'\. Go"
    with pytest.raises(FormatError, match=message):
        dl.load(str(folder / names(folder)[-1]))


def test_layers_that_are_none_are_refused(data):
    with pytest.raises(OptionError, match="pretrain: layers must name one that can"):
        network().pretrain(data, layers=[])
    with pytest.raises(OptionError, match=r"must be one that can be .*, got 1\.5"):
        network().pretrain(data, layers=1.5)


def test_a_network_that_searches_lines_has_its_layers_trained_by_updates(data, folder):
    searching = {"optimization_algo": "lbfgs"}
    whole = network(**searching).pretrain(data, **HOW)
    stopped(network(**searching), data, folder)
    assert_same(network(**searching).pretrain(data, **HOW, resume=folder), whole)
