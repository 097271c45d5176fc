"""Each node of a step beside the least time that the device needs for it (Williams et al. 2009)."""

from dataclasses import dataclass

BANDWIDTH = {"H200": 4.3e12, "H100": 3.0e12, "A100": 1.8e12}  # bytes/s that a copy reaches
RATES = {  # operations/s that large products reach
    "H200": {"fp16": 790e12, "tf32": 395e12, "fp32": 60e12},
    "H100": {"fp16": 790e12, "tf32": 395e12, "fp32": 60e12},
    "A100": {"fp16": 280e12, "tf32": 140e12, "fp32": 19e12},
}
HEAD = ["unit", "node", "output", "µs", "MB", "GFLOP", "of bandwidth", "of FLOP/s", "bound µs", "bound ÷ µs"]


@dataclass
class Peaks:
    """What a device reaches at most."""

    bytes: float  # a second
    operations: float  # a second

    def bound(self, node):
        """In seconds."""
        return max(node["bytes"] / self.bytes, node["operations"] / self.operations)


def peaks_of(device, precision):
    """None where the device is not known."""
    name = next((name for name in BANDWIDTH if name in device), None)
    kind = precision if precision in ("tf32", "fp32") else "fp16"
    return Peaks(BANDWIDTH[name], RATES[name][kind]) if name else None


def compare(device, precision, nodes, milliseconds):
    """For the report: nodes as the program gives them, with their shares; and of the whole step, launched as
    one, the share that the bound of all nodes is. A device that is not known has times, bytes and operations.
    """
    peaks = peaks_of(device, precision)
    found = {"device": device, "ms": milliseconds, "nodes": nodes}
    for node in nodes:
        seconds = 1e-6 * node["us"]
        if peaks and seconds > 0:
            node["of_bandwidth"] = node["bytes"] / seconds / peaks.bytes
            node["of_operations"] = node["operations"] / seconds / peaks.operations
            node["bound"] = 1e6 * peaks.bound(node)
            node["share"] = node["bound"] / node["us"]
    if peaks and nodes:
        found["bound_ms"] = 1e3 * sum(map(peaks.bound, nodes))
        found["share"] = found["bound_ms"] / milliseconds
    return found


def keep(report, case, result):
    """Puts the profile of a step into the report; returns it."""
    found = compare(result.get("device", ""), case.precision, result.get("profile", []), result["ms"])
    report.data["roofline"][case.name] = found
    return found


def words(found):
    """What comes before the table."""
    total = sum(node["us"] for node in found["nodes"]) / 1e3
    text = (
        f"The step takes {found['ms']:.2f} ms on {found['device']}; its nodes one by one {total:.2f} ms: each is "
        "timed with its launch, so that short ones look worse than they are within the step."
    )
    if "share" in found:
        text += f" At their bounds all nodes would take {found['bound_ms']:.2f} ms: {100 * found['share']:.0f}%."
    return text


def rows(found):
    for node in found["nodes"]:
        shares = [f"{node[key]:.2f}" if key in node else "–" for key in ("of_bandwidth", "of_operations")]
        bound = [f"{node['bound']:.1f}", f"{node['share']:.2f}"] if "bound" in node else ["–", "–"]
        measured = [f"{node['us']:.1f}", f"{node['bytes'] / 1e6:.1f}", f"{node['operations'] / 1e9:.1f}"]
        yield [node["unit"], node["name"], node["output"], *measured, *shares, *bound]
