"""The writer of estimators and models, where pyspark's own knows classic Spark only."""

from pyspark.ml.util import DefaultParamsWriter

from daskdl_bridge.spark.kinds import is_connect

__all__ = ["ParamsWriter"]


class ParamsWriter(DefaultParamsWriter):
    """Writes Params, over what is there if asked to, on Spark Connect too."""

    def _handleOverwrite(self, path: str) -> None:
        # pyspark asks its Java machine, which Connect has none of beside the program;
        # for its own classes it asks the server, as this does for ours.
        if not is_connect(self.sparkSession):
            super()._handleOverwrite(path)
            return
        from pyspark.ml.connect.readwrite import RemoteMLWriter

        RemoteMLWriter.handleOverwrite(path, shouldOverwrite=True)
