"""The pooling layer for volumes."""

from typing import Literal

from daskdl.nn.conf.names import ConvolutionModeName, VolumePoolingName
from daskdl.nn.conf.values import CountTriple, IndexTriple
from daskdl.nn.layers.layer import works_for
from daskdl.nn.layers.pooling import Pooling, PoolingConf, PoolingLayer


class Subsampling3D(PoolingConf):
    """Pooling over windows of a volume.

    Parameters
    ----------
    pooling_type : {"max", "avg"}
        What a window becomes. ``max`` ignores padding, ``avg`` divides by the cells
        inside the volume.
    kernel_size, stride, dilation, padding : (int, int, int) or int
        Depth, height and width; one number means all three.
    convolution_mode : {"same", "truncate", "strict"}
        As for :class:`Convolution2D`; volumes are padded unless it says otherwise.
    """

    type: Literal["subsampling3d"] = "subsampling3d"
    pooling_type: VolumePoolingName = "max"
    kernel_size: CountTriple = (1, 1, 1)
    stride: CountTriple = (2, 2, 2)
    padding: IndexTriple = (0, 0, 0)
    dilation: CountTriple = (1, 1, 1)
    convolution_mode: ConvolutionModeName = "same"

    @property
    def pooling(self) -> Pooling:
        """What a window becomes."""
        return Pooling(self.pooling_type)


@works_for(Subsampling3D)
class Subsampling3DLayer(PoolingLayer[Subsampling3D]):
    """Maximum or average of each window of a volume. Masks only pass by."""
