"""Quirks of DL4J's losses."""

from daskdl.dialects import Quirk
from daskdl.dl4j.quirks.conditions import (
    all_of,
    has_activation,
    has_loss,
    has_type,
    option_holds,
    sets_option,
)

_SOFTMAX_LOSSES = has_loss("mcxent", "negativeloglikelihood", "sparse_mcxent")
_SOFTMAX = has_activation("softmax")
_ANY = option_holds("loss", lambda loss: loss is not None)

QUIRKS: tuple[Quirk, ...] = (
    Quirk(
        name="mae_of_examples_is_a_sum",
        where="`mae` of single examples",
        habit="is not divided by the number of outputs, as that of a minibatch is",
        exact="is divided by it",
        test="unit/layers/test_loss_quirks.py",
        concerns=has_loss("mae"),
    ),
    Quirk(
        name="kl_divergence_clips_scores",
        where="`kl_divergence`",
        habit="clips labels and outputs to 1e-5 in the score, and not in the gradient",
        exact="clips nowhere: 0 times a logarithm is 0",
        test="unit/layers/test_loss_quirks.py",
        concerns=has_loss("kl_divergence"),
    ),
    Quirk(
        name="softmax_is_clipped_in_scores",
        data="probabilities below 1e-10",
        where="`mcxent`, `negativeloglikelihood`, `sparse_mcxent` with softmax",
        habit="is clipped, by 1e-10 if nothing is said, in the score and not in the "
        "gradient",
        exact="is not clipped unless asked for, and then in both",
        test="unit/layers/test_loss_quirks.py",
        concerns=all_of(_SOFTMAX_LOSSES, _SOFTMAX),
    ),
    Quirk(
        name="softmax_labels_count_as_shares",
        data="labels that do not add up to 1",
        where="`mcxent`, `negativeloglikelihood` with softmax and labels that do not "
        "add up to 1",
        habit="the gradient is `output - labels` all the same",
        exact="is `output * sum(labels) - labels`",
        test="unit/layers/test_loss_quirks.py",
        concerns=all_of(has_loss("mcxent", "negativeloglikelihood"), _SOFTMAX),
    ),
    Quirk(
        name="xent_scores_one_term_of_softmax",
        where="`xent` with softmax",
        habit="the score has one of the two terms, unclipped; the gradient has both",
        exact="both have both",
        test="unit/layers/test_loss_quirks.py",
        concerns=all_of(has_loss("xent"), _SOFTMAX),
    ),
    Quirk(
        name="xent_keeps_the_slope_where_it_clips",
        data="probabilities at the clip",
        where="`xent`",
        habit="clips, by 1e-5 if nothing is said; the gradient is that of the clipped "
        "output, taken back through the point that is not clipped",
        exact="clips if asked to, and is flat there",
        test="unit/layers/test_loss_quirks.py",
        concerns=has_loss("xent"),
    ),
    Quirk(
        name="xent_weighs_behind_softmax",
        where="weights of `xent` with softmax",
        habit="multiply the gradient behind the activation",
        exact="multiply in front of it, as in the score",
        test="unit/layers/test_loss_quirks.py",
        concerns=all_of(sets_option("weights", of=("xent",)), _SOFTMAX),
    ),
    Quirk(
        name="masks_of_outputs_count_twice",
        data="masks of single outputs",
        where="masks of single outputs, and of rows with one output",
        habit="multiply twice in the gradient: fractions are squared, and what is "
        "masked of a softmax has none",
        exact="multiply once, in front of the activation",
        test="unit/layers/test_loss_quirks.py",
        concerns=_ANY,
    ),
    Quirk(
        name="softmax_refuses_masks_of_outputs",
        data="masks of single outputs",
        where="`mcxent`, `negativeloglikelihood`, `sparse_mcxent` with softmax and a "
        "mask of single outputs",
        habit="have a score, and refuse the gradient",
        exact="have both",
        test="unit/layers/test_loss_quirks.py",
        concerns=all_of(_SOFTMAX_LOSSES, _SOFTMAX),
    ),
    Quirk(
        name="multilabel_keeps_pairs_of_masked_outputs",
        data="masks of single outputs",
        where="`multilabel` with a mask of single outputs",
        habit="has a gradient, of all pairs, and fails to score",
        exact="leaves the pairs of masked outputs out",
        test="unit/layers/test_loss_quirks.py",
        concerns=has_loss("multilabel"),
    ),
    Quirk(
        name="cosine_proximity_cuts_squares",
        where="`cosine_proximity` of outputs shorter than 0.003",
        habit="the gradient takes the square of the length for 1e-5",
        exact="is the derivative: lengths count as at least 1e-5 in both",
        test="unit/layers/test_loss_quirks.py",
        concerns=has_loss("cosine_proximity"),
    ),
    Quirk(
        name="fmeasure_has_one_slope",
        where="`fmeasure` of two outputs",
        habit="the gradient is that of the second alone, as if the first was its rest "
        "to 1",
        exact="has both, which is the same behind a softmax",
        test="unit/layers/test_loss_quirks.py",
        concerns=has_loss("fmeasure"),
    ),
    Quirk(
        name="bernoulli_forgives_infinite_logarithms",
        where="`bernoulli` reconstructions that are certain and wrong",
        habit="count 0, and have no gradient: infinite logarithms are left out",
        exact="have their cross entropy, from the pre-activations of a sigmoid",
        test="unit/networks/test_reconstructions.py",
        concerns=has_type("bernoulli"),
    ),
)
