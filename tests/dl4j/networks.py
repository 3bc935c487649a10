"""A network for every kind of layer, small enough to be trained in milliseconds."""

from dataclasses import dataclass, field
from typing import Any

import daskdl as dl
from daskdl.nn.conf.defaults import NetworkConf
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    ConvolutionalFlat,
    FeedForward,
    Recurrent,
)

ROWS = FeedForward(size=4)
SERIES = Recurrent(size=3)
# Layers that change the length of series need to know it.
LONG_SERIES = Recurrent(size=3, time_steps=8)
IMAGES = Convolutional(height=6, width=7, channels=2)
VOLUMES = Convolutional3D(depth=4, height=5, width=4, channels=2)


@dataclass(frozen=True)
class Trial:
    """A network, and what its minibatches look like where that does not go by itself.

    Parameters
    ----------
    conf : configuration
        Without its dtype.
    features, labels : mapping of int to str, optional
        What is drawn for an input or output: ``"numbers below 7"``, ...; see
        batches.py.
    has_features_masks, has_labels_masks : bool
        Whether time series have masks.
    not_trained : str, optional
        Why no training is compared.
    """

    conf: Any
    features: dict = field(default_factory=dict)
    labels: dict = field(default_factory=dict)
    has_features_masks: bool = False
    has_labels_masks: bool = False
    not_trained: str | None = None


def sequence(input_type, *layers, **options):
    return dl.MultiLayerConfiguration(
        input=input_type,
        layers=layers,
        **{"activation": "tanh", "updater": ADAM, **options},
    )


def as_graph(conf):
    """Return the layers of a sequence as a graph."""
    names = [f"layer{i}" for i in range(len(conf.layers))]
    options = {option: getattr(conf, option) for option in NetworkConf.model_fields}
    return dl.ComputationGraphConfiguration(
        inputs={"input": conf.input},
        vertices={
            name: layer.replaced(inputs=(before,))
            for name, before, layer in zip(
                names, ["input", *names], conf.layers, strict=False
            )
        },
        outputs=names[-1:],
        **options,
    )


def trial(input_type, *layers, **options):
    return Trial(sequence(input_type, *layers), **options)


def masked(input_type, *layers, **options):
    """A trial on time series of several lengths, with a label for each step."""
    conf = sequence(input_type, *layers)
    return Trial(conf, has_features_masks=True, has_labels_masks=True, **options)


def pooled(input_type, *layers, **options):
    """A trial on time series of several lengths, with a label for each series."""
    return Trial(sequence(input_type, *layers), has_features_masks=True, **options)


ADAM = {"type": "adam", "learning_rate": 0.01}
RANDOM = "DL4J draws other random numbers"


def out(**options):
    return dl.Output(n_out=3, **options)


def rnn_out(**options):
    return dl.RnnOutput(n_out=2, **options)


def conv(n_out=2, kernel_size=2, **options):
    return dl.Convolution2D(n_out=n_out, kernel_size=kernel_size, **options)


def same(n_out):
    return conv(n_out, 3, convolution_mode="same", activation="identity")


def between(n_out, *layers):
    return trial(IMAGES, conv(n_out), *layers, out())


def global_pool(pooling_type="avg", **options):
    return dl.GlobalPooling(pooling_type=pooling_type, **options)


def lstm(n_out=4, **options):
    return dl.LSTM(n_out=n_out, **options)


def simple(n_out=4, **options):
    return dl.SimpleRnn(n_out=n_out, **options)


dense = dl.Dense

