"""The part of a job file that says on which workers to train."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.spellings import Taking
from daskdl.nn.conf.values import Conf, Count, Positive

__all__ = ["Cluster"]


def _size(value: Any) -> Any:
    """Take a number of bytes as well as ``2 GiB``."""
    return str(value) if type(value) is int else value


Size = Annotated[str, BeforeValidator(Taking(_size, ({"type": "integer"},)))]


class Cluster(Conf):
    """The cluster of a job: this machine, or one that runs already."""

    workers: Annotated[
        Count | None,
        Field(
            description="Worker processes to start here, one a core if not given; with "
            "a scheduler, how many must be there at least."
        ),
    ] = None
    memory_limit: Annotated[
        Size | None, Field(description="Of each worker started here, e.g. 2 GiB.")
    ] = None
    scheduler: Annotated[
        str | None, Field(description="Address of a running one: tcp://host:8786.")
    ] = None
    resources: Annotated[
        dict[str, Positive] | None,
        Field(
            description="What a worker of the running cluster must offer to train, "
            "such as GPU: 1."
        ),
    ] = None
    timeout_s: Annotated[
        Positive,
        Field(description="Limit for the scheduler's answer."),
    ] = 10.0
    start_timeout_s: Annotated[
        Positive,
        Field(
            description="Limit for its workers to come, before the training and before "
            "the evaluation."
        ),
    ] = 60.0
    dashboard: Annotated[
        bool, Field(description="Serve Dask's dashboard of a cluster started here.")
    ] = False
    security: Annotated[
        Literal["tls", "none"] | None,
        Field(
            description="Of a cluster started here: tls, with certificates made for "
            "it, if not given; none lets every user of this machine in."
        ),
    ] = None

    @model_validator(mode="after")
    def _check_resources(self) -> "Cluster":
        if self.resources and self.scheduler is None:
            raise PathError(
                "goes with a scheduler only: workers started here offer none.",
                "resources",
            )
        return self
