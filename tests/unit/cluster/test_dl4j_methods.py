"""Every method of DL4J's front ends can be called; none ends in a TypeError."""

import math

import numpy as np
import pytest

from daskdl import (
    ROC,
    ComputationGraph,
    ComputationGraphConfiguration,
    DataSet,
    Dense,
    Evaluation,
    FeedForward,
    Listener,
    MultiDataSet,
    Output,
    RegressionEvaluation,
    ROCMultiClass,
    SharedTrainingMaster,
)
from daskdl.cluster.dl4j_names import GRAPH, NAMES, SEQUENCE, snake_case
from daskdl.cluster.frontend import DaskComputationGraph, DaskMultiLayer
from daskdl.errors import OptionError, ShapeError
from daskdl.nn.fitting.events import EpochFinished, FitReport
from tests.unit.cluster.inline_client import InlineClient
from tests.unit.networks.small import mlp, rnn, sequence

FRONT_ENDS = {SEQUENCE: DaskMultiLayer, GRAPH: DaskComputationGraph}
# They hand over to `fit`, which is tried on a cluster.
TRAINING = {"fit", "fitContinuousLabeledPoint", "fitLabeledPoint", "fitMultiDataSet"}
TRAINING |= {"fitPaths", "fitPathsMultiDataSet"}
METHODS = [(kind, one) for kind in FRONT_ENDS for one in NAMES if kind in one.of]
EVALUATING = ("calculate", "do", "evaluate", "feed", "score")


def front_end(kind=SEQUENCE):
    network = two_classes() if kind == SEQUENCE else of_two_outputs()
    return FRONT_ENDS[kind](InlineClient(), network)


def two_classes():
    return sequence(FeedForward(size=4), Output(n_out=2, loss="mcxent"))


def of_two_outputs():
    return ComputationGraph(
        ComputationGraphConfiguration(
            inputs={"in": FeedForward(size=4)},
            vertices={
                "hidden": Dense(n_out=5, inputs=["in"]),
                "class": Output(n_out=2, loss="mcxent", inputs=["hidden"]),
                "value": Output(n_out=3, loss="mse", inputs=["hidden"]),
            },
            outputs=["class", "value"],
        )
    )


@pytest.fixture
def data_of(rng):
    """Return a function that draws examples for a front end."""

    def draw(kind=SEQUENCE, n=12):
        features, keys = rng.normal(size=(n, 4)), np.arange(n)
        labels = np.eye(2)[rng.integers(0, 2, n)]
        if kind == SEQUENCE:
            return DataSet(features, labels, keys=keys)
        return MultiDataSet([features], [labels, rng.normal(size=(n, 3))], keys=keys)

    return draw


@pytest.mark.parametrize("spell", [str, snake_case])
@pytest.mark.parametrize(
    ("kind", "one"),
    [pytest.param(*each, id=f"{each[0]}-{each[1].name}") for each in METHODS],
)
def test_every_method_is_there_in_both_spellings(kind, one, spell):
    front = front_end(kind)
    method = getattr(front, spell(one.name))
    if one.here:
        assert method == getattr(front, one.here)
        return
    with pytest.raises(OptionError, match=f"{one.name} must not be called") as told:
        method(1)
    assert one.instead.replace("`", "") in str(told.value)


@pytest.mark.parametrize(
    ("kind", "one"),
    [
        pytest.param(kind, one, id=f"{kind}-{one.name}")
        for kind, one in METHODS
        if one.name.startswith(EVALUATING)
    ],
)
def test_every_method_that_takes_data_gives_an_answer(kind, one, data_of):
    given = [[Evaluation()]] if one.name.startswith("do") else []
    assert getattr(front_end(kind), one.name)(data_of(kind), *given) is not None


@pytest.mark.parametrize("name", sorted(TRAINING))
def test_every_method_that_trains_is_fit(name, monkeypatch, data_of):
    kind = next(kind for kind, one in METHODS if one.name == name)
    front = front_end(kind)
    if name == "fitContinuousLabeledPoint":
        front.set_network(sequence(FeedForward(size=4), Output(n_out=2, loss="mse")))
    taken = {}

    def fit(self, data, **options):
        taken.update(options)

    monkeypatch.setattr(type(front), "fit", fit)
    data = ["/data"] if "Paths" in name else data_of(kind)
    if name != "fit":
        getattr(front, name)(data, epochs=2)
        assert taken["epochs"] == 2


def test_labeled_points_bring_their_columns(monkeypatch):
    front, taken = front_end(), {}
    monkeypatch.setattr(
        DaskMultiLayer, "fit", lambda self, data, **options: taken.update(options)
    )
    front.fit_labeled_point("rdd", batch_size=4)
    assert taken == {"features": "features", "label": "label", "batch_size": 4}


