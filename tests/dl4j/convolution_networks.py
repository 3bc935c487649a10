"""A network for every kind of convolution, and for capsules."""

import daskdl as dl
from daskdl.nn.conf.input_type import Convolutional
from tests.dl4j.networks import (
    IMAGES,
    IMAGES_LAST,
    LONG_SERIES,
    SERIES_LAST,
    VOLUMES,
    VOLUMES_LAST,
    global_pool,
    masked,
    out,
    rnn_out,
    trial,
)

CONVOLUTIONS = {
    "deconvolution 2d": trial(
        IMAGES, dl.Deconvolution2D(n_out=3, kernel_size=(3, 2), stride=2), out()
    ),
    "deconvolution 2d, same": trial(
        IMAGES,
        dl.Deconvolution2D(
            n_out=3, kernel_size=(3, 2), stride=2, convolution_mode="same"
        ),
        out(),
    ),
    "separable convolution 2d": trial(
        IMAGES,
        dl.SeparableConvolution2D(
            n_out=3, kernel_size=(3, 2), stride=(1, 2), depth_multiplier=2
        ),
        out(),
    ),
    "depthwise convolution 2d": trial(
        IMAGES, dl.DepthwiseConvolution2D(kernel_size=(3, 2), depth_multiplier=2), out()
    ),
    "convolutions, channels last": trial(
        IMAGES_LAST,
        dl.SeparableConvolution2D(n_out=3, kernel_size=2),
        dl.DepthwiseConvolution2D(kernel_size=2),
        dl.Deconvolution2D(n_out=3, kernel_size=2),
        out(),
    ),
    "locally connected 2d": trial(
        IMAGES,
        dl.LocallyConnected2D(
            n_out=3, kernel_size=(2, 3), stride=(2, 1), convolution_mode="truncate"
        ),
        out(),
    ),
    "locally connected 2d, same, no bias": trial(
        IMAGES, dl.LocallyConnected2D(n_out=3, has_bias=False), out()
    ),
    "locally connected 1d": trial(
        LONG_SERIES,
        dl.LocallyConnected1D(n_out=4, kernel_size=3, convolution_mode="truncate"),
        global_pool(),
        out(),
    ),
    **{
        f"convolution 1d, {mode}": trial(
            LONG_SERIES,
            dl.Convolution1D(n_out=4, kernel_size=3, convolution_mode=mode),
            global_pool("max"),
            out(),
        )
        for mode in ("truncate", "same", "causal")
    },
    "convolution 1d, masked": masked(
        LONG_SERIES,
        dl.Convolution1D(n_out=4, kernel_size=3, convolution_mode="same"),
        rnn_out(),
    ),
    "convolution 1d, channels last": trial(
        SERIES_LAST,
        dl.Convolution1D(n_out=4, kernel_size=3),
        global_pool(),
        out(),
        fails_in_training=r"op type \[conv1d_bp\]",
    ),
    "convolution 3d": trial(
        VOLUMES,
        dl.Convolution3D(n_out=3, kernel_size=2, padding=(1, 0, 1), dilation=(2, 1, 1)),
        global_pool(),
        out(),
    ),
    "convolution 3d, same": trial(
        VOLUMES,
        dl.Convolution3D(
            n_out=3, kernel_size=(3, 2, 3), stride=2, convolution_mode="same"
        ),
        out(),
    ),
    "convolution 3d, channels last": trial(
        VOLUMES_LAST, dl.Convolution3D(n_out=3, kernel_size=2), out()
    ),
    "deconvolution 3d": trial(
        VOLUMES,
        dl.Deconvolution3D(n_out=2, kernel_size=2, stride=(2, 1, 1)),
        global_pool(),
        out(),
    ),
    "capsules": trial(
        Convolutional(height=8, width=8, channels=2),
        dl.PrimaryCapsules(capsule_dimensions=4, channels=2, kernel_size=3),
        dl.Capsule(capsules=3, capsule_dimensions=4, routings=2),
        dl.CapsuleStrength(),
        dl.LossLayer(),
    ),
}
