"""What is saved for DL4J means the same when it is read again, or is refused."""

import numpy as np
import pytest

import daskdl as d
from daskdl.errors import FormatError
from daskdl.nn.vectors import layer_spans as layer_spans_of
from tests.dialects import DL4J

BOUND = {"type": "max_norm", "max_norm": 0.1, "dimensions": 1}
LAST = {"n_out": 2, "loss": "mse"}


def sequence(*layers, size=4, **options):
    given = d.Recurrent(size=size)
    return d.MultiLayerNetwork(
        d.MultiLayerConfiguration(
            **{"input": given, "dtype": "float64", "dialect": DL4J, **options},
            layers=layers,
        )
    )


def graph(vertices, *, outputs=("out",), **inputs):
    given = inputs or {"in": d.Recurrent(size=4)}
    return d.ComputationGraph(
        d.ComputationGraphConfiguration(
            inputs=given, vertices=vertices, outputs=list(outputs), dtype="float64"
        )
    )


def read_again(network, tmp_path):
    network.save(tmp_path / "model.zip", format="dl4j")
    return d.load(tmp_path / "model.zip")


def same_training(network, tmp_path, rng, *, shape=(3, 4, 5)):
    """Assert that a network and what is read of it compute and learn the same."""
    other = read_again(network, tmp_path)
    x = rng.standard_normal(shape)
    y = rng.random(network.output(x).shape)
    np.testing.assert_array_equal(other.output(x), network.output(x))
    before = network.params.copy()
    for net in (network, other):
        net.fit(d.DataSet(x, y))
    # Sums over rows and over series are rounded otherwise.
    np.testing.assert_allclose(other.params, network.params, rtol=1e-12, atol=1e-15)
    assert not np.array_equal(before, network.params)


def constrained(network):
    spans = layer_spans_of(network.layout, network.nodes)
    return [r.name for s in spans for r in s.roles if r.constraints]


def refused(network, tmp_path, match):
    with pytest.raises(FormatError, match=match):
        network.save(tmp_path / "model.zip", format="dl4j")
    assert not list(tmp_path.iterdir())


RECURRENT = [d.LSTM, d.GravesLSTM, d.SimpleRnn]


@pytest.mark.parametrize("kind", RECURRENT)
def test_constraints_hold_both_directions_after_a_file(kind, tmp_path, rng):
    both = d.Bidirectional(layer=kind(n_out=3, constraints=[BOUND]))
    same_training(sequence(both, d.RnnOutput(**LAST)), tmp_path, rng)


def test_constraints_of_the_network_hold_both_directions_after_a_file(tmp_path, rng):
    both = d.Bidirectional(layer=d.LSTM(n_out=3))
    network = sequence(both, d.RnnOutput(**LAST), constraints=[BOUND])
    same_training(network, tmp_path, rng)


@pytest.mark.parametrize("kind", RECURRENT)
def test_names_within_bidirectional_are_those_of_the_wrapped_layer(kind):
    bound = {**BOUND, "apply_to": ["W"]}
    both = d.Bidirectional(layer=kind(n_out=3, constraints=[bound]))
    network = sequence(both, d.RnnOutput(**LAST))
    held = constrained(network)
    assert held == ["fW", "bW"]


def test_names_within_two_wrappers_are_those_of_the_wrapped_layer():
    bound = {**BOUND, "apply_to": ["RW"]}
    inner = d.LastTimeStep(layer=d.LSTM(n_out=3, constraints=[bound]))
    network = sequence(d.Bidirectional(layer=inner), d.Output(**LAST))
    held = constrained(network)
    assert held == ["fRW", "bRW"]


def test_constraints_of_one_direction_are_refused(tmp_path):
    bound = {**BOUND, "apply_to": ["fW"]}
    both = d.Bidirectional(layer=d.LSTM(n_out=3, constraints=[bound]))
    network = sequence(both, d.RnnOutput(**LAST))
    refused(network, tmp_path, r"both directions, got apply_to \('fW',\)")


DENSE = d.Dense(n_out=3)


@pytest.mark.parametrize(
    "layers",
    [
        [DENSE, d.LastTimeStep(layer=d.LSTM(n_out=3)), d.Output(**LAST)],
        [DENSE, d.GlobalPooling(), d.Output(**LAST)],
        [d.LSTM(n_out=3), DENSE, d.GlobalPooling(), d.Output(**LAST)],
        [d.Frozen(layer=DENSE), d.LSTM(n_out=3), d.RnnOutput(**LAST)],
        [
            d.FrozenWithBackprop(layer=DENSE),
            DENSE,
            d.LSTM(n_out=2),
            d.RnnOutput(**LAST),
        ],
        [d.LSTM(n_out=3), d.Frozen(layer=DENSE), d.RnnOutput(**LAST)],
        [DENSE, d.Frozen(layer=d.LSTM(n_out=3)), d.RnnOutput(**LAST)],
    ],
)
def test_dense_layers_on_series_are_read_again(layers, tmp_path, rng):
    same_training(sequence(*layers), tmp_path, rng)


RNN = d.RnnOutput(**LAST, inputs=["b"])
FLAT = d.Output(**LAST, inputs=["b"])


