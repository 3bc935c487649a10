"""The parts of a job file that show its training elsewhere."""

import posixpath
from typing import Annotated

from pydantic import Field

from daskdl.nn.conf.values import Conf, Count, NonNegative
from daskdl.training.boards.mlflow import MLflowListener
from daskdl.training.boards.tensorboard import TensorBoardListener

__all__ = ["MLflowOptions", "TensorBoardOptions"]


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


class MLflowOptions(Conf):
    """What a job tells an MLflow server."""

    tracking_uri: Annotated[
        str | None,
        Field(
            description="Of the server; that of MLFLOW_TRACKING_URI if not given. "
            "Relative paths start at the current folder, as MLflow's do."
        ),
    ] = None
    experiment: Annotated[
        str | None,
        Field(description="Its name; that of MLFLOW_EXPERIMENT_NAME if not given."),
    ] = None
    run_name: Annotated[
        str | None,
        Field(description="The last part of the job's `output` if not given."),
    ] = None
    tags: Annotated[
        dict[str, str] | None, Field(description="Of the run, by name.")
    ] = None
    frequency: Annotated[
        Count, Field(description="Scores and rates every so many minibatches.")
    ] = 10
    log_network: Annotated[
        bool, Field(description="Store the trained network as an artifact.")
    ] = False
    end_timeout_s: Annotated[
        NonNegative,
        Field(description="How long the end waits for what the server has not taken."),
    ] = 30.0

    def listener(self, output: str) -> MLflowListener:
        """Return the listener that tells of the run whose results are to be there."""
        name = self.run_name or posixpath.basename(output.rstrip("/"))
        return MLflowListener(**{**self.model_dump(), "run_name": name or None})
