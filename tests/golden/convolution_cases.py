"""Networks of convolutions and capsules, as golden files have them."""

import daskdl as dl
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    ConvolutionalFlat,
    Recurrent,
)
from tests.golden.feed_forward_cases import IMAGES, out, sequence

IMAGES_LAST = Convolutional(height=6, width=7, channels=2, data_format="NHWC")
SMALL_IMAGES = Convolutional(height=5, width=6, channels=2)
VOLUMES = Convolutional3D(depth=4, height=5, width=4, channels=2)
VOLUMES_LAST = VOLUMES.replaced(data_format="NDHWC")
SERIES = Recurrent(size=3, time_steps=8)
SERIES_LAST = SERIES.replaced(data_format="NWC")

conv1d = dl.Convolution1D


def images(*layers, input=IMAGES, **options):
    """Return layers on images with an output layer behind them."""
    return sequence(*layers, out(), input=input, **options)


def series(layer, pooling_type="max", input=SERIES):
    pooling = dl.GlobalPooling(pooling_type=pooling_type)
    return sequence(layer, pooling, out(), input=input)


def volumes(layer, input=VOLUMES):
    return sequence(layer, out(), input=input)


def pooled_volumes(layer):
    return sequence(layer, dl.GlobalPooling(pooling_type="avg"), out(), input=VOLUMES)


def conv(n_out, kernel_size, **options):
    return dl.Convolution2D(n_out=n_out, kernel_size=kernel_size, **options)


def two_convolutions(mode):
    return images(
        conv(3, (3, 2), stride=(2, 1), convolution_mode=mode, activation="relu"),
        conv(2, 2, convolution_mode=mode),
    )


def deconv(**options):
    return dl.Deconvolution2D(
        n_out=3, **{"kernel_size": (3, 2), "stride": 2, **options}
    )


def conv3d(**options):
    return dl.Convolution3D(n_out=3, **options)


def deconv3d():
    return dl.Deconvolution3D(n_out=2, kernel_size=2, stride=(2, 1, 1))


def separable(kernel_size, **options):
    return dl.SeparableConvolution2D(n_out=3, kernel_size=kernel_size, **options)


def depthwise(kernel_size, **options):
    return dl.DepthwiseConvolution2D(
        n_out=4, depth_multiplier=2, kernel_size=kernel_size, **options
    )


