"""All layers that DL4J's JSON can hold: one row a layer.

Layers that somebody wrote for DL4J are not among them. A package that has such a
layer for daskdl too names an object in the entry-point group ``daskdl.dl4j_layers``,
under the full name of the Java class (1.0.0-alpha and before wrote its short name):

.. code-block:: toml

    [project.entry-points."daskdl.dl4j_layers"]
    "org.example.GatedLayer" = "example.gated:ROW"

The object is a :class:`~daskdl.dl4j.network.layer_row.LayerRow`, or has what is asked
of one:

``read(mapping, where) -> dict``
    From the JSON object of the layer to a mapping with `type`, which may be that of a
    layer of daskdl. Raises :class:`~daskdl.errors.FormatError`, beginning with `where`,
    for what is wrong in it.
``tag``
    The `type` of the mappings that it writes.
``write(layer) -> dict``
    From such a mapping, nothing left open, to the JSON object with its ``@class``.
"""

from daskdl.dl4j.network import (
    rows_convolution,
    rows_feed_forward,
    rows_images,
    rows_recurrent,
)
from daskdl.dl4j.network.layer_row import (
    BY_TAG,
    ROWS,
    read_layer,
    register_rows,
    write_layer,
)

for _family in (rows_feed_forward, rows_recurrent, rows_convolution, rows_images):
    register_rows(_family.ROWS)

__all__ = ["BY_TAG", "ROWS", "read_layer", "write_layer"]
