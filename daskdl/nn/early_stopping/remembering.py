"""What conditions and savers may remember from epoch to epoch."""

from collections.abc import Mapping
from typing import Any

__all__ = ["Initialized", "Remembering"]


class Remembering:
    """What has a state that checkpoints of a run hold."""

    def kept_state(self) -> Mapping[str, Any]:
        """Return what a checkpoint is to hold of it.

        As JSON has values; of a saver also arrays of floating-point numbers.
        """
        return {}

    def restore_state(self, state: Mapping[str, Any]) -> None:
        """Take over what :meth:`kept_state` returned, unless that was empty."""


class Initialized:
    """What forgets one fit before the next."""

    def initialize(self) -> None:
        """Forget an earlier fit: training begins."""
