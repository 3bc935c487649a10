"""Labelled arrays in: variables and dimensions of xarray become plain arrays.

Nothing here imports xarray; it only uses the objects that the caller holds.
"""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from daskdl.checks import did_you_mean, some
from daskdl.data.labels import labels_of
from daskdl.errors import ColumnError

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "arrays_of_variables",
    "check_dimension",
    "sample_dimension",
    "variable_values",
]


def arrays_of_variables(
    ds: "xr.Dataset",
    *,
    name: str,
    features: str | Sequence[str],
    label: str | Sequence[str] | None = None,
    sample_dim: Hashable | None = None,
    n_classes: int | None = None,
    key: str | None = None,
    features_mask: str | None = None,
    labels_mask: str | None = None,
) -> dict[str, Any]:
    """Return the arrays of a data set of variables; see `DataSet.from_xarray`.

    Parameters
    ----------
    name : str
        What messages call the labelled data set.

    Returns
    -------
    dict of str to ndarray of shape (batch, ...) or None
        Arguments of a `DataSet`.
    """
    dim = sample_dimension(ds, features, sample_dim, name=name)

    def values(variables: str | Sequence[str]) -> NDArray[Any]:
        return variable_values(ds, variables, dim, name=name)

    labels = None
    if label is not None:
        labels = labels_of(
            values(label), n_classes, name=name, column=_column_name(label)
        )
    return {
        "features": as_matrix(values(features)),
        "labels": labels,
        "features_mask": None if features_mask is None else values(features_mask),
        "labels_mask": None if labels_mask is None else values(labels_mask),
        "keys": None if key is None else values(key),
    }


def sample_dimension(
    ds: "xr.Dataset",
    features: str | Sequence[str],
    sample_dim: Hashable | None,
    *,
    name: str,
) -> Hashable:
    """Return the dimension along which examples lie.

    Raises
    ------
    ColumnError
        If there is no such dimension, or the features have none at all.
    """
    first = features if isinstance(features, str) else features[0]
    dims = _variable(ds, first, name=name).dims
    if sample_dim is None and not dims:
        raise ColumnError(
            f"{name}: variable {first!r} must have a dimension of examples, got none."
        )
    dim = dims[0] if sample_dim is None else sample_dim
    if dim not in ds.dims:
        raise ColumnError(
            f"{name}: sample_dim must be a dimension ({some(ds.dims)}), got {dim!r}."
            f"{did_you_mean(dim, ds.dims)}"
        )
    return dim


def check_dimension(
    ds: "xr.Dataset", variable: str, dim: Hashable, *, name: str
) -> "xr.DataArray":
    """Return a variable after seeing that it is there and has the dimension.

    Raises
    ------
    ColumnError
        If it is not or has not.
    """
    array = _variable(ds, variable, name=name)
    if dim not in array.dims:
        raise ColumnError(
            f"{name}: variable {variable!r} must have the dimension {dim!r}, got "
            f"{array.dims!r}."
        )
    return array


def variable_values(
    ds: "xr.Dataset", variables: str | Sequence[str], dim: Hashable, *, name: str
) -> NDArray[Any]:
    """Return a variable as an array with examples first, the other dimensions in order.

    Parameters
    ----------
    variables : str or sequence of str
        Several stand side by side as columns of shape (batch, total width).

    Returns
    -------
    ndarray of shape (batch, ...)
        Computed if it was lazy.

    Raises
    ------
    ColumnError
        If a variable is missing, lacks the dimension, or is no column though it is to
        stand beside others.
    """
    if isinstance(variables, str):
        return _values(ds, variables, dim, name=name)
    columns = [as_matrix(_values(ds, one, dim, name=name)) for one in variables]
    for variable, column in zip(variables, columns, strict=True):
        if column.ndim != 2:
            raise ColumnError(
                f"{name}: variable {variable!r} must have at most one dimension beside "
                f"{dim!r} to stand beside others, got examples of shape "
                f"{column.shape[1:]}."
            )
    return np.concatenate(columns, axis=1)


def as_matrix(values: NDArray[Any]) -> NDArray[Any]:
    """Return an array (batch,) as a column (batch, 1), any other as it is."""
    return values[:, None] if values.ndim == 1 else values


def _values(
    ds: "xr.Dataset", variable: str, dim: Hashable, *, name: str
) -> NDArray[Any]:
    array = check_dimension(ds, variable, dim, name=name)
    # Computed before it is turned: a lazy transpose would be a copy a chunk.
    return np.asarray(array.transpose(dim, ...).to_numpy())


def _variable(ds: "xr.Dataset", variable: str, *, name: str) -> "xr.DataArray":
    if variable not in ds.variables:
        raise ColumnError(
            f"{name}: variables {some(ds.variables)} are there, got {variable!r}."
            f"{did_you_mean(variable, ds.variables)}"
        )
    return ds[variable]


def _column_name(label: str | Sequence[str]) -> str:
    return label if isinstance(label, str) else ", ".join(label)
