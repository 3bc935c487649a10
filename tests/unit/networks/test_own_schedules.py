"""Schedules and initial weights of one's own: used, kept, and refused if wrong."""

import json

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import FormatError, OptionError, ShapeError
from daskdl.nn.conf.schema import json_schema_of
from daskdl.training.registered_kinds import packed_kinds

ROWS = dl.FeedForward(3)


@dl.schedule("halving_by_test")
class Halving(dl.ScheduleDefinition):
    """Half as much in every epoch.

    Parameters
    ----------
    initial_value : float
        Value at the beginning.
    """

    initial_value: float = 0.5

    def value_at(self, iteration, epoch):
        return self.initial_value / 2**epoch


@dl.weight_init("signs_by_test")
class RandomSigns(dl.WeightInitDefinition):
    """Plus or minus the same number.

    Parameters
    ----------
    scale : float
        Of the number.
    """

    scale: float = 1.0

    def draw(self, shape, fan_in, fan_out, rng):
        return rng.choice([-self.scale, self.scale], shape) / fan_in**0.5


def network(updater="sgd", **options):
    layers = [dl.Output(2, loss="mse", activation="identity", **options)]
    conf = dl.MultiLayerConfiguration(
        input=ROWS, layers=layers, dtype="float64", updater=updater
    )
    return dl.MultiLayerNetwork(conf)


def batch(rng):
    return dl.DataSet(rng.standard_normal((6, 3)), rng.random((6, 2)))


def test_a_rate_follows_it(rng):
    net, data = network(dl.Sgd(Halving(initial_value=0.1))), batch(rng)
    for rate in (0.1, 0.05, 0.025):
        before = net.params.copy()
        net.compute_gradients(data)
        expected = before - rate * net.gradients
        net.fit(data, epochs=1)
        np.testing.assert_allclose(net.params, expected, rtol=1e-12)


def test_it_stands_wherever_a_schedule_may():
    layer = dl.Dense(
        4, dropout={"type": "dropout", "keep_probability": "halving by test"}
    )
    assert layer.dropout.keep_probability == Halving()
    ramp = dl.RampSchedule(base={"type": "Halving", "initial_value": 3}, num_iter=2)
    assert ramp.value_at(0, 1) == 0.75
    assert dl.Nesterovs(momentum=Halving()).momentum == Halving()


@pytest.mark.parametrize("value", ["fast", None, float("nan"), float("inf")])
def test_what_it_returns_must_be_a_finite_number(forget_kinds, rng, value):
    @dl.schedule("odd_schedule_by_test")
    class Odd(dl.ScheduleDefinition):
        def value_at(self, iteration, epoch):
            return value

    with pytest.raises(OptionError, match="Odd: value_at must return a finite number"):
        network(dl.Sgd(Odd())).fit(batch(rng))


def test_weights_are_what_it_draws():
    weights = network(weight_init=RandomSigns(scale=2)).param_table()["0_W"]
    np.testing.assert_allclose(np.abs(weights), 2 / 3**0.5)
    again = network(weight_init={"type": "RandomSigns", "scale": 2})
    np.testing.assert_array_equal(again.param_table()["0_W"], weights)


@pytest.mark.parametrize(
    ("drawn", "found"),
    [(lambda: np.zeros((2, 3)), r"\(2, 3\)"), (lambda: 0.1, "float")],
)
def test_weights_of_another_shape_are_refused(forget_kinds, drawn, found):
    @dl.weight_init("odd_weights_by_test")
    class Odd(dl.WeightInitDefinition):
        def draw(self, shape, fan_in, fan_out, rng):
            return drawn()

    message = rf"Odd: draw must return an array of shape \(3, 2\), got {found}"
    with pytest.raises(ShapeError, match=message):
        network(weight_init="odd_weights_by_test")


def test_both_are_kept(tmp_path):
    net = network(dl.Adam(Halving(initial_value=0.1)), weight_init=RandomSigns(scale=2))
    path = str(tmp_path / "own.safetensors")
    net.save(path)
    assert dl.load(path).conf == net.conf
    text = json.dumps(net.conf.to_dict())
    assert dl.MultiLayerConfiguration.from_dict(json.loads(text)) == net.conf


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"updater": dl.Sgd(Halving())}, "halving_by_test"),
        ({"weight_init": RandomSigns()}, "signs_by_test"),
    ],
)
def test_files_of_dl4j_cannot_hold_them(tmp_path, options, name):
    with pytest.raises(FormatError, match=name):
        network(**options).save(str(tmp_path / "own.zip"))


def test_names_of_the_package_are_taken():
    with pytest.raises(
        OptionError, match="schedule 'step': the name must not be taken"
    ):
        dl.schedule("step")(Halving)
    with pytest.raises(OptionError, match="weight_init 'Xavier': the name must not be"):
        dl.weight_init("Xavier")(RandomSigns)


def test_schemas_and_workers_know_them():
    schema = "".join(json_schema_of(dl.MultiLayerConfiguration)["$defs"])
    assert "Halving" in schema
    assert "RandomSigns" in schema
    assert packed_kinds(network(dl.Sgd(Halving())).conf.to_dict())
    assert packed_kinds(network(weight_init=RandomSigns()).conf.to_dict())


def test_a_misspelt_name_is_refused_with_the_nearest():
    with pytest.raises(OptionError, match="Did you mean 'xavier'"):
        dl.Output(2, weight_init="xavir")
    with pytest.raises(OptionError, match="Did you mean 'exponential'"):
        dl.Sgd({"type": "exponentiel", "initial_value": 1, "gamma": 0.5})
