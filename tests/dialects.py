"""The dialect of DL4J, for tests of what it computes otherwise."""

from daskdl.dialects import DL4J, quirks_of
from daskdl.nn.conf.values import with_quirks

__all__ = ["DL4J", "in_dl4j"]


def in_dl4j(conf):
    """Return a layer, a loss, a schedule ... that computes as DL4J does."""
    return with_quirks(conf, quirks_of(DL4J))
