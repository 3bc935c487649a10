"""The dialect of DL4J, for tests of what it computes otherwise."""

from daskdl.dialects import quirks_of
from daskdl.dl4j.quirks import DIALECT
from daskdl.nn.conf.values import with_quirks

DL4J = DIALECT


def in_dl4j(conf):
    """Return a layer, a loss, a schedule ... that computes as DL4J does."""
    return with_quirks(conf, quirks_of(DL4J))
