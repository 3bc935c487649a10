"""Distributed deep learning on Dask, with a bridge to Spark."""
