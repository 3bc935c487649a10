"""Pretraining of autoencoders: gradients, scores, and what is left to labels."""

import numpy as np
import pytest

from daskdl import AutoEncoder, Dense, VariationalAutoencoder
from daskdl.dialects import DL4J, EXACT, quirks_of
from daskdl.errors import OptionError
from daskdl.nn.conf.input_type import Convolutional, FeedForward, Recurrent
from daskdl.nn.conf.values import with_quirks
from daskdl.nn.run import Run
from tests.gradients import check_gradient
from tests.unit.layers.single import Single

ROWS = FeedForward(size=4)


@pytest.fixture
def x(rng):
    return rng.uniform(0.1, 0.9, (5, 4))


def auto_encoder(dialect=EXACT, **options):
    conf = AutoEncoder(
        **{"n_out": 3, "activation": "sigmoid", "corruption_level": 0, **options}
    )
    return Single(with_quirks(conf, quirks_of(dialect)), ROWS)


def vae(**options):
    conf = VariationalAutoencoder(
        **{
            "n_out": 2,
            "encoder_layer_sizes": (5, 4),
            "decoder_layer_sizes": (3, 4),
            "pzx_activation": "tanh",
            **options,
        }
    )
    return Single(conf, ROWS)


def pretrain(single, x, seed=1):
    single.layer.arrived = x
    return single.layer.pretrain(rng=np.random.default_rng(seed), batch_size=len(x))


def gradient_of_pretraining(single, x):
    def loss_and_grad(vector):
        single.params[...] = vector
        return pretrain(single, x), single.gradients

    return loss_and_grad


def start(single, rng):
    return single.params + 0.3 * rng.standard_normal(single.params.size)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"activation": "tanh"},
        {"activation": "swish"},
        {"activation": "softmax", "loss": "l2"},
        {"loss": "kl_divergence"},
        {"corruption_level": 0.4},
        {"sparsity": 0.3},
    ],
    ids=str,
)
def test_an_autoencoder_descends_its_error(x, rng, options):
    single = auto_encoder(**options)
    check_gradient(gradient_of_pretraining(single, x), start(single, rng))


def test_in_dl4j_it_ascends_the_cross_entropy_of_a_sigmoid(x):
    """Its recordings say so."""
    up, down = auto_encoder(DL4J), auto_encoder(loss="xent")
    for single in (up, down):
        pretrain(single, x)
    np.testing.assert_allclose(up.gradients, -down.gradients, rtol=1e-12)


@pytest.mark.parametrize(
    ("dialect", "activation", "expected"),
    [
        (EXACT, "sigmoid", "xent"),
        (EXACT, {"type": "leakyrelu", "alpha": 0.1}, "mse"),
        (DL4J, "sigmoid", "kl_divergence"),
    ],
)
def test_the_usual_error_is_that_of_the_activation(dialect, activation, expected):
    assert auto_encoder(dialect, activation=activation).resolved.loss == expected


def test_sparsity_costs_what_hidden_units_are(x):
    sparse, plain = auto_encoder(sparsity=0.3), auto_encoder()
    hidden = plain.forward(x, training=False)
    more = pretrain(sparse, x) - pretrain(plain, x)
    assert more == pytest.approx(0.3 * np.abs(hidden).sum())


def test_corruption_sets_its_share_of_the_input_to_zero(rng):
    x = rng.uniform(0.1, 0.9, (20_000, 4))
    single = auto_encoder(corruption_level=0.3)
    corrupted = single.resolved._corrupted(Run({}, {}), x, np.random.default_rng(1))
    np.testing.assert_allclose((corrupted == 0).mean(), 0.3, atol=0.01)


def test_the_score_is_of_the_reconstruction(x):
    single = auto_encoder(loss="mse")
    weight, bias, visible = single.layout.views(single.params).values()
    hidden = 1 / (1 + np.exp(-(x @ weight + bias)))
    restored = 1 / (1 + np.exp(-(hidden @ weight.T + visible)))
    expected = ((x - restored) ** 2).sum() / 4
    np.testing.assert_allclose(pretrain(single, x), expected)


def test_sparsity_takes_the_place_of_the_slope_in_dl4j(x):
    single = auto_encoder(DL4J, sparsity=0.2)
    pretrain(single, x)
    weight, bias, visible = single.layout.views(single.params).values()
    hidden = 1 / (1 + np.exp(-(x @ weight + bias)))
    missing = x - 1 / (1 + np.exp(-(hidden @ weight.T + visible)))
    expected = (missing @ weight * hidden * (hidden - 0.2)).sum(axis=0)
    np.testing.assert_allclose(single.layer.run.gradients["b"], expected)


