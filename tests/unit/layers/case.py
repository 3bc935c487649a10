"""What a row of the tables of layers says."""

from dataclasses import dataclass, field

from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    FeedForward,
    Recurrent,
)

STEPS = 4
ROWS = FeedForward(size=6)
SERIES = Recurrent(size=3)
LONG_SERIES = Recurrent(size=3, time_steps=8)
IMAGES = Convolutional(height=6, width=5, channels=2)
VOLUMES = Convolutional3D(depth=4, height=3, width=5, channels=2)


@dataclass(frozen=True)
class Case:
    conf: object
    input_type: object
    is_masked: bool = False
    # Batch normalization is another function with another batch.
    mixes_examples: bool = False
    steps: int = field(default=STEPS)
    # Labels with a meaning cannot be drawn like those of most losses.
    has_own_labels: bool = False
    # Features of embeddings are whole numbers below this one.
    n_numbers: int | None = None
    # Frozen layers hand no gradient on.
    passes_gradient: bool = True
    # Space to batch makes several examples of one.
    n_parts: int = 1
    # Whether features that are rows hold a number for each time step.
    rows_are_steps: bool = False

    @property
    def n_masked(self):
        """How many columns a mask has: the time steps, or one for whole examples."""
        if isinstance(self.input_type, Recurrent):
            return self.input_type.time_steps or self.steps
        return self.steps if self.rows_are_steps else 1
