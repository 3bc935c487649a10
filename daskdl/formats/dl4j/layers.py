"""All layers that DL4J's JSON can hold: one row a layer."""

from daskdl.formats.dl4j import (
    rows_convolution,
    rows_feed_forward,
    rows_images,
    rows_recurrent,
)
from daskdl.formats.dl4j.layer_row import BY_TAG, ROWS, enter, read_layer, write_layer

for _family in (rows_feed_forward, rows_recurrent, rows_convolution, rows_images):
    enter(_family.ROWS)

__all__ = ["BY_TAG", "ROWS", "read_layer", "write_layer"]
