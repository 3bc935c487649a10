"""Listeners that are one function."""

from daskdl.nn.fitting.listener import Listener


class Events(Listener):
    """Calls a function with every event."""

    def __init__(self, function):
        self.on_event = function


class Epochs(Listener):
    """Calls a function with the network at the end of every epoch."""

    def __init__(self, function):
        self._function = function

    def on_epoch_end(self, fit):
        self._function(fit.network)