def test_images_are_restored_as_rows(rng):
    images = Convolutional(height=2, width=1, channels=2)
    conf = AutoEncoder(n_out=3, corruption_level=0, activation="sigmoid")
    of_images, of_rows = Single(conf, images), Single(conf, ROWS)
    pixels = rng.uniform(0.1, 0.9, (5, 2, 1, 2))
    pretrain(of_images, pixels)
    pretrain(of_rows, pixels.transpose(0, 3, 1, 2).reshape(5, 4))
    np.testing.assert_allclose(of_images.gradients, of_rows.gradients)


@pytest.mark.parametrize(
    "distribution",
    [
        "gaussian",
        "bernoulli",
        {"type": "loss_wrapper", "loss": "mse", "activation": "sigmoid"},
        {
            "type": "composite",
            "sizes": (1, 3),
            "distributions": ("exponential", "gaussian"),
        },
    ],
)
@pytest.mark.parametrize("num_samples", [1, 3])
def test_a_variational_autoencoder_descends_the_negative_bound(
    x, rng, distribution, num_samples
):
    single = vae(reconstruction_distribution=distribution, num_samples=num_samples)
    check_gradient(gradient_of_pretraining(single, x), start(single, rng))


def test_also_where_activations_need_what_was_before_them(x, rng):
    single = vae(activation="swish", pzx_activation="gelu")
    check_gradient(gradient_of_pretraining(single, x), start(single, rng))


def test_its_score_has_the_divergence_from_a_standard_normal(x):
    """With all weights 0 there is none, and nothing but the reconstruction counts."""
    single = vae(reconstruction_distribution="bernoulli")
    single.params.fill(0)
    np.testing.assert_allclose(pretrain(single, x), 5 * 4 * np.log(2))


def test_several_samples_are_averaged(x):
    """Where nothing is random about them, one is as good as many."""
    one, many = vae(num_samples=1), vae(num_samples=7)
    for single in (one, many):
        single.layer.run.params["pXZW"][...] = 0
    np.testing.assert_allclose(pretrain(one, x), pretrain(many, x))


def test_the_samples_are_those_of_the_stream(x):
    assert pretrain(vae(), x, seed=1) != pretrain(vae(), x, seed=2)


def test_as_a_layer_it_is_the_mean_of_the_hidden_causes(x):
    single = vae()
    found = single.forward(x)
    views = single.layout.views(single.params)
    for part in ("e0", "e1", "pZXMean"):
        x = np.tanh(x @ views[f"{part}W"] + views[f"{part}b"])
    np.testing.assert_allclose(found, x)


@pytest.mark.parametrize(
    ("single", "expected"),
    [
        (auto_encoder, {"vb"}),
        (
            vae,
            {
                f"{part}{ending}"
                for part in ("pZXLogStd2", "d0", "d1", "pXZ")
                for ending in "Wb"
            },
        ),
    ],
)
def test_labels_do_not_reach_what_only_pretraining_needs(single, expected, x):
    layer = single().layer
    pretrained = {
        item.name
        for item in layer.conf.parameters(layer.input_type)
        if item.is_pretraining
    }
    assert pretrained == expected


def test_its_parameters_lie_in_dl4js_order():
    layer = vae().layer
    names = [item.name for item in layer.conf.parameters(layer.input_type)]
    parts = ["e0", "e1", "pZXMean", "pZXLogStd2", "d0", "d1", "pXZ"]
    assert names == [f"{part}{ending}" for part in parts for ending in "Wb"]


@pytest.mark.parametrize(
    ("conf", "input_type", "message"),
    [
        (AutoEncoder(n_out=2), Recurrent(size=3), "AutoEncoder needs rows or images"),
        (
            AutoEncoder(n_out=2, loss={"type": "mse", "weights": (1, 2)}),
            ROWS,
            "must hold a number for each of 4 outputs",
        ),
        (
            VariationalAutoencoder(n_out=2),
            Recurrent(size=3),
            "VariationalAutoencoder needs rows",
        ),
        (
            VariationalAutoencoder(
                n_out=2,
                reconstruction_distribution={
                    "type": "composite",
                    "sizes": (3,),
                    "distributions": ("gaussian",),
                },
            ),
            ROWS,
            r"reconstruction_distribution\.sizes: must add up to 4",
        ),
        (VariationalAutoencoder(n_out=2, n_in=3), ROWS, "^n_in: must be 4"),
    ],
)
def test_what_does_not_fit_is_refused(conf, input_type, message):
    with pytest.raises(OptionError, match=message):
        conf.output_type(input_type)


def test_other_layers_cannot_be_pretrained(x):
    single = Single(Dense(n_out=2), ROWS)
    single.forward(x)
    with pytest.raises(OptionError, match="Dense 'me': must be an autoencoder to be"):
        single.layer.pretrain(rng=np.random.default_rng(1), batch_size=5)
