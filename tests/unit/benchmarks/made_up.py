"""A measurement with numbers that are easy to reckon with."""

from benchmarks.rounds import Contender, Measurement, Turn

OURS = Contender("daskdl")
SLOW = Contender("torch", "nchw")
FAST = Contender("torch", "channels_last")
CORE = Contender("limit", "fma float32")
# Ours is as much work.
FLOPS = 100.0


def turns(*milliseconds, others=0.0, **facts):
    return [Turn(2 * ms, ms, 5, others, facts) for ms in milliseconds]


def lenet():
    """Ours takes 2, 3, 4 ms of CPU time; PyTorch's better form 4, 4, 16."""
    return Measurement(
        "lenet",
        "fit",
        {
            OURS: turns(2.0, 3.0, 4.0, others=0.5),
            SLOW: turns(9.0, 9.0, 9.0),
            FAST: turns(4.0, 4.0, 16.0),
            CORE: turns(1.0, 1.0, 2.0, amount=FLOPS),
        },
    )