MODELS = {
    "conv2d_truncate": two_convolutions("truncate"),
    "conv2d_same": two_convolutions("same"),
    "conv2d_strict_pad_dil": images(
        conv(3, 3, padding=(2, 1), dilation=(2, 1), convolution_mode="strict")
    ),
    "conv2d_same_dil_stride2": images(
        conv(3, 3, stride=2, convolution_mode="same"),
        conv(2, 2, dilation=2, convolution_mode="same"),
    ),
    "conv2d_nobias": images(conv(3, 3, has_bias=False)),
    "conv2d_nhwc": images(
        conv(3, 3), dl.Subsampling(kernel_size=2, stride=1), input=IMAGES_LAST
    ),
    "conv2d_nhwc_same": images(
        conv(3, 3, stride=2, convolution_mode="same"), input=IMAGES_LAST
    ),
    "lenet_like": images(
        conv(3, 3, activation="identity"),
        dl.Subsampling(kernel_size=2, stride=2),
        conv(4, 2, activation="relu"),
        dl.Subsampling(pooling_type="avg", kernel_size=2, stride=1),
        dl.Dense(n_out=6),
        input=ConvolutionalFlat(height=10, width=10, channels=1),
    ),
    "conv1d_truncate": series(conv1d(n_out=4, kernel_size=3, stride=2)),
    "conv1d_same": series(conv1d(n_out=4, kernel_size=3, convolution_mode="same")),
    "conv1d_causal": series(
        conv1d(n_out=4, kernel_size=3, dilation=2, convolution_mode="causal")
    ),
    "conv1d_nwc": series(conv1d(n_out=4, kernel_size=3), input=SERIES_LAST),
    "conv1d_stride_mask_pool": series(conv1d(n_out=4, kernel_size=2, stride=2), "avg"),
    "conv1d_rnnout_mask": sequence(
        conv1d(n_out=4, kernel_size=3, convolution_mode="same"),
        dl.RnnOutput(n_out=2, activation="softmax"),
        input=SERIES,
    ),
    "conv3d": volumes(conv3d(kernel_size=2, stride=(1, 2, 1))),
    "conv3d_same": volumes(
        conv3d(kernel_size=(3, 2, 3), stride=2, convolution_mode="same")
    ),
    "conv3d_ndhwc": volumes(conv3d(kernel_size=2), input=VOLUMES_LAST),
    "conv3d_pool": pooled_volumes(conv3d(kernel_size=2, stride=(1, 2, 1))),
    "conv3d_pad_dil_pool": pooled_volumes(
        conv3d(kernel_size=2, padding=(1, 0, 1), dilation=(2, 1, 1), has_bias=False)
    ),
    "deconv3d": volumes(deconv3d()),
    "deconv3d_pool": pooled_volumes(deconv3d()),
    "deconv2d_truncate": images(deconv()),
    "deconv2d_same": images(deconv(convolution_mode="same")),
    "deconv2d_nhwc": images(deconv(), input=IMAGES_LAST),
    "deconv2d_padding_dil": images(
        deconv(kernel_size=2, stride=1, padding=1, dilation=2, has_bias=False)
    ),
    "separable_truncate": images(separable((3, 2), stride=(1, 2), depth_multiplier=2)),
    "separable_same": images(
        separable((3, 2), stride=(1, 2), depth_multiplier=2, convolution_mode="same")
    ),
    "separable_nhwc": images(separable(2, depth_multiplier=2), input=IMAGES_LAST),
    "separable_l2_bias": images(separable(2), l2=0.02, l1_bias=0.01),
    "depthwise_truncate": images(depthwise((3, 2))),
    "depthwise_same": images(depthwise((3, 2), convolution_mode="same")),
    "depthwise_nhwc": images(depthwise(2), input=IMAGES_LAST),
    "locallyconnected1d": series(
        dl.LocallyConnected1D(n_out=4, kernel_size=3, convolution_mode="truncate"),
        "avg",
        input=Recurrent(size=3, time_steps=6),
    ),
    "locallyconnected2d": images(
        dl.LocallyConnected2D(
            n_out=3, kernel_size=(2, 3), stride=(2, 1), convolution_mode="truncate"
        ),
        input=SMALL_IMAGES,
    ),
    "locallyconnected2d_same": images(
        dl.LocallyConnected2D(n_out=3, kernel_size=(2, 3), has_bias=False),
        input=SMALL_IMAGES,
    ),
    "capsule": sequence(
        dl.PrimaryCapsules(capsule_dimensions=4, channels=2, kernel_size=3, stride=2),
        dl.Capsule(capsules=3, capsule_dimensions=4, routings=2),
        dl.CapsuleStrength(),
        dl.Activation(activation="softmax"),
        dl.LossLayer(loss="mcxent", activation="identity"),
        input=Convolutional(height=8, width=8, channels=2),
    ),
}

TRAINING_IMAGES = Convolutional(height=6, width=6, channels=2)
SGD, ADAM = (
    {"type": "sgd", "learning_rate": 0.1},
    {"type": "adam", "learning_rate": 0.02},
)


def trained(*layers, **options):
    return images(*layers, input=TRAINING_IMAGES, **options)


TRAINING = {
    "cnn_adam": trained(
        conv(3, 3), dl.Subsampling(kernel_size=2, stride=2), updater=ADAM, l2=0.01
    ),
    "separable_l2_bias": trained(
        separable(3, depth_multiplier=2), updater=SGD, l2=0.2, l1_bias=0.05
    ),
    "depthwise_l2_bias": trained(depthwise(3), updater=SGD, l2=0.2, l1_bias=0.05),
    "separable_bias_updater": trained(separable(3), updater=ADAM, bias_updater=SGD),
    "conv_bias_updater": trained(
        conv(3, 3),
        updater=ADAM,
        bias_updater={"type": "nesterovs", "learning_rate": 0.1, "momentum": 0.1},
    ),
    "conv_gradnorm_paramtype": trained(
        conv(3, 3), updater=SGD, gradient_normalization="renormalize_l2_per_param_type"
    ),
}
