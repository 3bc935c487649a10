"""Quirks of DL4J's evaluations.

These concern no network but what compares its predictions with labels.
"""

from daskdl.dialects import Quirk
from daskdl.dl4j.quirks.conditions import never

QUIRKS: tuple[Quirk, ...] = (
    Quirk(
        name="roc_point_per_example",
        where="exact ROC with equal probabilities",
        habit="a curve has a point an example, so that the area depends on their order",
        exact="has a point a probability",
        test="unit/evaluation/test_roc.py",
        concerns=never,
    ),
    Quirk(
        name="binary_f_of_class_one",
        where="F1 and F-beta with an averaging, of two classes of which one is called "
        "positive",
        habit="are those of class 1, whichever it is",
        exact="are averaged",
        test="unit/evaluation/test_averages.py",
        concerns=never,
    ),
)
