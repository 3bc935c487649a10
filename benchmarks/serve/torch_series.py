"""PyTorch's expression of each kind of layer: series and capsules.

Those here take (batch, time, features); what reads (batch, features, time) stands in
:mod:`benchmarks.serve.torch_layers`.
"""

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from benchmarks.serve.layer_shapes import LayerCase
from benchmarks.serve.torch_layers import (
    Expression,
    Layer,
    activation,
    weights,
    wrapped_dense,
)


def _recurrent(kind: Any) -> Expression:
    def expression(case: LayerCase, x: Any) -> Layer:
        conf = case.conf.get("layer", case.conf)
        both = case.kind == "bidirectional"
        layer = kind(x.shape[2], conf["n_out"], batch_first=True, bidirectional=both)
        return lambda x: layer(x)[0], list(layer.parameters())

    return expression


def _last_time_step(case: LayerCase, x: Any) -> Layer:
    forward, parameters = _recurrent(nn.LSTM)(case, x)
    return lambda x: forward(x)[:, -1], parameters


def _mask_zero(case: LayerCase, x: Any) -> Layer:
    layer, parameters = _recurrent(nn.LSTM)(case, x)

    def forward(x: Any) -> Any:
        mask = (x != 0).any(-1, keepdim=True)
        return layer(x) * mask

    return forward, parameters


