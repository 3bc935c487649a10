"""Scores of pretraining: what layers restore, without labels."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import OptionError
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.tallies import Tally

N_IN = 4


@pytest.fixture
def x(rng):
    return rng.uniform(0.1, 0.9, (30, N_IN))


def network(*layers, **options):
    conf = dl.MultiLayerConfiguration(
        layers=[*layers, dl.Output(n_out=2)],
        input=dl.FeedForward(size=N_IN),
        activation="sigmoid",
        updater=dl.Adam(learning_rate=0.02),
        dtype="float64",
        **options,
    )
    return dl.MultiLayerNetwork(conf)


def variational(distribution="bernoulli", **options):
    return dl.VariationalAutoencoder(
        n_out=2,
        encoder_layer_sizes=[3],
        decoder_layer_sizes=[3],
        reconstruction_distribution=distribution,
        **options,
    )


def sigmoid(preout):
    return 1 / (1 + np.exp(-preout))


def score_of(calculator, net):
    return calculator.calculate_score(Fit((), 1, lambda: net))


def dense(net, part, x):
    table = net.param_table()
    return x @ table[f"0_{part}W"] + table[f"0_{part}b"]


def decoded(net, causes):
    return dense(net, "pXZ", sigmoid(dense(net, "d0", causes)))


def test_an_autoencoder_restores_by_its_weights_used_twice(x):
    net = network(dl.AutoEncoder(n_out=3, corruption_level=0.5))
    table = net.param_table()
    hidden = sigmoid(x @ table["0_W"] + table["0_b"])
    restored = sigmoid(hidden @ table["0_W"].T + table["0_vb"])
    score = score_of(dl.AutoencoderScoreCalculator("MSE", x), net)
    assert score == pytest.approx(np.mean((restored - x) ** 2))


MEANS = {
    "bernoulli": sigmoid,
    "gaussian": lambda preout: preout[:, :N_IN],
    "exponential": lambda preout: np.exp(-preout),
    "loss_wrapper": lambda preout: preout,
}


@pytest.mark.parametrize("kind", MEANS)
def test_a_variational_autoencoder_restores_at_the_mean_of_its_causes(x, kind):
    net = network(variational({"type": kind}))
    causes = dense(net, "pZXMean", sigmoid(dense(net, "e0", x)))
    restored = MEANS[kind](decoded(net, causes))
    score = score_of(dl.VAEReconErrorScoreCalculator("MAE", x), net)
    assert score == pytest.approx(np.mean(np.abs(restored - x)))


def test_parts_of_a_composite_are_restored_each_by_its_own(x):
    parts = [{"type": "gaussian"}, {"type": "exponential"}]
    net = network(
        variational({"type": "composite", "sizes": [3, 1], "distributions": parts})
    )
    causes = dense(net, "pZXMean", sigmoid(dense(net, "e0", x)))
    preout = decoded(net, causes)
    restored = np.concatenate([preout[:, :3], np.exp(-preout[:, 6:])], axis=1)
    score = score_of(dl.VAEReconErrorScoreCalculator("MSE", x), net)
    assert score == pytest.approx(np.mean((restored - x) ** 2))


def test_the_probability_is_the_mean_over_draws(x):
    """By Monte Carlo with other draws, within what these leave open."""
    net = network(variational())
    hidden = sigmoid(dense(net, "e0", x))
    mean, log_variance = (
        dense(net, f"pZX{one}", hidden) for one in ("Mean", "LogStd2")
    )
    draws = np.random.default_rng(0).standard_normal((4000, 1, 2))
    p = sigmoid(decoded(net, mean + np.exp(log_variance / 2) * draws))
    expected = (x * np.log(p) + (1 - x) * np.log(1 - p)).sum(axis=2).mean()
    calculator = dl.VAEReconProbScoreCalculator(x, num_samples=2000)
    assert score_of(calculator, net) == pytest.approx(expected, abs=0.02)


def test_a_probability_is_no_logarithm(x):
    net = network(variational())
    how = {"num_samples": 1}
    logarithm = score_of(dl.VAEReconProbScoreCalculator(x[:1], **how), net)
    plain = score_of(dl.VAEReconProbScoreCalculator(x[:1], log_prob=False, **how), net)
    assert plain == pytest.approx(np.exp(logarithm))


def test_a_sum_is_the_mean_times_the_examples(x):
    net = network(variational())
    mean = score_of(dl.VAEReconProbScoreCalculator(x), net)
    total = score_of(dl.VAEReconProbScoreCalculator(x, average=False), net)
    assert total == pytest.approx(30 * mean)


@pytest.mark.parametrize("batch_size", [1, 7, 64])
def test_how_data_are_cut_changes_no_score(x, batch_size):
    net = network(variational())
    whole, cut = (
        score_of(dl.VAEReconProbScoreCalculator(x, batch_size=size), net)
        for size in (30, batch_size)
    )
    assert cut == pytest.approx(whole)


def test_labels_are_not_looked_at(x):
    net = network(variational())
    labelled = dl.DataSet(x, np.full((30, 9), np.nan))
    scores = [dl.VAEReconErrorScoreCalculator("MSE", one) for one in (x, labelled)]
    assert score_of(scores[0], net) == score_of(scores[1], net)


def test_what_a_layer_behind_others_restores_is_what_reaches_it(x):
    net = network(dl.Dense(n_out=3), dl.AutoEncoder(n_out=2, corruption_level=0))
    reached = sigmoid(dense(net, "", x))
    table = net.param_table()
    hidden = sigmoid(reached @ table["1_W"] + table["1_b"])
    restored = sigmoid(hidden @ table["1_W"].T + table["1_vb"])
    score = score_of(dl.AutoencoderScoreCalculator("MSE", x), net)
    assert score == pytest.approx(np.mean((restored - reached) ** 2))


def test_a_tally_of_parts_is_that_of_the_whole(x):
    net = network(variational())
    seen = []

    class Looking(Fit):
        def tally(self, data, empty, **how):
            seen.append(empty)
            return super().tally(data, empty, **how)

    for calculator in (
        dl.VAEReconErrorScoreCalculator("MSE", x),
        dl.VAEReconProbScoreCalculator(x),
    ):
        calculator.calculate_score(Looking((), 1, lambda: net))
    for empty in seen:
        parts: list[Tally] = [empty.new_instance() for _ in range(2)]
        for part, rows in zip(parts, (x[:11], x[11:]), strict=True):
            part.add(net, dl.DataSet(rows))
        parts[0].merge(parts[1])
        whole = empty.new_instance()
        whole.add(net, dl.DataSet(x))
        if hasattr(whole, "total"):
            assert parts[0].total == pytest.approx(whole.total)
        else:
            merged = parts[0].evaluation.score_for_metric("MSE")
            assert merged == pytest.approx(whole.evaluation.score_for_metric("MSE"))


def test_pretraining_ends_when_it_no_longer_improves(x):
    net = network(variational(), seed=1)
    stopping = dl.EarlyStopping(
        dl.VAEReconErrorScoreCalculator("MSE", x),
        dl.BestScoreEpochTerminationCondition(0.055),
    )
    net.pretrain(x, epochs=500, batch_size=10, listeners=stopping)
    assert stopping.result.best_model_score < 0.055
    assert stopping.result.total_epochs < 500
    assert "validation_mse" in net.last_fit.epochs[-1].values


def test_the_layer_may_be_chosen(x):
    net = network(dl.AutoEncoder(n_out=3), dl.AutoEncoder(n_out=2))
    one, two = (
        score_of(dl.AutoencoderScoreCalculator("MSE", x, layer=layer), net)
        for layer in ("layer1", None)
    )
    assert one != two


REFUSED = {
    "kind": (
        dl.VAEReconErrorScoreCalculator("MSE", None),
        dl.AutoEncoder(n_out=2),
        "the layer must be of kind VariationalAutoencoder, got AutoEncoder",
    ),
    "none": (
        dl.AutoencoderScoreCalculator("MSE", None),
        dl.Dense(n_out=2),
        "the layer must be of kind AutoEncoder, got no layer that can be",
    ),
    "name": (
        dl.AutoencoderScoreCalculator("MSE", None, layer="nobody"),
        dl.AutoEncoder(n_out=2),
        "layer must be one that can be pretrained",
    ),
    "loss": (
        dl.VAEReconProbScoreCalculator(None),
        variational({"type": "loss_wrapper"}),
        "got a loss, which has no probabilities. Use VAEReconErrorScoreCalculator",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_network_without_such_a_score_is_refused(case):
    calculator, layer, message = REFUSED[case]
    with pytest.raises(OptionError, match=message):
        calculator.check(network(layer))


@pytest.mark.parametrize("metric", ["PC", "R2"])
def test_of_some_metrics_more_is_better(x, metric):
    assert not dl.AutoencoderScoreCalculator(metric, x).minimize_score
    assert dl.AutoencoderScoreCalculator("RMSE", x).minimize_score
    assert not dl.VAEReconProbScoreCalculator(x).minimize_score


def test_a_score_says_what_it_is(x):
    words = dl.AutoencoderScoreCalculator("MSE", x, layer="a").in_words()
    assert words == "AutoencoderScoreCalculator('MSE') of layer 'a'"
    words = dl.VAEReconProbScoreCalculator(x, num_samples=3).in_words()
    assert words == (
        "VAEReconProbScoreCalculator(num_samples=3, log_prob=True, average=True)"
    )
    # By position as in DL4J.
    words = dl.VAEReconProbScoreCalculator(x, 3, False, False).in_words()
    assert words == (
        "VAEReconProbScoreCalculator(num_samples=3, log_prob=False, average=False)"
    )
