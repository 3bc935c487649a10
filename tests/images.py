"""Images for the job of examples/gpu, where Fashion-MNIST is not at hand."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

JOB = Path(__file__).parents[1] / "examples" / "gpu" / "job.yaml"


def write_images(path, rows):
    """Write images of 28 x 28 with a light row for each of ten classes."""
    labels = np.arange(rows) % 10
    images = np.random.default_rng(7).uniform(0, 0.2, (rows, 28, 28))
    images[np.arange(rows), 2 * labels + 4] = 0.9
    columns = {"label": labels, "features": list(images.reshape(rows, -1))}
    pq.write_table(pa.table(columns), path)