def test_labels_that_are_numbers_need_a_loss_between_numbers():
    with pytest.raises(
        OptionError, match="loss must be between numbers, such as 'mse'"
    ):
        front_end().fit_continuous_labeled_point("rdd", batch_size=4)


@pytest.mark.parametrize(
    ("method", "empty"),
    [
        ("evaluate_regression", RegressionEvaluation()),
        ("evaluate_roc", ROC(32)),
        ("evaluate_roc_multi_class", ROCMultiClass(32)),
    ],
)
def test_an_evaluation_of_a_method_is_that_of_the_network(method, empty, data_of):
    front, data = front_end(), data_of()
    expected = front.network.evaluate(data, empty)
    assert getattr(front, method)(data).stats() == expected.stats()


def test_thresholds_of_a_roc_can_be_chosen(data_of):
    front, data = front_end(), data_of()
    expected = front.network.evaluate(data, ROC(0))
    assert front.evaluate_roc(data, threshold_steps=0).to_json() == expected.to_json()


@pytest.mark.parametrize("output", ["value", 1])
def test_any_output_of_a_graph_is_evaluated(output, data_of):
    front, data = front_end(GRAPH), data_of(GRAPH)
    found = front.evaluate(data, output=output)
    predicted = front.network.output([data.features[0]])[1]
    expected = RegressionEvaluation()
    expected.eval(data.labels[1], predicted)
    assert found.stats() == expected.stats()


@pytest.mark.parametrize("output", [None, "class", 0])
def test_the_first_output_is_evaluated_if_nothing_is_said(output, data_of):
    front, data = front_end(GRAPH), data_of(GRAPH)
    (found,) = front.do_evaluation(data, [Evaluation()], output=output)
    expected = front.network.evaluate(data)
    np.testing.assert_array_equal(found.confusion_matrix, expected.confusion_matrix)


def test_one_evaluation_need_not_stand_in_a_list(data_of):
    front, data = front_end(GRAPH), data_of(GRAPH)
    (found,) = front.do_evaluation(data, Evaluation())
    assert found.accuracy() == front.network.evaluate(data).accuracy()
    assert len(front.score_and_evaluate(data, Evaluation()).evaluations) == 1


@pytest.mark.parametrize("given", [Evaluation, None, "ACCURACY", [Evaluation]])
def test_what_is_no_evaluation_is_refused(given, data_of):
    with pytest.raises(OptionError, match="evaluations must be evaluations, such as"):
        front_end(GRAPH).do_evaluation(data_of(GRAPH), given)


def test_the_mask_of_an_output_is_its_own(rng, data_of):
    front, data = front_end(GRAPH), data_of(GRAPH, n=6)
    masks = [None, np.array([[1, 1, 1, 0, 0, 0]]).T]
    masked = MultiDataSet(data.features, data.labels, labels_masks=masks)
    found = front.evaluate_regression(masked, output="value")
    first = MultiDataSet([data.features[0][:3]], [one[:3] for one in data.labels])
    assert found.stats() == front.evaluate_regression(first, output="value").stats()


def test_names_of_classes_are_those_of_the_first_output(data_of):
    front = front_end(GRAPH)
    front.network.class_names = ["cat", "dog"]
    assert "cat" in front.evaluate(data_of(GRAPH), output="class").stats()


@pytest.mark.parametrize(
    ("kind", "output", "must"),
    [
        (
            GRAPH,
            "klass",
            "output must be one of 'class', 'value', got 'klass'. Did you",
        ),
        (GRAPH, 2, "output must be a whole number from 0 to 1, got 2"),
        (GRAPH, 1.5, "output must be a str, a whole number or None, got 1.5"),
        (SEQUENCE, 1, "output must be a whole number from 0 to 0, got 1"),
        (
            SEQUENCE,
            "class",
            "output must be a number of a network whose outputs have no",
        ),
    ],
)
def test_an_output_that_there_is_not_is_refused(kind, output, must, data_of):
    with pytest.raises(OptionError, match=f"evaluate: {must}"):
        front_end(kind).evaluate(data_of(kind), output=output)


def test_a_score_has_no_output(data_of):
    with pytest.raises(OptionError, match=r"score: options must be .* got 'output'"):
        front_end(GRAPH).score(data_of(GRAPH), output="value")


def test_the_loss_is_the_mean_of_an_example_or_the_sum_of_all(data_of):
    front, data = front_end(), data_of(n=12)
    expected = front.score(data)
    assert front.calculate_score(data) == expected
    assert front.calculateScore(data, average=False) == pytest.approx(12 * expected)


