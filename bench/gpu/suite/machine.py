"""Which machine a result is from, and the part `doctor`."""

import json
import platform
import time

from suite import programs
from suite.programs import Trouble

VERSIONS = """
import json, torch
found = {"PyTorch": torch.__version__, "CUDA of PyTorch": torch.version.cuda}
found["cuDNN of PyTorch"] = torch.backends.cudnn.version()
try:
    import torchvision
    found["torchvision"] = torchvision.__version__
except ImportError:
    pass
print(json.dumps(found))
"""
FREE_PORTS = ["--set", "cluster.listen=127.0.0.1:0", "--set", "metrics.listen=127.0.0.1:0"]
HOST_WAITS = "bench_gpu_host_waits"  # what the design takes for granted, asked of the driver
NVIDIA_SMI = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]


def doctor(suite, log):
    """What `troupe doctor` finds, {section: {name: {state, value}}}. Raises Trouble."""
    lines, troupe = [], suite.program("troupe")
    free_ports = [suite.root / "configs/debug.yaml", *FREE_PORTS]  # another run's ports are no matter here
    programs.run([troupe, "doctor", *free_ports], 30, log)
    programs.run([troupe, "doctor", "--json", *free_ports], 30, log, lines.append)
    return json.loads("\n".join(lines))


def look(suite, log):
    """Fills in the report's machine; what cannot be found out is left out."""
    machine = suite.report.data["machine"]
    machine["device"] = None
    try:
        found = doctor(suite, log)
        machine["troupe"] = found["version"]
        for section in ("host", "cuda"):
            machine.update({f"{section}: {name}": it["value"] for name, it in found.get(section, {}).items()})
        devices = [it["value"] for name, it in found.get("cuda", {}).items() if name.startswith("device ")]
        machine["device"] = devices[0] if devices else None
    except (Trouble, ValueError, KeyError) as trouble:
        suite.report.data["doctor_trouble"] = f"troupe doctor: {trouble}"
    for name, ask in (("nvidia-smi", ask_driver), ("PyTorch", ask_pytorch)):
        try:
            machine.update(ask(suite, log))
        except Trouble as trouble:
            machine[name] = f"not known ({trouble})"
    machine["system"] = platform.platform()
    machine["Python"] = platform.python_version()
    suite.report.save()


def ask_driver(_suite, log):
    lines = []
    programs.run(NVIDIA_SMI, 20, log, lines.append)
    return {"nvidia-smi": "; ".join(lines)}


def ask_pytorch(suite, log):
    return programs.run_for_object([*suite.python, "-c", VERSIONS], 60, log)


def plan(suite):
    yield [suite.program("troupe"), "doctor"]
    yield NVIDIA_SMI
    yield [*suite.python, "-c", "..."]
    yield [suite.program(HOST_WAITS)]


def run_part(suite, log, deadline):
    """The looking itself is done before every run."""
    if trouble := suite.report.data.get("doctor_trouble"):
        raise Trouble(trouble)
    if not suite.report.data["machine"]["device"]:
        raise Trouble("no CUDA device on this machine")
    if suite.has(HOST_WAITS):
        probe_host_waits(suite, log, deadline)


def probe_host_waits(suite, log, deadline):
    found = programs.run_for_object([suite.program(HOST_WAITS)], deadline - time.monotonic(), log)
    suite.report.data["host_waits"] = found
    suite.report.data["machine"]["streams that wait for the host"] = (
        f"go on after {found['goes_on_after_us']:.0f} µs; {found['streams_that_may_wait']} may wait at a time; "
        f"hold up: {', '.join(found['held_up']) or 'no call'}"
    )
