"""The part of a job file that says how often something is done beside the training."""

from typing import Annotated

from pydantic import Field

from daskdl.nn.conf.values import Conf, Count

__all__ = ["Moments"]


class Moments(Conf):
    """When a job does something again and again while it trains."""

    every_n_epochs: Annotated[
        Count, Field(description="Epochs between two; the last epoch has one, too.")
    ] = 1
    every_n_iterations: Annotated[
        Count | None,
        Field(
            description="Also after so many minibatches of all workers: at the next "
            "moment at which all stand at a common position, at the latest at the end "
            "of the epoch."
        ),
    ] = None
