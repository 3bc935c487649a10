"""The parts of a job file that show its training elsewhere."""

from typing import Annotated

from pydantic import Field

from daskdl.nn.conf.values import Conf, Count
from daskdl.training.boards.tensorboard import TensorBoardListener

__all__ = ["TensorBoardOptions"]


class TensorBoardOptions(Conf):
    """What a job writes for TensorBoard, beside its results."""

    frequency: Annotated[
        Count, Field(description="Scores and rates every so many minibatches.")
    ] = 1
    histograms_every_n_epochs: Annotated[
        Count | None,
        Field(description="Histograms at the end of these epochs; null for none."),
    ] = 1
    histograms_every_n_iterations: Annotated[
        Count | None,
        Field(
            description="Also after so many minibatches of all workers, as soon as all "
            "stand at a common position."
        ),
    ] = None

    def listener(self, directory: str) -> TensorBoardListener:
        """Return the listener that writes into the directory of a run."""
        # The directory is the run's own; it may begin anew there.
        return TensorBoardListener(directory, **self.model_dump(), overwrite=True)
