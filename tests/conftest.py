"""Markers by folder, fixtures for all, and what a missing JVM or HDFS means."""

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260101)
