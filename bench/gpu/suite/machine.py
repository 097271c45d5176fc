"""Which machine a result is from."""

import json
import platform
import time

from suite import libraries, programs
from suite.programs import Trouble

EMULATED = "Emulated GPU"  # tests/emulation's
FREE_PORTS = ["--set", "cluster.listen=127.0.0.1:0", "--set", "metrics.listen=127.0.0.1:0"]
NVIDIA_SMI = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]


def doctor_command(suite):
    free_ports = [suite.root / "configs/debug.yaml", *FREE_PORTS]  # another run's ports are no matter here
    return [suite.program("troupe"), "doctor", "--json", *free_ports]


def is_emulated(suite):
    return suite.report.data["machine"].get("device") == EMULATED


def left(until, most):
    """Seconds, `most` at most."""
    return min(most, max(1.0, until - time.monotonic()))


def doctor(suite, log, until):
    """What `troupe doctor` finds, {section: {name: {state, value}}}, whatever it makes of it: its exit code
    judges a machine for a config, and says nothing here. Raises Trouble where it says nothing at all.
    """
    lines, trouble = [], None
    try:
        programs.run(doctor_command(suite), left(until, 30), log, lines.append)
    except Trouble as caught:
        trouble = caught
    try:
        return json.loads("\n".join(lines))
    except ValueError:
        raise trouble or Trouble("no JSON") from None


def look_quickly(suite, log):
    """Before anything else: the driver's own answer, and where CUDA's libraries are."""
    machine = suite.report.data["machine"]
    machine["device"] = None
    machine["system"] = platform.platform()
    machine["Python"] = platform.python_version()
    try:
        machine["device"] = ask_driver(log, machine)
    except Trouble as trouble:
        machine["nvidia-smi"] = f"not known ({trouble})"
    libraries.find(suite, log)
    suite.report.save()


def look(suite, log, until):
    """Fills in the report's machine. Only where `troupe doctor` has answered, and neither it nor nvidia-smi
    knows a device, is there none. Raises Trouble where doctor does not answer or finds no device.
    """
    machine, data = suite.report.data["machine"], suite.report.data
    try:
        found = doctor(suite, log, until)
        machine["troupe"] = found.get("version", "")
        for section in ("host", "cuda"):
            machine.update({f"{section}: {name}": it["value"] for name, it in found.get(section, {}).items()})
        devices = [it["value"] for name, it in found.get("cuda", {}).items() if name.startswith("device ")]
    except (Trouble, ValueError, KeyError, TypeError, AttributeError) as trouble:
        raise Trouble(f"troupe doctor: {trouble}") from None
    machine["device"] = machine["device"] or (devices[0] if devices else None)
    data["no_device"] = not machine["device"]
    if data["no_device"]:
        raise Trouble("no CUDA device on this machine")
    if not devices:
        raise Trouble(f"troupe sees no CUDA device; driver: {machine.get('cuda: driver', 'not known')}")


def ask_driver(log, machine):
    """The first device's name."""
    lines = []
    programs.run(NVIDIA_SMI, 10, log, lines.append)
    machine["nvidia-smi"] = "; ".join(lines)
    return lines[0].partition(",")[0].strip() if lines else None
