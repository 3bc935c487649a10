"""All kinds of preprocessors by name, as their ``to_dict`` says it."""

from collections.abc import Mapping
from types import MappingProxyType

from daskdl.data.normalizers.image_multi import ImageMultiPreProcessingScaler
from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.data.pre_processors.composite import (
    CompositeDataSetPreProcessor,
    CompositeMultiDataSetPreProcessor,
)
from daskdl.data.pre_processors.crop_and_resize import CropAndResizeDataSetPreProcessor
from daskdl.data.pre_processors.images import (
    ImageFlatteningDataSetPreProcessor,
    PermuteDataSetPreProcessor,
    RGBtoGrayscaleDataSetPreProcessor,
)
from daskdl.data.pre_processors.labels import LabelLastTimeStepPreProcessor
from daskdl.data.pre_processors.under_sampling import (
    UnderSamplingByMaskingMultiDataSetPreProcessor,
    UnderSamplingByMaskingPreProcessor,
)

__all__ = ["PRE_PROCESSORS"]

PRE_PROCESSORS: Mapping[str, type[Normalizer]] = MappingProxyType(
    {
        found.kind: found
        for found in (
            CompositeDataSetPreProcessor,
            CompositeMultiDataSetPreProcessor,
            CropAndResizeDataSetPreProcessor,
            ImageFlatteningDataSetPreProcessor,
            ImageMultiPreProcessingScaler,
            LabelLastTimeStepPreProcessor,
            PermuteDataSetPreProcessor,
            RGBtoGrayscaleDataSetPreProcessor,
            UnderSamplingByMaskingMultiDataSetPreProcessor,
            UnderSamplingByMaskingPreProcessor,
        )
    }
)
"""The kinds by name."""
