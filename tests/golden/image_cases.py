"""Networks that pool, resize and measure images, as the generator built them."""

import daskdl as dl
from daskdl.nn.conf.input_type import Convolutional, Convolutional3D, Recurrent

IMAGES = Convolutional(height=6, width=7, channels=2)
SERIES = Recurrent(size=3)
LONG_SERIES = Recurrent(size=3, time_steps=8)
VOLUMES = Convolutional3D(depth=4, height=5, width=4, channels=2)


def sequence(input_type, *layers):
    return dl.MultiLayerConfiguration(
        input=input_type,
        layers=layers,
        activation="tanh",
        updater={"type": "adam", "learning_rate": 0.01},
    )


def out():
    return dl.Output(n_out=3, activation="softmax")


def conv(n_out, kernel_size=2, **options):
    return dl.Convolution2D(n_out=n_out, kernel_size=kernel_size, **options)


def linear(n_out):
    """A convolution that keeps the size of its images, for a loss at each pixel."""
    return conv(n_out, 3, convolution_mode="same", activation="identity")


def conv1d(n_out):
    return dl.Convolution1D(n_out=n_out, kernel_size=2)


def conv3d(n_out, kernel_size=2, **options):
    return dl.Convolution3D(n_out=n_out, kernel_size=kernel_size, **options)


def global_pool(pooling_type="avg", **options):
    return dl.GlobalPooling(pooling_type=pooling_type, **options)


def padded_volumes():
    return dl.ZeroPadding3D(padding=(1, 0, 2, 1, 0, 1))


def cropped_volumes():
    return dl.Cropping3D(cropping=(1, 0, 1, 1, 0, 1))


def subsampling(**options):
    return sequence(IMAGES, conv(3), dl.Subsampling(**options), out())


def windows(pooling_type, **options):
    pnorm = {"pnorm": 3} if pooling_type == "pnorm" else {}
    return subsampling(
        pooling_type=pooling_type, kernel_size=(3, 2), **pnorm, **options
    )


def between(n_out, layer):
    return sequence(IMAGES, conv(n_out), layer, out())


KINDS = ("max", "avg", "sum", "pnorm")

