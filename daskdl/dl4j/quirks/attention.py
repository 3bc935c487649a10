"""Quirks of DL4J's attention and vertices."""

from daskdl.dialects import Quirk
from daskdl.dl4j.quirks.conditions import has_type

_LAYERS = "unit/layers/test_attention_layers.py"
_VERTICES = "unit/layers/test_vertex_kinds.py"
_ATTENTION = has_type(
    "self_attention", "learned_self_attention", "recurrent_attention", "attention"
)

QUIRKS: tuple[Quirk, ...] = (
    Quirk(
        name="same_diff_gradients_twice",
        where="attention, locally connected layers, capsules: what DL4J computes with "
        "SameDiff",
        habit="every gradient, of parameters and handed on, is twice the derivative",
        exact="is the derivative",
        test="unit/layers/test_attention_layers.py",
        concerns=has_type(
            "self_attention",
            "recurrent_attention",
            "attention",
            "locally_connected1d",
            "locally_connected2d",
            "capsule",
            "capsule_strength",
            "primary_capsules",
        ),
    ),
    Quirk(
        name="attention_shifts_masked_keys",
        where="masked keys of attention",
        habit="`1e9 * (mask - 1)` is added to their scores: where all are masked, they "
        "count as if none were",
        exact="have no weight: where all are masked, 0 comes out",
        test=_LAYERS,
        concerns=_ATTENTION,
    ),
    Quirk(
        name="attention_answers_masked_queries",
        where="masked steps of `self_attention` and `recurrent_attention`",
        habit="are answered, and are asked with by the step behind them; the attention "
        "vertex gives 0",
        exact="come out as 0; recurrent attention asks with the last output that was "
        "kept",
        test=_LAYERS,
        concerns=has_type("self_attention", "recurrent_attention"),
    ),
    Quirk(
        name="attention_swaps_fans",
        where="initial weights of attention layers with projections",
        habit="projections are drawn with the fans (heads times size, n_out), the way "
        "out with (n_in, size)",
        exact="are drawn with the fans of what they map: each head's (n_in, size), and "
        "(heads times size, n_out)",
        test=_LAYERS,
        concerns=has_type(
            "self_attention", "learned_self_attention", "recurrent_attention"
        ),
    ),
    Quirk(
        name="l2_normalize_bounds_cube",
        where="gradient of `l2_normalize`",
        habit="the cube of the norm is bounded by eps, like the norm",
        exact="is the derivative",
        test=_VERTICES,
        concerns=has_type("l2_normalize"),
    ),
    Quirk(
        name="stack_has_no_mask_of_its_own",
        where="`stack` of series of different lengths without masks",
        habit="what was filled with 0 counts as data",
        exact="is masked",
        test=_VERTICES,
        concerns=has_type("stack"),
    ),
    Quirk(
        name="last_of_no_step_is_first",
        where="`last_time_step` vertex, a series without any step",
        habit="takes the first step",
        exact="gives 0, and sends no gradient back",
        test=_VERTICES,
        concerns=has_type("last_time_step"),
    ),
    Quirk(
        name="reversal_ignores_arriving_mask",
        where="`reverse_time_series` whose `mask_input` names no mask",
        habit="turns series around as a whole, padding first, and the mask goes on as "
        "it is",
        exact="turns around the steps that the arriving mask keeps, in their places",
        test=_VERTICES,
        concerns=has_type("reverse_time_series"),
    ),
    Quirk(
        name="vertices_see_padding",
        where="`merge` and `element_wise` of series with different masks, `l2` and "
        "`l2_normalize` of series with a mask",
        habit="what lies at dropped steps counts",
        exact="counts as 0, and gets no gradient",
        test=_VERTICES,
        concerns=has_type("merge", "element_wise", "l2", "l2_normalize"),
    ),
)