def _mask(case: LayerCase, x: Any) -> Layer:
    mask = torch.ones(*x.shape[:2], 1)
    mask[:, mask.shape[1] // 2 :] = 0
    return lambda x: x * mask, ()


def _graves_lstm(case: LayerCase, x: Any) -> Layer:
    n_out = case.conf["n_out"]
    weight, bias = weights(x.shape[2], 4 * n_out), weights(4 * n_out)
    recurrent, peepholes = weights(n_out, 4 * n_out), weights(3, n_out)

    def forward(x: Any) -> Any:
        entering = (x @ weight + bias).unbind(1)
        output = cell = torch.zeros(len(x), n_out)
        outputs = []
        for step in entering:
            a, f, o, i = (step + output @ recurrent).chunk(4, 1)
            forget = torch.sigmoid(f + cell * peepholes[0])
            admit = torch.sigmoid(i + cell * peepholes[1])
            cell = forget * cell + admit * torch.tanh(a)
            output = torch.sigmoid(o + cell * peepholes[2]) * torch.tanh(cell)
            outputs.append(output)
        return torch.stack(outputs, 1)

    return forward, [weight, bias, recurrent, peepholes]


def _graves_bidirectional_lstm(case: LayerCase, x: Any) -> Layer:
    there, parameters = _graves_lstm(case, x)
    back, others = _graves_lstm(case, x)
    return lambda x: there(x) + back(x.flip(1)).flip(1), [*parameters, *others]


def _heads(x: Any, n_heads: int) -> Any:
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def _attention(queries: Any, keys: Any, values: Any, n_heads: int) -> Any:
    answers = functional.scaled_dot_product_attention(
        _heads(queries, n_heads), _heads(keys, n_heads), _heads(values, n_heads)
    )
    return answers.transpose(1, 2).flatten(2)


def _self_attention(case: LayerCase, x: Any) -> Layer:
    n, n_heads = case.conf["n_out"], case.conf["n_heads"]
    parameters = [weights(x.shape[2], n) for _ in range(3)] + [weights(n, n)]
    query, key, value, out = parameters
    return (
        lambda x: _attention(x @ query, x @ key, x @ value, n_heads) @ out,
        parameters,
    )


def _learned_self_attention(case: LayerCase, x: Any) -> Layer:
    n, n_heads = case.conf["n_out"], case.conf["n_heads"]
    queries = weights(case.conf["n_queries"], x.shape[2])
    parameters = [weights(x.shape[2], n) for _ in range(3)] + [weights(n, n)]
    query, key, value, out = parameters

    def forward(x: Any) -> Any:
        asked = (queries @ query).expand(len(x), -1, -1)
        return _attention(asked, x @ key, x @ value, n_heads) @ out

    return forward, [queries, *parameters]


def _recurrent_attention(case: LayerCase, x: Any) -> Layer:
    n, n_heads = case.conf["n_out"], case.conf["n_heads"]
    weight, bias = weights(x.shape[2], n), weights(n)
    query, key, value = weights(n, n), weights(x.shape[2], n), weights(x.shape[2], n)
    out, recurrent = weights(n, n), weights(n, n)

    def forward(x: Any) -> Any:
        entering = (x @ weight + bias).unbind(1)
        keys, values = x @ key, x @ value
        outputs = [torch.tanh(entering[0])]
        for step in entering[1:]:
            asked = (outputs[-1] @ query)[:, None]
            answer = _attention(asked, keys, values, n_heads)[:, 0] @ out
            outputs.append(torch.tanh(step + answer @ recurrent))
        return torch.stack(outputs, 1)

    return forward, [weight, bias, query, key, value, out, recurrent]


def _rnn_output(case: LayerCase, x: Any) -> Layer:
    layer = nn.Linear(x.shape[2], case.conf["n_out"])
    classes = torch.randint(0, case.conf["n_out"], (x.shape[0] * x.shape[1],))

    def forward(x: Any) -> Any:
        return functional.cross_entropy(layer(x).flatten(0, 1), classes)

    return forward, list(layer.parameters())


def _locally_connected1d(case: LayerCase, x: Any) -> Layer:
    (size, n_out) = case.conf["kernel_size"], case.conf["n_out"]
    steps = x.shape[1] - size + 1
    weight, bias = weights(steps, x.shape[2] * size, n_out), weights(n_out)
    act = activation(case)

    def forward(x: Any) -> Any:
        windows = x.unfold(1, size, 1).flatten(2).transpose(0, 1)
        return act(torch.matmul(windows, weight) + bias).transpose(0, 1)

    return forward, [weight, bias]


def _squash(x: Any) -> Any:
    squares = (x * x).sum(-1, keepdim=True)
    return x * squares / ((1 + squares) * (squares + 1e-5).sqrt())


def _primary_capsules(case: LayerCase, x: Any) -> Layer:
    conf = case.conf
    n_out = conf["channels"] * conf["capsule_dimensions"]
    layer = nn.Conv2d(x.shape[1], n_out, conf["kernel_size"], stride=2)

    def forward(x: Any) -> Any:
        return _squash(layer(x).reshape(len(x), -1, conf["capsule_dimensions"]))

    return forward, list(layer.parameters())


def _capsule(case: LayerCase, x: Any) -> Layer:
    # As in the configuration, capsules are features: (batch, capsules, dimensions).
    capsules, dimensions = case.conf["capsules"], case.conf["capsule_dimensions"]
    weight = weights(x.shape[1], x.shape[2], capsules * dimensions)

    def forward(x: Any) -> Any:
        predicted = torch.matmul(x.transpose(0, 1), weight)
        predicted = predicted.unflatten(2, (capsules, dimensions))
        agreement = torch.zeros(predicted.shape[:3])
        for iteration in range(3):
            coupling = agreement.softmax(2)
            output = _squash(torch.einsum("ibc,ibcd->bcd", coupling, predicted))
            if iteration < 2:
                agreement = agreement + torch.einsum("ibcd,bcd->ibc", predicted, output)
        return output

    return forward, [weight]


SERIES_EXPRESSIONS: dict[str, Expression] = {
    "bidirectional": _recurrent(nn.LSTM),
    "graves_bidirectional_lstm": _graves_bidirectional_lstm,
    "graves_lstm": _graves_lstm,
    "last_time_step_layer": _last_time_step,
    "learned_self_attention": _learned_self_attention,
    "locally_connected1d": _locally_connected1d,
    "lstm": _recurrent(nn.LSTM),
    "mask": _mask,
    "mask_zero": _mask_zero,
    "recurrent_attention": _recurrent_attention,
    "rnn_output": _rnn_output,
    "self_attention": _self_attention,
    "simple_rnn": _recurrent(nn.RNN),
    "time_distributed": wrapped_dense,
}
CAPSULE_EXPRESSIONS: dict[str, Expression] = {
    "capsule": _capsule,
    "capsule_strength": lambda case, x: (lambda x: x.norm(dim=-1), ()),
    "primary_capsules": _primary_capsules,
}
