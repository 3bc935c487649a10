"""What DL4J's attention and vertices compute otherwise."""

from daskdl.dialects import Quirk
from daskdl.dl4j.quirks.concerns import kinds

QUIRKS: tuple[Quirk, ...] = (
    Quirk(
        name="same_diff_gradients_twice",
        where="attention, locally connected layers, capsules: what DL4J computes with "
        "SameDiff",
        habit="every gradient, of parameters and handed on, is twice the derivative",
        exact="is the derivative",
        test="unit/layers/test_attention_layers.py",
        concerns=kinds(
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
)
