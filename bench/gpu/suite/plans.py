"""The plans that our programs find, as one file: DIR/plans.tar.gz, which the next run takes with --plans."""

import contextlib
import io
import os
import pathlib
import re
import tarfile
import tempfile
import threading

NAME = "plans.tar.gz"
PLAN = re.compile(r"troupe/cudnn/[0-9a-f]{32}\.json")
LARGEST = 16 * 2**20  # bytes of the file
LARGEST_PLAN = 4 * 2**20
EVERY = 3.0  # seconds between two looks at the folder


def entries(cache):
    """{name in the archive: bytes}; a file that vanishes meanwhile is none."""
    found = {}
    for path in sorted((cache / "troupe/cudnn").glob("*.json")):
        name = str(path.relative_to(cache))
        with contextlib.suppress(OSError):
            if PLAN.fullmatch(name) and path.stat().st_size <= LARGEST_PLAN:
                found[name] = path.read_bytes()
    return found


def pack(plans):
    """The archive's bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in plans.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def unpack(file, cache):
    """How many plans of the file are now in the cache. Raises OSError or tarfile.TarError."""
    count = 0
    with tarfile.open(file, mode="r:gz") as archive:
        for entry in archive:
            if not entry.isfile() or not PLAN.fullmatch(entry.name) or entry.size > LARGEST_PLAN:
                continue
            path = cache / entry.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.extractfile(entry).read())
            count += 1
    return count


class Keeper:
    """A cache folder of this run's own, and DIR/plans.tar.gz, which follows it as long as the run lasts."""

    def __init__(self, folder):
        self.file = folder / NAME
        self.scratch = tempfile.TemporaryDirectory(prefix="troupe-plans-", ignore_cleanup_errors=True)
        self.cache = pathlib.Path(self.scratch.name)
        os.environ["XDG_CACHE_HOME"] = str(self.cache)
        self.seen, self.left_out = None, 0
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._follow, daemon=True)

    def take_in(self, file):
        """How many plans, and a line for the report: a file that has none only costs time."""
        try:
            count = unpack(file, self.cache)
            return count, f"{count} taken from {file}"
        except (OSError, EOFError, tarfile.TarError) as error:
            return 0, f"none taken from {file}: {error}"

    def start(self):
        self.thread.start()

    def _follow(self):
        while not self.stopping.wait(EVERY):
            with contextlib.suppress(OSError):  # a full disk: the next look tries again
                self.keep()

    def keep(self):
        """Writes the file anew where the folder has changed, whole or not at all."""
        plans = entries(self.cache)
        state = {name: hash(content) for name, content in plans.items()}
        if state == self.seen or not plans:
            return
        packed = pack(plans)
        self.left_out = 0
        while len(packed) > LARGEST:  # the largest are those that were compiled
            del plans[max(plans, key=lambda name: len(plans[name]))]
            self.left_out += 1
            packed = pack(plans)
        temporary = self.file.with_name(f".{NAME}.tmp")
        temporary.write_bytes(packed)
        os.replace(temporary, self.file)
        self.seen = state

    def end(self):
        """How many are in the file."""
        self.stopping.set()
        if self.thread.is_alive():
            self.thread.join()
        self.keep()
        self.scratch.cleanup()
        return len(self.seen or ()) - self.left_out
