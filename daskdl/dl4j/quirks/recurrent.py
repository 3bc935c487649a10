"""Quirks of DL4J's recurrent layers."""

from daskdl.dialects import Quirk
from daskdl.dl4j.quirks.conditions import has_type

_PADDED = "unit/layers/test_padded_recurrent.py"
_RECURRENT = "unit/layers/test_recurrent_layers.py"

QUIRKS: tuple[Quirk, ...] = (
    Quirk(
        name="lstm_ignores_masks",
        where="`lstm` and `graves_lstm` with a mask, outside of `last_time_step_layer` "
        "and `mask_zero`",
        habit="pass it on, and do not use it",
        exact="dropped steps come out as 0 and leave the state as it is",
        test=_PADDED,
        concerns=has_type("lstm", "graves_lstm"),
    ),
    Quirk(
        name="dropped_steps_reset_state",
        where="recurrent layers that use a mask",
        habit="the state is 0 behind a dropped step; gradients go through dropped "
        "steps: those of `lstm` all, those of LSTMs with peepholes that of the cell, "
        "whose activation has the slope at the masked cell, while the output gate has "
        "the gradient at the cell before",
        exact="the state is carried over dropped steps, which send no gradient back",
        test=_PADDED,
        concerns=has_type(
            "lstm", "graves_lstm", "graves_bidirectional_lstm", "simple_rnn"
        ),
    ),
    Quirk(
        name="mask_zero_masks_inside_only",
        where="`mask_zero`",
        habit="forgets the mask that arrives; no mask goes on",
        exact="steps are kept that both keep, and that mask goes on",
        test=_RECURRENT,
        concerns=has_type("mask_zero"),
    ),
    Quirk(
        name="rnn_output_ignores_features_mask",
        where="`rnn_output` with a mask of the features only",
        habit="does not use it; `output` and `rnn_loss` do",
        exact="dropped steps come out as 0 and are not in the score",
        test="unit/layers/test_output.py",
        concerns=has_type("rnn_output"),
    ),
    Quirk(
        name="rnn_loss_shows_masked_steps",
        where="`rnn_loss` with a mask",
        habit="counts it in the score; the output is not set to 0",
        exact="dropped steps come out as 0",
        test="unit/networks/test_output_masks.py",
        concerns=has_type("rnn_loss"),
    ),
    Quirk(
        name="evaluation_ignores_features_mask",
        where="evaluations of series with a mask of the features only",
        habit="count all steps",
        exact="count those that are kept",
        test="unit/networks/test_output_masks.py",
        concerns=has_type("rnn_output", "rnn_loss"),
    ),
)
