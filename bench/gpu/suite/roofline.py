"""Each node of a step beside the least time that the device needs for it (Williams et al. 2009)."""

from dataclasses import dataclass

HEAD = ["unit", "node", "output", "µs", "MB", "GFLOP", "of bandwidth", "of FLOP/s", "bound µs", "bound ÷ µs"]


@dataclass
class Rates:
    """Rates that kernels reach on the device, as the program prints them (gpu/device_rates.cpp)."""

    bytes: float  # a second
    operations: dict  # a second, by class

    def operations_for(self, node):
        return self.operations[node["operation_class"]]

    def bound(self, node):
        """In seconds."""
        return max(node["bytes"] / self.bytes, node["operations"] / self.operations_for(node))


def rates_of(result):
    """None if the program printed no rates."""
    rates = result.get("rates")
    return Rates(rates["bytes_per_second"], rates["operations_per_second"]) if rates else None


def compare(result):
    """Returns for the report: the nodes of a profile with their shares, and the share of the step's time that
    the sum of all bounds is. Without rates, there are times, bytes and operations only.
    """
    rates, milliseconds, nodes = rates_of(result), result["ms"], result.get("profile", [])
    found = {"device": result.get("device", ""), "ms": milliseconds, "nodes": nodes}
    for node in nodes:
        seconds = 1e-6 * node["us"]
        if rates and seconds > 0:
            node["of_bandwidth"] = node["bytes"] / seconds / rates.bytes
            node["of_operations"] = node["operations"] / seconds / rates.operations_for(node)
            node["bound"] = 1e6 * rates.bound(node)
            node["share"] = node["bound"] / node["us"]
    if rates and nodes:
        found["bound_ms"] = 1e3 * sum(map(rates.bound, nodes))
        found["share"] = found["bound_ms"] / milliseconds
    return found


def keep(report, case, result):
    """Puts the profile of a step into the report; returns it."""
    found = compare(result)
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
