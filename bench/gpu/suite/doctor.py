"""The part `doctor`: whether our programs can start here, and what `troupe doctor` finds."""

import contextlib

from suite import machine, programs
from suite.programs import Trouble

WHAT = "whether all libraries of our programs are here (ldd), and what troupe doctor finds"


def unpack_command(suite):
    """The first start of a bundle's program unpacks all of them."""
    return [suite.program("troupe"), "--version"]


def ldd_command(suite):
    """Over the programs, not over a bundle's launchers."""
    unpacked = suite.root / "unpacked"
    if suite.programs == suite.root / "bin":
        files = sorted((unpacked / "programs").glob("*"))
        return ["env", f"LD_LIBRARY_PATH={unpacked / 'lib'}", "ldd", *files]
    return ["ldd", *(path for path in map(suite.path, programs.OURS) if path)]


def plan(suite):
    yield unpack_command(suite)
    yield ldd_command(suite)
    yield machine.doctor_command(suite)
    yield machine.NVIDIA_SMI


def check_links(suite, log, deadline):
    """Raises Trouble with the names of libraries that are not here; scripts, which ldd refuses, are none."""
    lost = {}

    def keep(line):
        name, arrow, where = line.strip().partition(" => ")
        if arrow and where.startswith("not found"):
            lost[name] = None

    programs.run(unpack_command(suite), machine.left(deadline, 60), log)
    with contextlib.suppress(Trouble):
        programs.run(ldd_command(suite), machine.left(deadline, 20), log, keep)
    if lost:
        raise Trouble(f"libraries that our programs need are not here: {', '.join(lost)}")


def run_part(suite, log, deadline):
    troubles = []
    for check in (check_links, machine.look):
        try:
            check(suite, log, deadline)
        except Trouble as trouble:
            troubles.append(str(trouble))
    if troubles:
        raise Trouble("; ".join(troubles))