def test_a_network_can_be_put_in_the_place_of_another():
    front, other = front_end(), two_classes()
    front.last_fit = FitReport()
    front.set_network(other)
    assert front.get_network() is other
    assert front.last_fit is None


def test_a_network_of_the_other_kind_is_refused():
    with pytest.raises(OptionError, match="network must be a MultiLayerNetwork or its"):
        front_end().set_network(of_two_outputs())


def test_the_training_master_is_the_one_that_was_given():
    master = SharedTrainingMaster(fan_out=3)
    front = DaskMultiLayer(InlineClient(), mlp(), master)
    assert front.get_training_master() is master


def test_the_score_is_that_of_the_last_epoch():
    front = front_end()
    assert math.isnan(front.get_score())
    front.last_fit = FitReport()
    front.last_fit.epochs.append(
        EpochFinished(time_s=1, epoch=1, examples=1, score=0.5, wall_s=1, workers=1)
    )
    assert front.get_score() == 0.5


def test_statistics_are_told_unless_the_master_does_not_collect_them():
    front = front_end()
    front.last_fit = FitReport()
    assert front.get_spark_training_stats() is front.last_fit
    front.set_collect_training_stats(False)
    assert front.get_spark_training_stats() is None


def test_listeners_that_were_set_hear_of_every_fit(monkeypatch):
    front, (first, second) = front_end(), (Listener(), Listener())
    front.set_listeners([first], second)
    heard = []

    def stop(who, given):
        heard.extend(given)
        raise KeyboardInterrupt

    monkeypatch.setattr("daskdl.cluster.frontend.hearing_of", stop)
    with pytest.raises(KeyboardInterrupt):
        front.fit(DataSet(np.zeros((2, 4)), np.eye(2)))
    assert heard == [first, second]


def test_listeners_can_be_taken_away():
    front = front_end()
    front.set_listeners(Listener())
    front.set_listeners(None)
    assert front._listeners is None


@pytest.mark.parametrize(
    "given", [[[print]], [3], [Listener], [object(), [Listener()]], [[Listener()], "s"]]
)
def test_what_is_no_listener_is_refused_when_it_is_set(given):
    with pytest.raises(OptionError, match="listeners must be objects of classes that"):
        front_end().set_listeners(*given)


def test_copies_of_a_network_are_counted():
    front = front_end()
    assert front.get_default_evaluation_workers() is None
    front.set_default_evaluation_workers(4)
    assert front.getDefaultEvaluationWorkers() == 4
    with pytest.raises(OptionError, match="workers must be a whole number > 0, got 0"):
        front.set_default_evaluation_workers(0)
    with pytest.raises(
        OptionError, match="eval_num_workers must be a whole number > 0"
    ):
        front.evaluate(DataSet(np.zeros((2, 4)), np.eye(2)), eval_num_workers=0)


def test_a_vector_is_predicted_as_one_and_a_matrix_as_several(data_of):
    front, features = front_end(), data_of().features
    expected = front.network.output(features)

    class Vector:
        def toArray(self):
            return features[2]

    np.testing.assert_allclose(front.predict(Vector()), expected[2], rtol=1e-6)
    np.testing.assert_allclose(front.predict(features), expected, rtol=1e-6)


def test_series_are_predicted_with_their_masks(rng):
    front = DaskMultiLayer(InlineClient(), rnn())
    features, mask = rng.normal(size=(3, 3, 5)), np.array([1, 1, 1, 0, 0])
    given = [("a", features[0], mask), ("b", features[1], None)]
    answered = dict(front.feed_forward_with_mask_and_key(given))
    masks = np.stack([mask, np.ones(5)])
    expected = front.network.output(features[:2], features_mask=masks)
    np.testing.assert_allclose(answered["a"], expected[0], rtol=1e-6)
    np.testing.assert_allclose(answered["b"], expected[1], rtol=1e-6)


def test_series_of_unequal_length_are_refused_with_their_key(rng):
    front = DaskMultiLayer(InlineClient(), rnn())
    given = [("a", np.zeros((3, 5)), None), ("b", np.zeros((3, 4)), None)]
    with pytest.raises(ShapeError, match="the features of 'b' must have the shape"):
        front.feed_forward_with_mask_and_key(given)


def test_series_of_several_inputs_are_refused_with_what_to_give(rng):
    front = DaskMultiLayer(InlineClient(), rnn())
    given = [("a", [np.zeros((3, 5)), np.zeros((2, 5))], None)]
    with pytest.raises(OptionError, match=r"of .a. must be one array, got 2\. Give"):
        front.feed_forward_with_mask_and_key(given)
