"""Which machine a result is from, and the part `doctor`."""

import contextlib
import json
import os
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
WHAT = "what troupe doctor finds, driver, versions; which calls stand still while a stream waits for the host"
EMULATED = "Emulated GPU"  # tests/emulation's
FREE_PORTS = ["--set", "cluster.listen=127.0.0.1:0", "--set", "metrics.listen=127.0.0.1:0"]
PLACES = "TROUPE_CUDA_LIBRARIES"
HOST_WAITS = "bench_gpu_host_waits"  # what the design takes for granted, asked of the driver
NVIDIA_SMI = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]


LIBRARIES = """
import glob, json, sys
print(json.dumps({"libraries": [found for place in sys.path for found in glob.glob(place + "/nvidia/*/lib")]}))
"""


def doctor_command(suite, *words):
    free_ports = [suite.root / "configs/debug.yaml", *FREE_PORTS]  # another run's ports are no matter here
    return [suite.program("troupe"), "doctor", *words, *free_ports]


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
        programs.run(doctor_command(suite, "--json"), left(until, 60), log, lines.append)
    except Trouble as caught:
        trouble = caught
    try:
        return json.loads("\n".join(lines))
    except ValueError:
        raise trouble or Trouble("no JSON") from None


def look_quickly(suite, log):
    """Before anything else: the driver's own answer, and where the libraries of --python lie."""
    machine = suite.report.data["machine"]
    machine["device"] = None
    try:
        machine["device"] = ask_driver(suite, log, machine)
    except Trouble as trouble:
        machine["nvidia-smi"] = f"not known ({trouble})"
    find_libraries(suite, log)
    suite.report.save()


def look(suite, log, until):
    """Fills in the report's machine; what cannot be found out is left out. Only where `troupe doctor` has
    answered, and neither it nor nvidia-smi knows a device, is there none.
    """
    machine, data = suite.report.data["machine"], suite.report.data
    try:
        found = doctor(suite, log, until)
        machine["troupe"] = found.get("version", "")
        for section in ("host", "cuda"):
            machine.update({f"{section}: {name}": it["value"] for name, it in found.get(section, {}).items()})
        devices = [it["value"] for name, it in found.get("cuda", {}).items() if name.startswith("device ")]
        machine["device"] = machine["device"] or (devices[0] if devices else None)
        data["no_device"] = not machine["device"]
    except (Trouble, ValueError, KeyError, TypeError, AttributeError) as trouble:
        data["doctor_trouble"] = f"troupe doctor: {trouble}"
    try:
        machine.update(ask_pytorch(suite, log, until))
    except Trouble as trouble:
        machine["PyTorch"] = f"not known ({trouble})"
    machine["system"] = platform.platform()
    machine["Python"] = platform.python_version()
    suite.report.save()


def ask_driver(_suite, log, machine):
    """The first device's name."""
    lines = []
    programs.run(NVIDIA_SMI, 20, log, lines.append)
    machine["nvidia-smi"] = "; ".join(lines)
    return lines[0].partition(",")[0].strip() if lines else None


def find_libraries(suite, log):
    """Our programs look for cuDNN beside the python3 of the search path; --python may be another."""
    try:
        found = programs.run_for_object([*suite.python, "-c", LIBRARIES], 20, log).get("libraries", [])
    except Trouble:
        return
    known = [place for place in os.environ.get(PLACES, "").split(":") if place]
    os.environ[PLACES] = ":".join(known + [place for place in found if place not in known])


def ask_pytorch(suite, log, until):
    return programs.run_for_object([*suite.python, "-c", VERSIONS], left(until, 60), log)


def plan(suite):
    yield doctor_command(suite)
    yield NVIDIA_SMI
    yield [*suite.python, "-c", "..."]
    yield [suite.program(HOST_WAITS)]


def run_part(suite, log, deadline):
    """What was looked at before the run, for people, and whether it was in order. Where nothing is looked
    at before the parts, the looking itself comes here.
    """
    if not suite.run.looks_first:
        look(suite, log, deadline)
    elif not suite.report.data.get("doctor_trouble"):
        with contextlib.suppress(Trouble):
            programs.run(doctor_command(suite), left(deadline, 30), log)
    trouble = suite.report.data.get("doctor_trouble")
    if suite.report.data.get("no_device"):
        trouble = "no CUDA device on this machine"
    elif suite.has(HOST_WAITS):
        try:
            probe_host_waits(suite, log, deadline)
        except Trouble as caught:
            trouble = trouble or f"{HOST_WAITS}: {caught}"
    if trouble:
        raise Trouble(trouble)


def probe_host_waits(suite, log, deadline):
    found = programs.run_for_object([suite.program(HOST_WAITS)], left(deadline, 60), log)
    suite.report.data["host_waits"] = found
    suite.report.data["machine"]["streams that wait for the host"] = (
        f"go on after {found['goes_on_after_us']:.0f} µs; {found['streams_that_may_wait']} may wait at a time; "
        f"hold up: {', '.join(found['held_up']) or 'no call'}"
    )
