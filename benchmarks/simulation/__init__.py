"""Training on many workers on a clock of its own: the real rules, and modelled costs.

``python -m benchmarks simulate``; see :mod:`benchmarks.simulation.command`.
"""
