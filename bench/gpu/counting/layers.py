"""A layer, for each of which the kernels of its kinds are counted."""

from dataclasses import dataclass, field


@dataclass
class Layer:
    kinds: tuple
    elements: dict  # of each of its tensors, by name
    operations: float = 0  # of one of its products
    bytes: dict = field(default_factory=dict)  # of reads and writes that are no single tensor
    times: int = 1  # a step
