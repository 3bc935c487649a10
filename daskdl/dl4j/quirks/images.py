"""Quirks of DL4J's layers of images and windows."""

from daskdl.dialects import Quirk
from daskdl.dl4j.quirks.conditions import exceeds_one, has_option, has_type

QUIRKS: tuple[Quirk, ...] = (
    Quirk(
        name="lrn_gradient_by_middle_unit",
        where="gradient of `local_response_normalization`",
        habit="divides the sum over the neighbours by the unit in the middle",
        exact="divides each neighbour by its own unit, which is the derivative",
        test="unit/layers/test_resizing_layers.py",
        concerns=has_type("local_response_normalization"),
    ),
    Quirk(
        name="yolo2_squares_lambda_no_obj",
        where="scores of examples of `yolo2_output`",
        habit="boxes without an object weigh the square of `lambda_no_obj`, in the "
        "score of a minibatch `lambda_no_obj`",
        exact="weigh `lambda_no_obj` in both",
        test="unit/layers/test_yolo2.py",
        concerns=has_type("yolo2_output"),
    ),
    Quirk(
        name="series_convolutions_ignore_masks",
        where="`convolution1d` and `locally_connected1d` with a mask",
        habit="never look at it. The mask of the windows goes on: of those with a kept "
        "step, and causal ones with a stride as if nothing were padded in front",
        exact="masked steps count as 0; only those windows are kept that a series has "
        "up to its last kept step, the others come out as 0",
        test="unit/layers/test_padded_series.py",
        concerns=has_type("convolution1d", "locally_connected1d"),
    ),
    Quirk(
        name="subsampling1d_ignores_masks",
        where="`subsampling1d` with a mask",
        habit="never looks at it, unless `mask_zero` wraps it. The mask of the windows "
        "with a kept step goes on",
        exact="masked steps count like padding; only those windows are kept that a "
        "series has up to its last kept step, the others come out as 0",
        test="unit/layers/test_padded_series.py",
        concerns=has_type("subsampling1d"),
    ),
    Quirk(
        name="resizing_ignores_masks",
        where="`zero_padding1d` and `cropping1d` with a mask",
        habit="zeros are put, and steps cut off, at the end of the array, behind steps "
        "that are masked",
        exact="at the end of each series, which is its last kept step",
        test="unit/layers/test_padded_series.py",
        concerns=has_type("zero_padding1d", "cropping1d"),
    ),
    Quirk(
        name="softmax_along_last_axis",
        where="softmax of convolutions, deconvolutions, locally connected layers and "
        "`activation`, where channels come first",
        habit="runs along the last axis of the array: the width or the time",
        exact="is over the channels",
        test="unit/layers/test_convolution_layers.py",
        concerns=has_option(
            "activation",
            "softmax",
            of=(
                "activation",
                "convolution1d",
                "convolution2d",
                "convolution3d",
                "deconvolution2d",
                "deconvolution3d",
                "depthwise_convolution2d",
                "locally_connected1d",
                "locally_connected2d",
                "separable_convolution2d",
            ),
        ),
    ),
    Quirk(
        name="locally_connected_windows_by_column",
        where="`locally_connected2d`",
        habit="counts windows column by column, and their results row by row: a square "
        "output comes out with rows and columns swapped",
        exact="counts both row by row",
        test="unit/layers/test_convolution_layers.py",
        concerns=has_type("locally_connected2d"),
    ),
    Quirk(
        name="locally_connected_ignores_dilation",
        where="`dilation` of locally connected layers",
        habit="changes sizes and padding, and not where a window looks",
        exact="windows look at cells that are so far apart",
        test="unit/layers/test_convolution_layers.py",
        concerns=exceeds_one(
            "dilation", of=("locally_connected1d", "locally_connected2d")
        ),
    ),
    Quirk(
        name="primary_capsules_along_rows",
        where="`primary_capsules`",
        habit="the numbers of a capsule lie side by side in the flattened channels, "
        "rows and columns: they are neighbours in a row of one channel",
        exact="they are neighbouring channels of one place, as in the paper",
        test="unit/layers/test_capsule_layers.py",
        concerns=has_type("primary_capsules"),
    ),
    Quirk(
        name="pixel_losses_leave_masked_outputs",
        where="`cnn_loss` and `cnn3d_loss` with a mask of the labels",
        habit="the output stays as it is, unlike that of `output` and `rnn_output`",
        exact="what the mask drops becomes 0",
        test="unit/networks/test_pixel_masks.py",
        concerns=has_type("cnn_loss", "cnn3d_loss"),
    ),
)
