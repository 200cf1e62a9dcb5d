"""Dense networks: trained as PyTorch tensors, kept and run as numpy arrays."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from gapdrift._typing import Matrix
from gapdrift.errors import GapdriftError

__all__ = ["Layer", "forward", "kept", "layers", "parameters", "run", "torch_on_one_thread"]


class Layer(NamedTuple):
    """Weights (inputs, outputs) and offsets (outputs,), as tensors or as arrays."""

    weights: Any
    offsets: Any


@contextmanager
def torch_on_one_thread() -> Iterator[Any]:
    """PyTorch, imported late and kept to one thread: sums then come in one order, and small layers gain nothing."""
    try:
        import torch  # noqa: PLC0415
    except ImportError as error:
        raise GapdriftError(
            "The networks need PyTorch, which is not installed: install gapdrift with the extra 'experiments'."
        ) from error
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield torch
    finally:
        torch.set_num_threads(threads)


def layers(torch: Any, sizes: Sequence[int], generator: Any) -> list[Layer]:
    """Layers between these sizes, with Glorot's Gaussian weights from a generator of their own and offsets of 0."""
    made = []
    for inputs, outputs in itertools.pairwise(sizes):
        weights = torch.randn(inputs, outputs, generator=generator) * (2.0 / (inputs + outputs)) ** 0.5
        made.append(Layer(weights.requires_grad_(), torch.zeros(outputs, requires_grad=True)))
    return made


def parameters(network: Sequence[Layer]) -> list[Any]:
    """All tensors of a network, for an optimiser."""
    return [tensor for layer in network for tensor in layer]


def forward(network: Sequence[Layer], rows: Any, activation: Callable[[Any], Any]) -> Any:
    """Outputs of a network of tensors, with an activation after all layers but the last."""
    for layer in network[:-1]:
        rows = activation(rows @ layer.weights + layer.offsets)
    return rows @ network[-1].weights + network[-1].offsets


def kept(network: Sequence[Layer]) -> tuple[Layer, ...]:
    """The network as arrays in double precision."""
    return tuple(Layer(*(tensor.detach().numpy().astype(float) for tensor in layer)) for layer in network)


def run(network: Sequence[Layer], rows: Matrix, activation: Callable[[Matrix], Matrix]) -> Matrix:
    """Outputs of a network of arrays.

    Examples
    --------
    >>> import numpy as np
    >>> run([Layer(np.eye(2), np.ones(2))], np.zeros((1, 2)), np.tanh)
    array([[1., 1.]])
    """
    return np.asarray(forward(network, rows, activation))