ON_ROWS = {
    "dense": trial(ROWS, dense(n_out=5, activation="relu"), out()),
    "dense, no bias": trial(ROWS, dense(n_out=5, has_bias=False), out(has_bias=False)),
    "dense, layer norm": trial(
        ROWS, dense(n_out=5, has_layer_norm=True, gain_init=1.5), out()
    ),
    "dense on flat images": trial(
        ConvolutionalFlat(height=3, width=4, channels=2), conv(), dense(n_out=4), out()
    ),
    "output, mse": trial(ROWS, out(loss="mse")),
    "output, weights": trial(
        ROWS, out(loss={"type": "mcxent", "weights": [0.5, 1.0, 2.0]})
    ),
    "loss": trial(ROWS, dense(n_out=3), dl.LossLayer()),
    "center loss": trial(
        ROWS, dense(n_out=4), dl.CenterLossOutput(n_out=3, alpha=0.1, lambda_=0.05)
    ),
    "activation": trial(
        ROWS,
        dense(n_out=5, activation="identity"),
        dl.Activation(activation={"type": "leakyrelu", "alpha": 0.2}),
        out(),
    ),
    "batch normalization": trial(
        ROWS,
        dense(n_out=5),
        dl.BatchNormalization(),
        dense(n_out=4),
        dl.BatchNormalization(use_log_std=False, decay=0.8, eps=1e-3),
        out(),
    ),
    "batch normalization, locked": trial(
        ROWS,
        dense(n_out=5),
        dl.BatchNormalization(lock_gamma_beta=True, gamma=1.5, beta=0.25),
        out(),
    ),
    "prelu": trial(ROWS, dense(n_out=5, activation="identity"), dl.PReLU(), out()),
    "element-wise multiplication": trial(
        ROWS,
        dense(n_out=5),
        dl.ElementWiseMultiplication(activation="sigmoid"),
        out(),
    ),
    "repeat vector": trial(ROWS, dense(n_out=4), dl.RepeatVector(n=5), rnn_out()),
    "embedding": trial(
        FeedForward(size=1),
        dl.Embedding(n_in=7, n_out=4, has_bias=True),
        out(),
        features={0: "numbers below 7"},
    ),
    "auto encoder": trial(ROWS, dl.AutoEncoder(n_out=5, corruption_level=0.0), out()),
    "variational autoencoder": trial(
        ROWS,
        dl.VariationalAutoencoder(
            n_out=3, encoder_layer_sizes=(6, 5), decoder_layer_sizes=(4,)
        ),
        out(),
    ),
    **{
        f"dropout, {name}": trial(
            ROWS,
            dense(n_out=5),
            dl.Dropout(dropout=dropout),
            out(),
            not_trained=RANDOM,
        )
        for name, dropout in {
            "plain": {"type": "dropout", "keep_probability": 0.6},
            "alpha": {"type": "alpha_dropout", "keep_probability": 0.7},
            "gaussian": {"type": "gaussian_dropout", "rate": 0.4},
            "noise": {"type": "gaussian_noise", "stddev": 0.3},
        }.items()
    },
    "dropout of inputs": trial(
        ROWS, dense(n_out=5, keep_probability=0.7), out(), not_trained=RANDOM
    ),
}

ON_IMAGES = {
    "convolution": between(3, conv(2, (2, 3), stride=(1, 2), padding=(1, 0))),
    "convolution, same": trial(
        IMAGES, conv(3, 3, convolution_mode="same", dilation=2), out()
    ),
    "convolution, strict, no bias": trial(
        IMAGES,
        conv(3, (2, 3), convolution_mode="strict", stride=(2, 1), has_bias=False),
        out(),
    ),
    "convolution, channels last": trial(
        IMAGES.replaced(data_format="NHWC"), conv(3), dl.Subsampling(), out()
    ),
    **{
        f"subsampling, {kind}, {mode}": between(
            3,
            dl.Subsampling(
                pooling_type=kind, pnorm=2, kernel_size=(3, 2), convolution_mode=mode
            ),
        )
        for kind in ("max", "avg", "pnorm")
        for mode in ("truncate", "same")
    },
    "subsampling, counted padding": between(
        3,
        dl.Subsampling(
            pooling_type="avg", kernel_size=3, padding=1, include_padding=True
        ),
    ),
    "upsampling 2d": between(2, dl.Upsampling2D(size=(2, 3))),
    "zero padding": between(2, dl.ZeroPadding(padding=(1, 2, 0, 3))),
    "cropping 2d": between(2, dl.Cropping2D(cropping=(1, 0, 2, 1))),
    "local response normalization": between(
        6, dl.LocalResponseNormalization(k=1.5, n=3, alpha=0.01, beta=0.6)
    ),
    "batch normalization of images": between(
        3, dl.BatchNormalization(), dl.Activation(activation="relu")
    ),
    "prelu of images": trial(
        IMAGES,
        conv(3, activation="identity"),
        dl.PReLU(),
        out(),
    ),
    "space to depth": trial(
        Convolutional(height=4, width=6, channels=2),
        same(2),
        dl.SpaceToDepth(block_size=2),
        out(),
    ),
    "space to batch": trial(
        Convolutional(height=4, width=4, channels=2),
        same(2),
        dl.SpaceToBatch(blocks=2),
        dl.CnnLoss(),
        labels={0: "four times as many"},
    ),
    **{
        f"global pooling of images, {kind}": between(4, global_pool(kind, pnorm=3))
        for kind in ("max", "avg", "sum", "pnorm")
    },
    "cnn loss": trial(IMAGES, same(3), dl.CnnLoss()),
    "yolo2 output": trial(
        Convolutional(height=4, width=5, channels=2),
        same(16),
        dl.Yolo2Output(bounding_boxes=[(1.0, 1.5), (2.0, 1.0)]),
        labels={0: "objects"},
    ),
    "dropout, spatial": trial(
        IMAGES,
        conv(3),
        dl.Dropout(dropout={"type": "spatial_dropout", "keep_probability": 0.5}),
        out(),
        not_trained=RANDOM,
    ),
}

