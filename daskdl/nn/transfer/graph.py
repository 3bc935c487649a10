"""Transfer learning of graphs."""

from collections.abc import Mapping
from typing import Any

from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.network import merge_name
from daskdl.nn.graph import ComputationGraph
from daskdl.nn.transfer.changed_layers import Part, with_open_input
from daskdl.nn.transfer.transfer_learning import TransferLearning
from daskdl.nn.vertices.merge import MergeVertex


class GraphTransferLearning(TransferLearning[ComputationGraph]):
    """Changes to a trained graph."""

    def __init__(self, network: ComputationGraph) -> None:
        super().__init__(network)
        self._inputs = dict(network.conf.inputs)
        self._outputs = list(network.conf.outputs)

    def remove_vertex_and_connections(self, name: str) -> "GraphTransferLearning":
        """Leave a layer or vertex out, and all that only it feeds.

        What reads others besides goes on with those, and layers behind begin anew.
        """
        gone = [self._known(name, "remove_vertex_and_connections")]
        while gone:
            key = gone.pop()
            for reader in list(self._readers(key)):
                part = self._parts[reader]
                left = tuple(source for source in part.inputs if source != key)
                self._parts[reader] = part.replaced(inputs=left)
                if not left:
                    gone.append(reader)
                    continue
                for behind in self._behind(reader):
                    self._parts[behind] = with_open_input(
                        self._parts[behind], None, None
                    )
            self._forget(key)
            self._outputs = [output for output in self._outputs if output != key]
        return self

    def remove_vertex_keep_connections(self, name: str) -> "GraphTransferLearning":
        """Leave a layer or vertex out to :meth:`add` another one of its name.

        What reads it, and its place among the outputs, stay.
        """
        self._forget(self._known(name, "remove_vertex_keep_connections"))
        return self

    def add(self, name: str, part: Part, *inputs: str) -> "GraphTransferLearning":
        """Add a layer or vertex that reads `inputs`; its weights are drawn.

        A vertex that merged the inputs of a layer of its name, and that nothing reads
        any more, goes.

        Raises
        ------
        OptionError
            If there is one of its name.
        """
        if len(inputs) > 1 and self._is_left_over(merge_name(name)):
            self._forget(merge_name(name))
        self._add(name, part.replaced(inputs=inputs) if inputs else part, "add")
        return self

    def set_inputs(self, inputs: Mapping[str, InputType]) -> "GraphTransferLearning":
        """Set the types of the inputs, in the order of the features."""
        self._inputs = dict(inputs)
        return self

    def set_outputs(self, *names: str) -> "GraphTransferLearning":
        """Say which layers are outputs, in the order of the labels."""
        self._outputs = [self._known(name, "set_outputs") for name in names]
        return self

    def _initial_parts(self) -> dict[str, Part]:
        return dict(self._network.conf.vertices)

    def _configuration(self, parts: Mapping[str, Part]) -> Any:
        conf = self._network.conf
        left_over = {merge_name(key) for key in conf.vertices if key not in parts}
        parts = {
            key: part
            for key, part in parts.items()
            if not (key in left_over and self._is_left_over(key))
        }
        # An order that a file gave is one of the vertices that were there.
        is_same = {*conf.vertices, *conf.inputs} == {*parts, *self._inputs}
        return conf.replaced(
            inputs=self._inputs,
            vertices=parts,
            outputs=tuple(self._outputs),
            order=conf.order if is_same else None,
            **self._tuned(),
        )

    def _is_left_over(self, name: str) -> bool:
        """Return whether it merges what nothing reads any more."""
        part, is_output = self._parts.get(name), name in self._outputs
        is_read = is_output or bool(self._readers(name))
        return isinstance(part, MergeVertex) and not is_read

    def _up_to(self, name: str) -> set[str]:
        found, waiting = set(), [name]
        while waiting:
            key = waiting.pop()
            if key in self._parts and key not in found:
                found.add(key)
                waiting += self._parts[key].inputs
        return found

    def _readers(self, name: str) -> list[str]:
        return [key for key, part in self._parts.items() if name in part.inputs]