@pytest.mark.parametrize(
    ("vertex", "out"),
    [
        (d.LastTimeStepVertex(inputs=["a"]), FLAT),
        (d.GlobalPooling(inputs=["a"]), FLAT),
        (d.ScaleVertex(scale_factor=2.0, inputs=["a"]), RNN),
        (d.MergeVertex(inputs=["a", "in"]), RNN),
        (d.ElementWiseVertex(op="add", inputs=["a", "a"]), RNN),
        (d.ReverseTimeSeriesVertex(inputs=["a"]), RNN),
    ],
)
def test_vertices_behind_dense_layers_read_series_again(vertex, out, tmp_path, rng):
    dense = d.Frozen(layer=DENSE, inputs=["in"])
    for first in (d.Dense(n_out=3, inputs=["in"]), dense):
        network = graph({"a": first, "b": vertex, "out": out})
        (tmp_path / "model.zip").unlink(missing_ok=True)
        same_training(network, tmp_path, rng)


def test_a_vertex_that_has_the_added_name_is_refused(tmp_path):
    vertices = {
        "a": d.Dense(n_out=3, inputs=["in"]),
        "b": d.ScaleVertex(scale_factor=2.0, inputs=["a"]),
        "a-series": d.RnnOutput(**LAST, inputs=["b"]),
    }
    network = graph(vertices, outputs=["a-series"])
    refused(network, tmp_path, "'a-series' must be the vertex that makes series")


SERIES_LAST = d.Recurrent(size=4, data_format="NWC")


@pytest.mark.parametrize(
    "first",
    [
        d.Subsampling1D(kernel_size=2, stride=1),
        d.ZeroPadding1D(padding=1),
        d.Cropping1D(cropping=1),
        d.SelfAttention(n_out=4, project_input=False),
    ],
)
def test_a_global_pooling_tells_the_format_of_layers_that_do_not(first, tmp_path, rng):
    network = sequence(first, d.GlobalPooling(), d.Output(**LAST), input=SERIES_LAST)
    same_training(network, tmp_path, rng, shape=(3, 5, 4))


def test_a_format_that_nothing_tells_is_refused(tmp_path):
    first = d.SelfAttention(n_out=4, project_input=False)
    last = d.LastTimeStep(layer=d.SelfAttention(n_out=4, project_input=False))
    network = sequence(first, last, d.Output(**LAST), input=SERIES_LAST)
    refused(network, tmp_path, "data_format.'NWC'")


def test_series_of_numbers_are_refused_with_what_dl4j_can_tell(tmp_path):
    layers = d.EmbeddingSequence(n_in=5, n_out=2), d.GlobalPooling(), d.Output(**LAST)
    network = sequence(*layers, size=1)
    refused(network, tmp_path, r"Give the input as FeedForward\(size=None\)")
    network = sequence(*layers, input=d.FeedForward(size=None))
    network.save(tmp_path / "model.zip", format="dl4j")


def test_inputs_that_only_vertices_read_are_told_by_what_is_behind(tmp_path, rng):
    vertices = {
        "moved": d.ShiftVertex(shift_factor=0.5, inputs=["a"]),
        "part": d.SubsetVertex(from_=1, to=2, inputs=["b"]),
        "unit": d.L2NormalizeVertex(inputs=["part"]),
        "both": d.MergeVertex(inputs=["moved", "unit"]),
        "out": d.Output(**LAST, inputs=["both"]),
    }
    network = graph(vertices, a=d.FeedForward(size=3), b=d.FeedForward(size=4))
    other = read_again(network, tmp_path)
    x = [rng.standard_normal((2, 3)), rng.standard_normal((2, 4))]
    assert other.conf.inputs["a"].size == 3
    np.testing.assert_array_equal(other.output(x), network.output(x))


def test_inputs_that_are_merged_first_are_told_together(tmp_path, rng):
    vertices = {
        "both": d.MergeVertex(inputs=["a", "b"]),
        "normal": d.BatchNormalization(inputs=["both"]),
        "out": d.Output(**LAST, inputs=["normal"]),
    }
    network = graph(vertices, a=d.FeedForward(size=2), b=d.FeedForward(size=3))
    other = read_again(network, tmp_path)
    x = [rng.standard_normal((4, 2)), rng.standard_normal((4, 3))]
    np.testing.assert_array_equal(other.output(x), network.output(x))
    other.save(tmp_path / "again.zip", format="dl4j")
    first, again = (tmp_path / name for name in ("model.zip", "again.zip"))
    assert first.read_bytes() == again.read_bytes()


def test_formats_of_inputs_of_graphs_are_refused_by_name(tmp_path):
    vertices = {
        "b": d.LastTimeStepVertex(inputs=["words"]),
        "out": d.Output(**LAST, inputs=["b"]),
    }
    network = graph(vertices, words=SERIES_LAST)
    refused(network, tmp_path, "'NWC' of the input 'words'")


def test_a_file_that_could_not_be_read_is_not_written(tmp_path):
    network = sequence(d.GlobalPooling(), d.Output(**LAST))
    refused(network, tmp_path, r"got Recurrent\(.*could not be read again")
