"""A network for every kind of layer, with the options that change what it computes."""

import daskdl as dl
from daskdl.nn.conf.input_type import (
    Convolutional,
    ConvolutionalFlat,
    FeedForward,
)
from tests.dl4j.convolution_networks import CONVOLUTIONS
from tests.dl4j.networks import (
    IMAGES,
    IMAGES_LAST,
    LONG_SERIES,
    RANDOM,
    ROWS,
    SERIES,
    VOLUMES,
    between,
    conv,
    dense,
    global_pool,
    lstm,
    masked,
    out,
    pooled,
    rnn_out,
    same,
    simple,
    trial,
)

NUMBERS = {0: "numbers below 7"}

VECTORS = [[i / 7, 1 - i / 7] for i in range(7)]

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
    # With configure_r DL4J would forget r when it loads the file.
    "one-class": trial(
        ROWS,
        dense(n_out=5),
        dl.OCNNOutput(hidden_size=3, nu=0.3, configure_r=False, activation="sigmoid"),
        not_trained="DL4J goes on in the first epoch only, see test_one_class.py",
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
    "frozen": trial(
        ROWS,
        dl.Frozen(layer=dense(n_out=5)),
        dl.Frozen(layer=dl.BatchNormalization()),
        dense(n_out=4),
        out(),
    ),
    "frozen with backprop": trial(
        ROWS, dense(n_out=5), dl.FrozenWithBackprop(layer=dense(n_out=4)), out()
    ),
    "repeat vector": trial(ROWS, dense(n_out=4), dl.RepeatVector(n=5), rnn_out()),
    "embedding": trial(
        FeedForward(size=1),
        dl.Embedding(n_in=7, n_out=4, has_bias=True),
        out(),
        features=NUMBERS,
    ),
    "embedding, vectors": trial(
        FeedForward(size=1),
        dl.Embedding(
            n_in=7, n_out=2, weight_init={"type": "embedding", "weights": VECTORS}
        ),
        out(),
        features=NUMBERS,
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
        IMAGES_LAST, conv(3), dl.Subsampling(), dl.BatchNormalization(), out()
    ),
    "global pooling, channels last": trial(IMAGES_LAST, conv(3), global_pool(), out()),
    "cnn loss, channels last": trial(
        IMAGES_LAST,
        same(3),
        dl.CnnLoss(),
        miscounted="its softmax runs along the height",
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
        not_trained="a DataSet has as many labels as features",
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
    "zero padding 3d": trial(
        VOLUMES, dl.ZeroPadding3D(padding=(1, 0, 2, 1, 0, 1)), global_pool(), out()
    ),
    "cropping 3d": trial(
        VOLUMES,
        dl.Cropping3D(cropping=(1, 0, 2, 1, 0, 1)),
        global_pool(),
        out(),
        fails_in_training="Array workspace validation failed",
    ),
    "cnn3d loss": trial(
        VOLUMES,
        dl.Convolution3D(n_out=3, kernel_size=1, activation="identity"),
        dl.Cnn3DLoss(),
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
        SERIES, dl.LastTimeStep(layer=dl.Bidirectional(layer=simple())), out()
    ),
    "last time step": pooled(SERIES, dl.LastTimeStep(layer=lstm()), out()),
    "mask zero": trial(
        SERIES,
        dl.MaskZero(layer=simple(), masking_value=0.0),
        rnn_out(),
        features={0: "zeros at the end"},
    ),
    "mask": masked(SERIES, simple(), dl.Mask(), rnn_out()),
    # With masks DL4J drops steps of other examples.
    "time distributed": trial(
        SERIES, dl.TimeDistributed(layer=dense(n_out=4)), rnn_out()
    ),
    "dense on series": masked(SERIES, dense(n_out=4), lstm(), rnn_out()),
    "rnn loss": masked(SERIES, lstm(n_out=2), dl.RnnLoss()),
    "embedding sequence": pooled(
        FeedForward(size=None),
        dl.EmbeddingSequence(n_in=7, n_out=4),
        global_pool(),
        out(),
        features=NUMBERS,
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
    "learned self attention": pooled(
        SERIES,
        dl.LearnedSelfAttention(n_out=6, n_heads=2, project_input=True, n_queries=2),
        global_pool(),
        out(),
        fails="Op with name scatter_update",
    ),
    "recurrent attention": pooled(
        SERIES, dl.RecurrentAttention(n_out=4, n_heads=2), global_pool(), out()
    ),
    "subsampling 1d": trial(LONG_SERIES, simple(), dl.Subsampling1D(), rnn_out()),
    "subsampling 1d, padding": trial(
        LONG_SERIES,
        dl.Subsampling1D(pooling_type="avg", kernel_size=3, stride=2, padding=1),
        simple(),
        rnn_out(),
    ),
    "upsampling 1d": trial(LONG_SERIES, dl.Upsampling1D(), simple(), rnn_out()),
    "zero padding 1d": trial(
        LONG_SERIES, dl.ZeroPadding1D(padding=(1, 2)), simple(), rnn_out()
    ),
    "cropping 1d": trial(
        LONG_SERIES, dl.Cropping1D(cropping=(1, 2)), simple(), rnn_out()
    ),
}

SEQUENCES = {**ON_ROWS, **ON_IMAGES, **CONVOLUTIONS, **ON_VOLUMES, **ON_SERIES}
