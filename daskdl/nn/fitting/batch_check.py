"""The check of examples in memory, before anything is trained or evaluated on them."""

from daskdl.errors import ShapeError
from daskdl.nn.batches import Batch, as_arrays
from daskdl.nn.data_checks import PartitionCheck
from daskdl.nn.fitting.trained import Trained

__all__ = ["check_batch"]


def check_batch(
    trained: Trained, check: PartitionCheck, who: str, batch: Batch
) -> None:
    """Refuse data of which an example has the wrong shape, or a number is none.

    Parameters
    ----------
    trained : Network or LayerPretraining
        What the data are for.
    check : PartitionCheck
        Of its numbers.
    who : str
        Named in errors.
    batch : DataSet or MultiDataSet

    Raises
    ------
    DataError, ShapeError
    """
    if not len(batch):
        return  # no harm where it is cut into minibatches, else refused as one
    looked_at = batch.slice(0, 1)
    try:
        trained.check_batch(looked_at)
    except ShapeError:
        # Its message has the whole shape.
        trained.check_batch(batch)
    check.check(who, as_arrays(who, batch))
