"""Data to be evaluated on are refused before anything is trained, as data of a fit."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import DataError, OptionError, ShapeError, SourceNotFoundError

ROWS = 40


@pytest.fixture
def network():
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=dl.FeedForward(size=5),
            layers=[dl.Dense(n_out=6, activation="tanh"), dl.Output(n_out=3)],
        )
    )


@pytest.fixture
def data(rng):
    features = rng.standard_normal((ROWS, 5)).astype(np.float32)
    return dl.DataSet(features, rng.integers(0, 3, ROWS))


def with_nan(data):
    features = data.features.copy()
    features[3, 2] = np.nan
    return features, data.labels


# What came, and what fit says of it.
BAD = {
    "width": (lambda d: (d.features[:, :4], d.labels), r"\(batch, 5\), got \(40, 4\)"),
    "classes": (lambda d: (d.features, np.eye(4)[d.labels]), r"3\), got \(40, 4\)"),
    "numbers": (lambda d: (d.features, d.labels + 7), "integers from 0 to 2, got"),
    "no labels": (lambda d: dl.DataSet(d.features), "labels must be given, got none"),
    "no rows": (lambda d: (d.features[:0], d.labels[:0]), "must hold an example"),
    "nothing": (lambda d: [], "must hold a minibatch, got none"),
    "nan": (with_nan, "got nan in row 3, column 2"),
    "unequal": (lambda d: (d.features, d.labels[:30]), "as many examples"),
    "a later one": (lambda d: [d, dl.DataSet(d.features[:, :4], d.labels)], "40, 4"),
    "a type": (lambda d: 7, "data must be a DataSet, .* got int"),
    "a mapping": (lambda d: {"a": d}, "data must be a DataSet, .* got dict"),
}
LISTENERS = {
    "early stopping": (dl.EarlyStopping, "validation: "),
    "calculator": (
        lambda data: dl.EarlyStopping(dl.ClassificationScoreCalculator("F1", data)),
        "validation: ",
    ),
    "evaluative": (lambda data: dl.EvaluativeListener(data, name="test"), "test: "),
    "no name": (dl.EvaluativeListener, "EvaluativeListener: "),
}


@pytest.mark.parametrize("listener", LISTENERS)
@pytest.mark.parametrize("bad", BAD)
def test_nothing_is_trained_before_bad_data_are_refused(network, data, bad, listener):
    make, message = BAD[bad]
    listening, name = LISTENERS[listener]
    with pytest.raises((DataError, ShapeError), match=f"^{name}.*{message}"):
        network.fit(data, batch_size=10, listeners=listening(make(data)))
    assert network.iteration_count == 0


@pytest.mark.parametrize("bad", ["width", "classes", "numbers", "no labels", "a type"])
def test_the_words_are_those_of_fit(network, data, bad):
    make, _ = BAD[bad]
    with pytest.raises((DataError, ShapeError)) as of_fit:
        network.fit(make(data), batch_size=10)
    with pytest.raises(of_fit.type) as of_listener:
        network.fit(data, batch_size=10, listeners=dl.EarlyStopping(make(data)))
    words = str(of_fit.value).replace(".fit:", ".evaluate:")
    assert str(of_listener.value) == f"validation: {words}"


def test_a_path_that_is_not_there_is_refused_at_once(network, data, tmp_path):
    listener = dl.EarlyStopping(f"{tmp_path}/gone.csv")
    with pytest.raises(SourceNotFoundError, match=r"^validation: .*gone\.csv"):
        network.fit(data, batch_size=10, listeners=listener)
    assert network.iteration_count == 0


def csv(path, width, rows):
    lines = [",".join([*(f"f{number}" for number in range(width)), "label"])]
    lines += [",".join(["0.5"] * width + [str(row % 3)]) for row in range(rows)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def columns(width):
    return {"features": [f"f{number}" for number in range(width)], "label": "label"}


def test_files_are_looked_at(network, data, tmp_path):
    path = csv(tmp_path / "narrow.csv", 4, 10)
    listener = dl.EarlyStopping(path, **columns(4))
    with pytest.raises(DataError, match=r"^validation: .*5 numbers an example, got 4"):
        network.fit(data, batch_size=10, listeners=listener)
    assert network.iteration_count == 0


def test_files_without_rows_are_refused(network, data, tmp_path):
    listener = dl.EarlyStopping(csv(tmp_path / "empty.csv", 5, 0), **columns(5))
    with pytest.raises(DataError, match="must hold at least one example, got none"):
        network.fit(data, batch_size=10, listeners=listener)
    assert network.iteration_count == 0


def test_an_unknown_option_is_refused_at_once(network, data, tmp_path):
    path = csv(tmp_path / "good.csv", 5, 10)
    listener = dl.EarlyStopping(path, **columns(5), feature="x")
    with pytest.raises(OptionError, match=r"^validation: .*got 'feature'"):
        network.fit(data, batch_size=10, listeners=listener)
    assert network.iteration_count == 0


def test_of_files_only_the_first_examples_are_read(
    network, data, tmp_path, monkeypatch
):
    from daskdl.data.sources.source import open_source

    paths = [csv(tmp_path / f"{name}.csv", 5, 10) for name in "abc"]
    options = dl.SourceOptions(**columns(5))
    (kind,) = {type(one) for one in open_source(paths, options).partitions}
    load, loaded = kind.load_rows, []

    def counted(self):
        loaded.append(self.name)
        return load(self)

    monkeypatch.setattr(kind, "load_rows", counted)

    class Looks(dl.Listener):
        def on_fit_start(self, fit):
            assert len(loaded) == 1
            fit.stop()

    listeners = [dl.EarlyStopping(paths, **columns(5)), Looks()]
    network.fit(data, batch_size=10, listeners=listeners)
    assert len(loaded) == 1


def test_an_empty_file_in_front_is_no_mistake(network, data, tmp_path):
    paths = [csv(tmp_path / f"{rows}.csv", 5, rows) for rows in (0, 10)]
    listener = dl.EarlyStopping(paths, **columns(5))
    network.fit(data, batch_size=10, listeners=listener)
    assert listener.result.total_epochs == 1


def test_an_iterator_is_left_for_the_evaluation(network, data):
    listener = dl.EvaluativeListener(iter([data]))
    network.fit(data, batch_size=10, listeners=listener)
    assert listener.evaluation.accuracy() >= 0


def test_what_is_read_again_is_looked_at_first(network, data):
    class Again:
        def __iter__(self):
            return iter([(data.features[:, :4], data.labels)])

    with pytest.raises(ShapeError, match=r"^validation: .*got \(40, 4\)"):
        network.fit(data, batch_size=10, listeners=dl.EarlyStopping(Again()))
    assert network.iteration_count == 0


def test_normalizers_see_what_they_will_see(network, data):
    """Data that the network's own normalizer takes are no mistake."""
    listener = dl.EarlyStopping(data)
    network.fit(
        data, batch_size=10, normalizer=dl.NormalizerStandardize(), listeners=listener
    )
    assert listener.result.total_epochs == 1


