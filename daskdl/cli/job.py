"""Job files as checked values.

Nothing is opened here; :mod:`daskdl.cli.job_file` reads the file, and the commands look
at what its paths hold.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from daskdl.cli.job_cluster import Cluster
from daskdl.cli.job_data import Data
from daskdl.cli.job_training import Training
from daskdl.cli.job_values import Texts
from daskdl.nn.conf.errors import PathError, got
from daskdl.nn.conf.names import DialectName
from daskdl.nn.conf.network import NetworkConfiguration
from daskdl.nn.conf.spellings import Taking
from daskdl.nn.conf.values import Conf

__all__ = ["Job", "StartingModel"]


class StartingModel(Conf):
    """A saved network to go on from."""

    path: Annotated[
        str,
        Field(
            description="Path or URL of a file of daskdl or of DL4J, or of the "
            "directory of a run."
        ),
    ]
    dialect: Annotated[
        DialectName | None,
        Field(
            description="In which it computes from now on: exact or dl4j-1.0.0-M2.1; "
            "if not given, its own."
        ),
    ] = None


def _as_mapping(value: Any) -> Any:
    if isinstance(value, str) and value:
        return {"path": value}
    if isinstance(value, Mapping | StartingModel):
        return value
    raise PathError(f"must be a path or a mapping with `path`, got {got(value)}.")


_PATH_OR_MODEL = Taking(_as_mapping, ({"type": "string", "minLength": 1},))


class Job(Conf):
    """A whole job: network, data, cluster, training and output."""

    network: Annotated[
        NetworkConfiguration | None,
        Field(description="The network to train: `layers`, or a graph of `vertices`."),
    ] = None
    model: Annotated[
        Annotated[StartingModel, BeforeValidator(_PATH_OR_MODEL)] | None,
        Field(
            description="A saved network to go on from, in place of `network`: its "
            "path, or a mapping with `path` and `dialect`."
        ),
    ] = None
    imports: Annotated[
        Texts | None,
        Field(
            description="Python files beside the job, or installed modules, that are "
            "imported first: they register layers of your own."
        ),
    ] = None
    data: Annotated[Data, Field(description="The examples, and what is in them.")]
    training: Annotated[
        Training, Field(description="How the workers train together.")
    ] = Training()
    cluster: Annotated[
        Cluster, Field(description="Where to train: here, or on a running cluster.")
    ] = Cluster()
    output: Annotated[
        str | None,
        Field(
            description="Directory or URL that gets model, evaluation, statistics and "
            "report; must not exist. If not given: runs/<job>-<date>-<time>."
        ),
    ] = None

    @model_validator(mode="after")
    def _check_network(self) -> "Job":
        if self.network is None and self.model is None:
            raise PathError("must be given, or `model` in its place.", "network")
        if self.network is not None and self.model is not None:
            raise PathError("must be left out where `network` is given.", "model")
        return self

    @model_validator(mode="after")
    def _check_pretraining(self) -> "Job":
        if self.data.pretrain is not None and self.training.pretrain is None:
            raise PathError(
                "must be left out without `training.pretrain`.", "data", "pretrain"
            )
        if self.training.epochs:
            return self
        for name in ("test", "validation"):
            if getattr(self.data, name) is not None:
                raise PathError(
                    "must be left out with `training.epochs` 0: the output has learnt "
                    "nothing to be evaluated.",
                    *("data", name),
                )
        return self

    @model_validator(mode="after")
    def _check_validation(self) -> "Job":
        if self.data.validation is not None:
            return self
        for name in ("validation", "early_stopping"):
            if getattr(self.training, name) is not None:
                raise PathError(
                    f"must be given for `training.{name}`, got none.",
                    *("data", "validation"),
                )
        return self