MODELS = {
    **{f"subsampling_{kind}_truncate": windows(kind) for kind in KINDS},
    **{
        f"subsampling_{kind}_same": windows(kind, convolution_mode="same")
        for kind in KINDS
    },
    "subsampling_avg_padding": subsampling(
        pooling_type="avg", kernel_size=3, padding=1
    ),
    "subsampling_avg_padding_incl": subsampling(
        pooling_type="avg", kernel_size=3, padding=1, include_padding=True
    ),
    "subsampling_max_padding_dil": subsampling(
        kernel_size=2, stride=1, padding=1, dilation=2
    ),
    "subsampling_pnorm2": sequence(
        IMAGES, dl.Subsampling(pooling_type="pnorm", pnorm=2), out()
    ),
    "upsampling2d": between(2, dl.Upsampling2D()),
    "upsampling2d_23": between(2, dl.Upsampling2D(size=(2, 3))),
    "zeropadding2d": between(2, dl.ZeroPadding(padding=(1, 2, 0, 3))),
    "cropping2d": between(2, dl.Cropping2D(cropping=(1, 0, 2, 1))),
    "lrn": between(6, dl.LocalResponseNormalization(k=1.5, n=3, alpha=0.01, beta=0.6)),
    "lrn_default": between(6, dl.LocalResponseNormalization()),
    "spacetodepth": sequence(
        Convolutional(height=4, width=6, channels=2),
        conv(2, 3, convolution_mode="same"),
        dl.SpaceToDepth(block_size=2),
        out(),
    ),
    "spacetobatch": sequence(
        Convolutional(height=4, width=4, channels=2),
        conv(2, 3, convolution_mode="same"),
        dl.SpaceToBatch(blocks=2),
        global_pool(),
        out(),
    ),
    "cnnloss": sequence(IMAGES, linear(3), dl.CnnLoss(activation="softmax")),
    "cnnloss_mask": sequence(
        IMAGES, linear(3), dl.CnnLoss(loss="xent", activation="sigmoid")
    ),
    "cnnloss_nhwc": sequence(
        IMAGES.replaced(data_format="NHWC"),
        linear(3),
        dl.CnnLoss(activation="softmax"),
    ),
    **{
        f"globalpool_cnn_{kind}": between(4, global_pool(kind, pnorm=3))
        for kind in KINDS
    },
    **{
        f"globalpool_rnn_{kind}_mask": sequence(
            SERIES, dl.SimpleRnn(n_out=4), global_pool(kind, pnorm=3), out()
        )
        for kind in KINDS
    },
    "globalpool_cnn_nocollapse": between(4, global_pool(collapse_dimensions=False)),
    "yolo2": sequence(
        Convolutional(height=4, width=5, channels=2),
        linear(16),
        dl.Yolo2Output(bounding_boxes=[(1.0, 1.5), (2.0, 1.0)]),
    ),
    "subsampling1d_mask": sequence(
        LONG_SERIES,
        dl.Subsampling1D(stride=2),
        dl.SimpleRnn(n_out=3),
        dl.RnnOutput(n_out=2, activation="softmax"),
    ),
    "upsampling1d": sequence(
        LONG_SERIES, dl.Upsampling1D(), global_pool("pnorm"), out()
    ),
    "subsampling3d_max_pool": sequence(
        VOLUMES,
        dl.Subsampling3D(kernel_size=2, stride=(2, 1, 2), convolution_mode="same"),
        global_pool(),
        out(),
    ),
    "subsampling3d_avg_pool": sequence(
        VOLUMES,
        dl.Subsampling3D(
            pooling_type="avg",
            kernel_size=(2, 3, 2),
            stride=(1, 2, 1),
            convolution_mode="same",
        ),
        global_pool(),
        out(),
    ),
    "subsampling3d_max": sequence(
        VOLUMES,
        dl.Subsampling3D(kernel_size=2, stride=(2, 1, 2), convolution_mode="same"),
        out(),
    ),
    "subsampling3d_avg": sequence(
        VOLUMES,
        dl.Subsampling3D(
            pooling_type="avg",
            kernel_size=(2, 3, 2),
            stride=1,
            convolution_mode="same",
        ),
        out(),
    ),
    "upsampling3d": sequence(
        VOLUMES, dl.Upsampling3D(size=(1, 2, 2)), global_pool("pnorm"), out()
    ),
    # The builder of DL4J's Subsampling1DLayer forgets the kind: all three are "max".
    **{
        f"subsampling1d_{kind}": sequence(
            LONG_SERIES,
            conv1d(4),
            dl.Subsampling1D(kernel_size=3, stride=2),
            global_pool(),
            out(),
        )
        for kind in ("max", "avg", "pnorm")
    },
    "zeropadding1d_cropping1d": sequence(
        LONG_SERIES,
        dl.ZeroPadding1D(padding=(1, 2)),
        conv1d(3),
        dl.Cropping1D(cropping=(2, 1)),
        global_pool(),
        out(),
    ),
    "zeropadding3d_pool": sequence(
        VOLUMES, padded_volumes(), conv3d(2), global_pool(), out()
    ),
    "cropping3d_pool": sequence(
        VOLUMES, conv3d(2), cropped_volumes(), global_pool(), out()
    ),
    "zeropadding3d": sequence(VOLUMES, padded_volumes(), conv3d(2), out()),
    "cropping3d": sequence(VOLUMES, cropped_volumes(), conv3d(2), out()),
    "globalpool_3d": sequence(VOLUMES, conv3d(3), global_pool(), out()),
    "cnn3dloss": sequence(
        VOLUMES,
        conv3d(2, 3, convolution_mode="same", activation="identity"),
        dl.Cnn3DLoss(activation="softmax"),
    ),
}
