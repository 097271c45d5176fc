"""CIFAR-10's files, which may come one by one: which are there, which are not, and how to go on."""

import hashlib

from suite.programs import Trouble


def wanted(suite):
    """{file: checksum}"""
    sums = suite.root / "tools/checksums/cifar10.sha256"
    return dict(reversed(line.split()) for line in sums.read_text().splitlines())


def missing(suite):
    return [name for name in wanted(suite) if not (suite.data / name).is_file()]


def is_right(path, digest):
    return hashlib.sha256(path.read_bytes()).hexdigest() == digest


def state(path, digest):
    if not path.is_file():
        return "missing"
    return "there" if is_right(path, digest) else f"damaged, {path.stat().st_size} bytes"


def look(suite):
    """{file: state}, also into the report."""
    found = {name: state(suite.data / name, digest) for name, digest in wanted(suite).items()}
    suite.report.data["data"] = found
    suite.report.save()
    return found


def go_on(names):
    return f"copy {', '.join(names)} there, one by one if need be, and start this again: what is there stays"


def why_skipped(suite):
    """Nothing is trained on a part of the files: its accuracy would not be that of CIFAR-10."""
    if not (names := missing(suite)):
        return None
    damaged = [name for name, state in look(suite).items() if state.startswith("damaged")]
    also = f"; damaged: {', '.join(damaged)}" if damaged else ""
    return f"no CIFAR-10 in {suite.data}: {', '.join(names)} missing{also}; {go_on(damaged + names)}"


def check(suite):
    """Raises Trouble where a file is not what it should be."""
    if bad := [name for name, state in look(suite).items() if state != "there"]:
        raise Trouble(f"without the recorded checksum in {suite.data}: {', '.join(bad)}; {go_on(bad)}")
