"""The rows of layers that pool, resize and measure series, images and volumes."""

import daskdl as conf
from tests.unit.layers.case import IMAGES, LONG_SERIES, VOLUMES, Case


def pool1d(*, is_masked=False, **options):
    layer = conf.Subsampling1D(**{"stride": 2, **options})
    return Case(layer, LONG_SERIES, is_masked=is_masked, steps=8)


def pool3d(**options):
    defaults = {"kernel_size": 2, "convolution_mode": "truncate"}
    return Case(conf.Subsampling3D(**{**defaults, **options}), VOLUMES)


def images(layer, **options):
    return Case(layer, IMAGES, **options)


def series(layer, **options):
    return Case(layer, LONG_SERIES, steps=8, **options)


def volumes(layer, **options):
    return Case(layer, VOLUMES, **options)


IMAGE_CASES = {
    "subsampling, sum": images(conf.Subsampling(pooling_type="sum", kernel_size=3)),
    "subsampling, pnorm": images(
        conf.Subsampling(
            pooling_type="pnorm", pnorm=3, kernel_size=3, stride=1, padding=1
        )
    ),
    "subsampling1d": pool1d(),
    "subsampling1d, masked": pool1d(is_masked=True),
    "subsampling1d, avg, same, masked": pool1d(
        pooling_type="avg", kernel_size=3, convolution_mode="same", is_masked=True
    ),
    "subsampling1d, sum, padding, dilation": pool1d(
        pooling_type="sum", padding=2, dilation=3, stride=1
    ),
    "subsampling1d, pnorm, masked": pool1d(
        pooling_type="pnorm", pnorm=2, kernel_size=3, is_masked=True
    ),
    "subsampling3d": pool3d(),
    "subsampling3d, same": pool3d(
        kernel_size=(2, 3, 2), stride=(1, 2, 1), convolution_mode="same"
    ),
    "subsampling3d, avg, padding": pool3d(pooling_type="avg", padding=1),
    "subsampling3d, dropout": pool3d(keep_probability=0.6),
    "global pooling of volumes": volumes(conf.GlobalPooling()),
    "global pooling of volumes, avg, not collapsed": volumes(
        conf.GlobalPooling(pooling_type="avg", collapse_dimensions=False)
    ),
    "global pooling of images, not collapsed": images(
        conf.GlobalPooling(pooling_type="sum", collapse_dimensions=False)
    ),
    "global pooling, not collapsed, masked": series(
        conf.GlobalPooling(pooling_type="max", collapse_dimensions=False),
        is_masked=True,
    ),
    "upsampling1d": series(conf.Upsampling1D(size=3)),
    "upsampling1d, masked": series(conf.Upsampling1D(), is_masked=True),
    "upsampling2d": images(conf.Upsampling2D(size=(2, 3))),
    "upsampling2d, dropout": images(conf.Upsampling2D(keep_probability=0.6)),
    "upsampling3d": volumes(conf.Upsampling3D(size=(1, 2, 3))),
    "zero padding": images(conf.ZeroPadding(padding=(1, 2, 0, 3))),
    "zero padding 1d": series(conf.ZeroPadding1D(padding=(2, 1)), is_masked=True),
    "zero padding 3d": volumes(conf.ZeroPadding3D(padding=(1, 0, 2, 1, 0, 1))),
    "cropping 1d": series(conf.Cropping1D(cropping=(2, 1)), is_masked=True),
    "cropping 2d": images(conf.Cropping2D(cropping=(1, 0, 2, 1))),
    "cropping 3d": volumes(conf.Cropping3D(cropping=(1, 0, 0, 1, 2, 1))),
    "space to depth": Case(
        conf.SpaceToDepth(block_size=2), IMAGES.replaced(height=4, width=6)
    ),
    "space to depth, dropout": Case(
        conf.SpaceToDepth(block_size=3, keep_probability=0.6),
        IMAGES.replaced(height=3, width=6),
    ),
    "space to batch": Case(
        conf.SpaceToBatch(blocks=2), IMAGES.replaced(height=4, width=6), n_parts=4
    ),
    "space to batch, padding": images(
        conf.SpaceToBatch(blocks=(2, 3), padding=((1, 1), (1, 0))), n_parts=6
    ),
    "local response normalization": Case(
        conf.LocalResponseNormalization(), IMAGES.replaced(channels=7)
    ),
    "local response normalization, strong": Case(
        conf.LocalResponseNormalization(alpha=0.5), IMAGES.replaced(channels=7)
    ),
    "local response normalization of single channels": images(
        conf.LocalResponseNormalization(n=1, alpha=0.5, k=1.5, beta=0.6)
    ),
    "cnn loss": images(conf.CnnLoss()),
    "cnn loss, xent": images(conf.CnnLoss(loss="xent")),
    "cnn loss, mse, gelu": images(conf.CnnLoss(loss="mse", activation="gelu")),
    "cnn 3d loss": volumes(conf.Cnn3DLoss()),
    "yolo2 output": Case(
        conf.Yolo2Output(bounding_boxes=[(1, 1.5), (2, 1)]),
        IMAGES.replaced(channels=16),
        has_own_labels=True,
    ),
}
