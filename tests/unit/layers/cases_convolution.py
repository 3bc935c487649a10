"""The rows of layers that convolve series, images and volumes, and of capsules."""

import daskdl as conf
from daskdl.nn.conf.input_type import Convolutional, Recurrent
from tests.unit.layers.case import IMAGES, LONG_SERIES, SERIES, VOLUMES, Case

CAPSULES = Recurrent(size=4, time_steps=3)
CHANNELS_LAST = Convolutional(height=6, width=5, channels=2, data_format="NHWC")


def conv1d(*, is_masked=False, input=LONG_SERIES, **options):
    layer = conf.Convolution1D(n_out=3, **{"kernel_size": 3, **options})
    return Case(layer, input, is_masked=is_masked, steps=8)


def conv3d(**options):
    layer = conf.Convolution3D(n_out=2, **{"kernel_size": (2, 2, 3), **options})
    return Case(layer, VOLUMES)


def deconv2d(**options):
    layer = conf.Deconvolution2D(n_out=3, **{"kernel_size": (3, 2), **options})
    return Case(layer, IMAGES)


def deconv3d(**options):
    layer = conf.Deconvolution3D(n_out=2, **{"kernel_size": (2, 1, 2), **options})
    return Case(layer, VOLUMES)


def depthwise(**options):
    options = {"kernel_size": (3, 2), "depth_multiplier": 2, **options}
    return Case(conf.DepthwiseConvolution2D(**options), IMAGES)


def separable(**options):
    options = {"kernel_size": (3, 2), "depth_multiplier": 2, **options}
    return Case(conf.SeparableConvolution2D(n_out=3, **options), IMAGES)


def local1d(*, is_masked=False, **options):
    layer = conf.LocallyConnected1D(n_out=3, **options)
    return Case(layer, LONG_SERIES, is_masked=is_masked, steps=8)


def local2d(**options):
    return Case(conf.LocallyConnected2D(n_out=3, **options), IMAGES)


def primary(**options):
    options = {"capsule_dimensions": 2, "channels": 3, "kernel_size": 3, **options}
    return Case(conf.PrimaryCapsules(**options), IMAGES)


def capsule(**options):
    return Case(conf.Capsule(capsules=3, capsule_dimensions=2, **options), CAPSULES)


CONVOLUTION_CASES = {
    "convolution, softmax": Case(
        conf.Convolution2D(n_out=3, kernel_size=2, activation="softmax"), IMAGES
    ),
    "convolution, softmax, channels last": Case(
        conf.Convolution2D(n_out=3, kernel_size=2, activation="softmax"), CHANNELS_LAST
    ),
    "convolution1d": conv1d(),
    "convolution1d of any length": conv1d(input=SERIES, convolution_mode="same"),
    "convolution1d, masked": conv1d(is_masked=True, stride=2),
    "convolution1d, no bias, swish": conv1d(has_bias=False, activation="swish"),
    "convolution1d, same": conv1d(convolution_mode="same", stride=2, dilation=2),
    "convolution1d, causal": conv1d(convolution_mode="causal", dilation=2),
    "convolution1d, causal, stride, masked": conv1d(
        convolution_mode="causal", stride=2, is_masked=True
    ),
    "convolution1d, padding": conv1d(padding=2, stride=3),
    "convolution1d, strict": conv1d(convolution_mode="strict", kernel_size=2, stride=3),
    "convolution1d, softmax": conv1d(activation="softmax"),
    "convolution1d, dropout": conv1d(keep_probability=0.6),
    "convolution3d": conv3d(),
    "convolution3d, no bias": conv3d(has_bias=False, stride=(2, 1, 2)),
    "convolution3d, padding, dilation": conv3d(padding=(1, 0, 1), dilation=(2, 1, 1)),
    "convolution3d, same": conv3d(convolution_mode="same", stride=2),
    "deconvolution2d": deconv2d(),
    "deconvolution2d, no bias": deconv2d(has_bias=False, activation="gelu"),
    "deconvolution2d, stride": deconv2d(stride=(2, 3)),
    "deconvolution2d, padding, dilation": deconv2d(padding=(1, 2), dilation=(2, 3)),
    "deconvolution2d, same": deconv2d(convolution_mode="same", stride=2),
    "deconvolution2d, same, stride over kernel": deconv2d(
        convolution_mode="same", stride=4
    ),
    "deconvolution2d, dropout": deconv2d(keep_probability=0.6),
    "deconvolution3d": deconv3d(stride=(2, 1, 2)),
    "deconvolution3d, padding": deconv3d(padding=(1, 0, 0), has_bias=False),
    "deconvolution3d, same": deconv3d(convolution_mode="same", stride=(1, 2, 1)),
    "depthwise convolution": depthwise(),
    "depthwise convolution, multiplier 1": depthwise(depth_multiplier=1, padding=1),
    "depthwise convolution, no bias": depthwise(has_bias=False, dilation=(2, 3)),
    "depthwise convolution, same": depthwise(convolution_mode="same", stride=(2, 1)),
    "depthwise convolution, mish, dropout": depthwise(
        activation="mish", keep_probability=0.7
    ),
    "separable convolution": separable(),
    "separable convolution, multiplier 1": separable(depth_multiplier=1, padding=1),
    "separable convolution, no bias": separable(has_bias=False, dilation=(2, 3)),
    "separable convolution, same": separable(convolution_mode="same", stride=(2, 1)),
    "separable convolution, swish, dropout": separable(
        activation="swish", keep_probability=0.7
    ),
    "locally connected 1d": local1d(),
    "locally connected 1d, masked": local1d(
        convolution_mode="truncate", stride=2, is_masked=True
    ),
    "locally connected 1d, padding": local1d(
        convolution_mode="truncate", padding=2, kernel_size=3, has_bias=False
    ),
    "locally connected 2d": local2d(kernel_size=(2, 3), stride=(2, 1)),
    "locally connected 2d, truncate": local2d(convolution_mode="truncate"),
    "locally connected 2d, dilation": local2d(dilation=(2, 1), activation="softmax"),
    "locally connected 2d, padding": local2d(
        convolution_mode="strict", padding=(0, 1), has_bias=False
    ),
    "primary capsules": primary(stride=1),
    "primary capsules, no bias": primary(has_bias=False, padding=1),
    "primary capsules, same": primary(convolution_mode="same", dilation=2),
    "primary capsules, leak": primary(use_relu=True, leak=0.4),
    "primary capsules, relu": primary(use_relu=True),
    "capsule": capsule(),
    "capsule, bias": capsule(has_bias=True, routings=2),
    "capsule, one routing": capsule(routings=1),
    "capsule strength": Case(conf.CapsuleStrength(), CAPSULES),
}
