"""Layer normalization: each row to mean 0 and deviation 1."""

from daskdl.arrays.namespace import FloatArray, array_namespace


def layer_norm_forward(
    x: FloatArray,
    gain: FloatArray,
    *,
    deviation: FloatArray,
    normalized: FloatArray,
    out: FloatArray,
) -> FloatArray:
    """Compute ``out = gain * (x - mean(x)) / std(x)``, mean and std of each row.

    Parameters
    ----------
    x : ndarray of shape (rows, features)
        Not changed, unless it is also `out`.
    gain : ndarray of shape (features,), same dtype
        Not changed.
    deviation : ndarray of shape (rows, 1), same dtype
        Overwritten with the standard deviation, the one that divides by the number of
        features.
    normalized : ndarray of shape (rows, features), same dtype
        Overwritten with the values before the gain: the backward pass's.
    out : ndarray of shape (rows, features), same dtype
        Overwritten; may be `x` itself.

    Returns
    -------
    out : ndarray
        The array that was given.

    References
    ----------
    Ba, Kiros and Hinton, *Layer Normalization*, 2016, equation 4, as in ND4J: nothing
    is added to the deviation, and a row of equal numbers becomes 0.
    """
    xp = array_namespace(x)
    xp.mean(x, axis=1, keepdims=True, out=deviation)
    xp.subtract(x, deviation, out=normalized)
    xp.multiply(normalized, normalized, out=out)
    xp.mean(out, axis=1, keepdims=True, out=deviation)
    xp.sqrt(deviation, out=deviation)
    normalized /= _or_infinity(deviation)
    xp.multiply(normalized, gain, out=out)
    return out


def layer_norm_backward(
    grad_out: FloatArray,
    normalized: FloatArray,
    deviation: FloatArray,
    gain: FloatArray,
    *,
    grad_gain: FloatArray,
    grad_x: FloatArray,
) -> FloatArray:
    """Compute the gradients of :func:`layer_norm_forward`.

    Parameters
    ----------
    grad_out : ndarray of shape (rows, features)
        Gradient of the loss in the output. Not changed, unless it is also `grad_x`.
    normalized, deviation, gain
        As the forward pass left them.
    grad_gain : ndarray of shape (features,), same dtype
        Overwritten with the sum over the rows.
    grad_x : ndarray of shape (rows, features), same dtype
        Overwritten; may be `grad_out` itself. 0 for rows of equal numbers.

    Returns
    -------
    grad_x : ndarray
        The array that was given.
    """
    xp = array_namespace(grad_out)
    along = xp.multiply(grad_out, normalized)
    xp.sum(along, axis=0, out=grad_gain)
    along *= gain
    share = xp.mean(along, axis=1, keepdims=True)
    xp.multiply(grad_out, gain, out=grad_x)
    grad_x -= xp.mean(grad_x, axis=1, keepdims=True)
    xp.multiply(normalized, share, out=along)
    grad_x -= along
    grad_x /= _or_infinity(deviation)
    return grad_x


def _or_infinity(deviation: FloatArray) -> FloatArray:
    """Return the deviations with infinity for 0, so that quotients become 0."""
    xp = array_namespace(deviation)
    infinity = xp.asarray(xp.inf, deviation.dtype)
    divisors: FloatArray = xp.where(deviation == 0, infinity, deviation)
    return divisors