def test_reconstructions_need_no_labels(rng, data):
    auto = dl.AutoEncoder(n_out=4, loss="mse")
    conf = dl.MultiLayerConfiguration(
        input=dl.FeedForward(size=5), layers=[auto, dl.Output(n_out=3)]
    )

    def stopping(features):
        calculator = dl.AutoencoderScoreCalculator("MSE", dl.DataSet(features))
        return dl.EarlyStopping(calculator)

    network = dl.MultiLayerNetwork(conf)
    network.pretrain(data, batch_size=10, listeners=stopping(data.features))
    wrong = stopping(data.features[:, :4])
    with pytest.raises(ShapeError, match=r"^validation: .*got \(40, 4\)"):
        network.pretrain(data, batch_size=10, listeners=wrong)


def test_what_yields_once_is_refused_where_it_is_read_in_several_epochs(network, data):
    listener = dl.EarlyStopping(iter([data]))
    with pytest.raises(OptionError, match=r"each of 2 epochs, got list_iterator"):
        network.fit(data, epochs=2, batch_size=10, listeners=listener)
    assert network.iteration_count == 0
    network.fit(data, batch_size=10, listeners=dl.EarlyStopping(iter([data])))


@pytest.mark.parametrize("as_files", [False, True])
def test_what_a_layer_cannot_restore_has_no_probability(rng, tmp_path, as_files):
    rows = rng.random((ROWS, 4), dtype=np.float32)
    network = dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=dl.FeedForward(size=4),
            layers=[
                dl.VariationalAutoencoder(
                    n_out=2, reconstruction_distribution="bernoulli"
                ),
                dl.Output(n_out=2),
            ],
        )
    )
    bad = rows.copy()
    bad[7, 1] = 1000
    data = bad
    if as_files:
        data = str(tmp_path / "bad.csv")
        np.savetxt(data, bad, delimiter=",", header="a,b,c,d", comments="")
    how = {"features": ["a", "b", "c", "d"], "header": True} if as_files else {}
    listener = dl.EarlyStopping(dl.VAEReconProbScoreCalculator(data, **how))
    with pytest.raises(DataError, match=r"from 0 to 1, got 1000\.0 in row 7"):
        network.pretrain(rows, epochs=2, batch_size=10, listeners=listener)
    if not as_files:
        assert network.iteration_count == 0
