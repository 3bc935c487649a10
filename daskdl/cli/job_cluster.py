"""The part of a job file that says on which workers to train."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.spellings import Taking
from daskdl.nn.conf.values import AnySpelling, Conf, Count, Positive

__all__ = ["Cluster"]


def _size(value: Any) -> Any:
    """Take a number of bytes as well as ``2 GiB``."""
    return str(value) if type(value) is int else value


def _devices(value: Any) -> Any:
    """Take a number or a list of numbers and UUIDs as well as ``0,1``."""
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return _size(value)


_DEVICE = {"type": ["integer", "string"]}
Size = Annotated[str, BeforeValidator(Taking(_size, ({"type": "integer"},)))]
Devices = Annotated[
    str,
    BeforeValidator(
        Taking(_devices, ({"type": "integer"}, {"type": "array", "items": _DEVICE}))
    ),
]


class Cluster(Conf):
    """The cluster of a job: this machine, or one that runs already."""

    # Not `type`, which for other values names their class.
    kind: Annotated[
        Annotated[Literal["local", "cuda"], AnySpelling()] | None,
        Field(
            alias="type",
            description="What to start here: worker processes, if not given, or with "
            "cuda those of Dask-CUDA, each on a CUDA device of its own.",
        ),
    ] = None
    workers: Annotated[
        Count | None,
        Field(
            description="Worker processes to start here, one a core or device if not "
            "given; with a scheduler, how many must be there at least."
        ),
    ] = None
    cuda_visible_devices: Annotated[
        Devices | None,
        Field(
            description="Devices for workers of type cuda, by number or UUID: [0, 1]. "
            "All that are visible if not given."
        ),
    ] = None
    rmm_pool_size: Annotated[
        Positive | str | None,
        Field(
            description="Memory of its device that each worker of type cuda has RMM "
            "manage, e.g. 8 GiB, or 0.8 of all. CuPy's own pool if not given."
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
                "goes with a scheduler only: of workers started here all train.",
                "resources",
            )
        return self
