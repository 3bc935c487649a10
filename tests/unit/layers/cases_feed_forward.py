"""The rows of layers on rows, of dropout, noise and frozen layers."""

import daskdl as conf
from daskdl.nn.conf.input_type import FeedForward, Recurrent
from tests.unit.layers.case import IMAGES, ROWS, SERIES, STEPS, VOLUMES, Case

ONE_NUMBER = FeedForward(size=1)
NUMBERS = FeedForward(size=STEPS)
SERIES_OF_NUMBERS = Recurrent(size=1)
LAST_CHANNELS = IMAGES.replaced(data_format="NHWC")
KNOWN_SERIES = Recurrent(size=3, time_steps=STEPS)


def rows(layer, **options):
    return Case(layer, ROWS, **options)


def numbers(layer, input_type, **options):
    return Case(layer, input_type, n_numbers=5, **options)


def norm(**options):
    return conf.BatchNormalization(**options)


def vae(distribution, **options):
    return rows(
        conf.VariationalAutoencoder(
            n_out=2,
            encoder_layer_sizes=(4, 3),
            decoder_layer_sizes=(3,),
            reconstruction_distribution=distribution,
            **options,
        )
    )


FEED_FORWARD_CASES = {
    "dense, layer norm": rows(conf.Dense(n_out=4, has_layer_norm=True)),
    "dense, layer norm, no bias": rows(
        conf.Dense(n_out=4, has_layer_norm=True, has_bias=False)
    ),
    "dense, layer norm, masked": Case(
        conf.Dense(n_out=4, has_layer_norm=True), SERIES, is_masked=True
    ),
    "dense on images, channels last": Case(conf.Dense(n_out=4), LAST_CHANNELS),
    "dense on volumes": Case(conf.Dense(n_out=4), VOLUMES),
    "dense, alpha dropout": rows(
        conf.Dense(n_out=4, dropout={"type": "alpha_dropout", "keep_probability": 0.6})
    ),
    "dense, gaussian dropout": rows(
        conf.Dense(n_out=4, dropout={"type": "gaussian_dropout", "rate": 0.4})
    ),
    "dense, gaussian noise": rows(
        conf.Dense(n_out=4, dropout={"type": "gaussian_noise", "stddev": 0.3})
    ),
    "dense on series, spatial dropout": Case(
        conf.Dense(
            n_out=4, dropout={"type": "spatial_dropout", "keep_probability": 0.5}
        ),
        SERIES,
    ),
    "dense, weight noise": rows(
        conf.Dense(
            n_out=4,
            weight_noise={
                "type": "weight_noise",
                "distribution": {"type": "normal", "std": 0.1},
                "apply_to_bias": True,
            },
        )
    ),
    "batch normalization of series": Case(norm(), SERIES, mixes_examples=True),
    "batch normalization of volumes": Case(norm(), VOLUMES, mixes_examples=True),
    "batch normalization, variance": rows(norm(use_log_std=False), mixes_examples=True),
    "loss layer": rows(conf.LossLayer()),
    "loss layer, mse": rows(conf.LossLayer(loss="mse", activation="tanh")),
    "center loss output": rows(
        # Only so do the centers move by the gradient of the loss.
        conf.CenterLossOutput(n_out=3, lambda_=0.3, gradient_check=True)
    ),
    "center loss output on images": Case(
        conf.CenterLossOutput(n_out=3, lambda_=0.3, gradient_check=True),
        IMAGES,
    ),
    "one-class output": rows(
        conf.OCNNOutput(hidden_size=3, activation="sigmoid"), has_own_labels=True
    ),
    "one-class output on images": Case(
        conf.OCNNOutput(hidden_size=3), IMAGES, has_own_labels=True
    ),
    "embedding": numbers(conf.Embedding(n_in=5, n_out=3), ONE_NUMBER),
    "embedding, tanh and bias": numbers(
        conf.Embedding(n_in=5, n_out=3, has_bias=True, activation="tanh"), ONE_NUMBER
    ),
    "embedding sequence": numbers(
        conf.EmbeddingSequence(n_in=5, n_out=3, has_bias=True),
        NUMBERS,
        rows_are_steps=True,
    ),
    "embedding sequence, masked": numbers(
        conf.EmbeddingSequence(n_in=5, n_out=3, activation="gelu"),
        NUMBERS,
        is_masked=True,
        rows_are_steps=True,
    ),
    "embedding sequence of series": numbers(
        conf.EmbeddingSequence(n_in=5, n_out=3), SERIES_OF_NUMBERS, is_masked=True
    ),
    "prelu": rows(conf.PReLU(weight_init="ones")),
    "prelu of images": Case(conf.PReLU(weight_init="normal"), IMAGES),
    "prelu of images, shared": Case(
        conf.PReLU(weight_init="normal", shared_axes=(2, 3)), IMAGES
    ),
    "prelu of images, channels last, shared": Case(
        conf.PReLU(weight_init="normal", shared_axes=(1, 2)), LAST_CHANNELS
    ),
    "prelu of series": Case(conf.PReLU(weight_init="normal"), KNOWN_SERIES),
    "prelu of series of any length": Case(
        conf.PReLU(weight_init="normal", shared_axes=2), SERIES
    ),
    "element-wise multiplication": rows(conf.ElementWiseMultiplication()),
    "element-wise multiplication of series, masked": Case(
        conf.ElementWiseMultiplication(activation="swish"), SERIES, is_masked=True
    ),
    "repeat vector": rows(conf.RepeatVector(n=3)),
    "repeat vector, dropout": rows(conf.RepeatVector(n=3, keep_probability=0.5)),
    "auto encoder": rows(conf.AutoEncoder(n_out=4)),
    "auto encoder on images": Case(
        conf.AutoEncoder(n_out=4, activation="sigmoid"), IMAGES
    ),
    "variational autoencoder": vae("gaussian"),
    "variational autoencoder, composite": vae(
        {
            "type": "composite",
            "sizes": (4, 2),
            "distributions": ("bernoulli", "exponential"),
        },
        pzx_activation="tanh",
    ),
    "frozen": rows(
        conf.Frozen(layer=conf.Dense(n_out=4, keep_probability=0.5)),
        passes_gradient=False,
    ),
    "frozen with backprop": rows(
        conf.FrozenWithBackprop(layer=conf.Dense(n_out=4, keep_probability=0.5))
    ),
    "frozen with backprop, batch normalization": rows(
        conf.FrozenWithBackprop(layer=norm(gamma=1.5, beta=0.2))
    ),
}
