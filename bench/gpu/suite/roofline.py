"""Each node of a step beside the least time that the device needs for it (Williams et al. 2009)."""

from dataclasses import dataclass

BANDWIDTH = {"H200": 4.3e12, "H100": 3.0e12, "A100": 1.8e12}  # bytes/s that a copy reaches
RATES = {  # operations/s that large products reach
    "H200": {"fp16": 790e12, "tf32": 395e12, "fp32": 60e12},
    "H100": {"fp16": 790e12, "tf32": 395e12, "fp32": 60e12},
    "A100": {"fp16": 280e12, "tf32": 140e12, "fp32": 19e12},
}
HEAD = ["| unit | node | output | GFLOP | MB | bound µs | measured µs | share |", "|---" * 8 + "|"]


@dataclass
class Comparison:
    device: str
    nodes: list  # as the program gives them, each with its "bound" in µs
    milliseconds: float  # of the whole step, launched as one

    @property
    def bound(self):
        return sum(node["bound"] for node in self.nodes)

    @property
    def share(self):
        return self.bound / (1e3 * self.milliseconds)

    def markdown(self):
        yield f"# Roofline of a step on {self.device}"
        yield ""
        yield (
            f"All nodes: {self.bound / 1e3:.2f} ms at the bound, the step takes {self.milliseconds:.2f} ms: "
            f"{100 * self.share:.0f}%. A node by itself is timed with its launch, so that short ones look worse "
            "than they are within the step."
        )
        yield ""
        yield from HEAD
        for node in self.nodes:
            share = node["bound"] / node["us"] if node["us"] else 0
            yield (
                f"| {node['unit']} | {node['name']} | {node['output']} | {node['operations'] / 1e9:.1f} "
                f"| {node['bytes'] / 1e6:.1f} | {node['bound']:.1f} | {node['us']:.1f} | {share:.2f} |"
            )


def compare(device, precision, nodes, milliseconds):
    """None where there are no nodes, or the device is not known."""
    name = next((name for name in BANDWIDTH if name in device), None)
    if not nodes or not name:
        return None
    kind = precision if precision in ("tf32", "fp32") else "fp16"
    for node in nodes:
        seconds = max(node["bytes"] / BANDWIDTH[name], node["operations"] / RATES[name][kind])
        node["bound"] = 1e6 * seconds
    return Comparison(device, nodes, milliseconds)