ON_VOLUMES = {
    **{
        f"subsampling 3d, {kind}": trial(
            VOLUMES,
            dl.Subsampling3D(
                pooling_type=kind, kernel_size=2, stride=2, convolution_mode="same"
            ),
            global_pool(),
            out(),
        )
        for kind in ("max", "avg")
    },
    "upsampling 3d": trial(
        VOLUMES, dl.Upsampling3D(size=(1, 2, 2)), global_pool("sum"), out()
    ),
}

ON_SERIES = {
    "lstm": trial(SERIES, lstm(), rnn_out()),
    "lstm, masked": masked(SERIES, lstm(), rnn_out()),
    "lstm, channels last": trial(SERIES.replaced(data_format="NWC"), lstm(), rnn_out()),
    "graves lstm": masked(SERIES, dl.GravesLSTM(n_out=4), rnn_out()),
    "graves bidirectional lstm": masked(
        SERIES, dl.GravesBidirectionalLSTM(n_out=4), rnn_out()
    ),
    "simple rnn": trial(SERIES, simple(), rnn_out()),
    "simple rnn, masked": masked(SERIES, simple(), rnn_out()),
    **{
        f"bidirectional, {mode}": masked(
            SERIES, dl.Bidirectional(layer=lstm(), mode=mode), rnn_out()
        )
        for mode in ("concat", "add", "mul", "average")
    },
    "bidirectional, last step": pooled(
        SERIES, dl.Bidirectional(layer=dl.LastTimeStep(layer=simple())), out()
    ),
    "last time step": pooled(SERIES, dl.LastTimeStep(layer=lstm()), out()),
    "mask zero": trial(
        SERIES,
        dl.MaskZero(layer=simple(), masking_value=0.0),
        rnn_out(),
        features={0: "zeros at the end"},
    ),
    "mask": masked(SERIES, simple(), dl.Mask(), rnn_out()),
    "time distributed": masked(
        SERIES, dl.TimeDistributed(layer=dense(n_out=4)), rnn_out()
    ),
    "dense on series": masked(SERIES, dense(n_out=4), lstm(), rnn_out()),
    "rnn loss": masked(SERIES, lstm(n_out=2), dl.RnnLoss()),
    "embedding sequence": pooled(
        FeedForward(size=5),
        dl.EmbeddingSequence(n_in=7, n_out=4),
        global_pool(),
        out(),
        features={0: "numbers below 7"},
    ),
    **{
        f"global pooling of series, {kind}": pooled(
            SERIES, simple(), global_pool(kind, pnorm=3), out()
        )
        for kind in ("max", "avg", "sum", "pnorm")
    },
    "self attention": pooled(
        SERIES,
        dl.SelfAttention(n_out=6, n_heads=2, project_input=True),
        global_pool(),
        out(),
    ),
    "recurrent attention": pooled(
        SERIES, dl.RecurrentAttention(n_out=4, n_heads=2), global_pool(), out()
    ),
    "subsampling 1d": trial(LONG_SERIES, simple(), dl.Subsampling1D(), rnn_out()),
    "upsampling 1d": trial(LONG_SERIES, dl.Upsampling1D(), simple(), rnn_out()),
    "zero padding 1d": trial(
        LONG_SERIES, dl.ZeroPadding1D(padding=(1, 2)), simple(), rnn_out()
    ),
    "cropping 1d": trial(
        LONG_SERIES, dl.Cropping1D(cropping=(1, 2)), simple(), rnn_out()
    ),
}

SEQUENCES = {**ON_ROWS, **ON_IMAGES, **ON_VOLUMES, **ON_SERIES}
