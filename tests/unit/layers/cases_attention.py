"""Rows of the table of layers: attention."""

import daskdl as conf
from tests.unit.layers.case import SERIES, Case


def attention(**options):
    return conf.SelfAttention(n_out=4, **{"project_input": True, **options})


def learned(**options):
    return conf.LearnedSelfAttention(n_out=4, n_queries=2, **options)


def recurrent(**options):
    return conf.RecurrentAttention(**{"n_out": 4, **options})


ATTENTION_CASES = {
    "self attention": Case(attention(), SERIES),
    "self attention, heads": Case(attention(n_heads=2), SERIES),
    "self attention, large heads, masked": Case(
        attention(n_heads=2, head_size=3), SERIES, is_masked=True
    ),
    "self attention, not projected": Case(conf.SelfAttention(n_out=3), SERIES),
    "self attention, not projected, masked": Case(
        conf.SelfAttention(n_out=3), SERIES, is_masked=True
    ),
    "learned self attention": Case(learned(project_input=True, n_heads=2), SERIES),
    "learned self attention, masked": Case(
        learned(project_input=True), SERIES, is_masked=True
    ),
    "learned self attention, not projected": Case(
        conf.LearnedSelfAttention(n_out=3, n_queries=5), SERIES
    ),
    "recurrent attention": Case(recurrent(), SERIES),
    "recurrent attention, heads, masked": Case(
        recurrent(n_heads=2, head_size=3, activation="sigmoid"), SERIES, is_masked=True
    ),
    "recurrent attention, no bias": Case(recurrent(has_bias=False), SERIES),
    "recurrent attention, swish": Case(recurrent(activation="swish"), SERIES),
    "recurrent attention, one step": Case(recurrent(), SERIES, steps=1),
    "recurrent attention, not projected, masked": Case(
        recurrent(n_out=3, project_input=False), SERIES, is_masked=True
    ),
}
