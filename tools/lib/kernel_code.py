"""Compiles a CUDA source file and reads the registers, memory and accesses of each of its kernels."""

import collections
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass

ENTRY = re.compile(r"Compiling entry function '(\w+)'")
FUNCTION = re.compile(r"Function properties for '?(\w+)")
SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
REGISTERS = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")
PTX_ENTRY = re.compile(r"\.entry\s+(\w+)")
PTX_FUNCTION = re.compile(r"^\s*(?:\.\w+\s+)*\.func\b")
ACCESS = re.compile(r"\b(ld|st)((?:\.[\w:]+)+)\s")
TYPE = re.compile(r"[busf](8|16|32|64|128)")
MOST_THREADS = re.compile(r"\.maxntid\s+(\d+)")
BRANCH = re.compile(r"^\s*\$?\w+:|\bbra\b")  # or the target of one
VECTOR = re.compile(r"v([248])")
OTHER_SPACES = {"shared", "local", "param", "const"}
PACK_BYTES = 16

# Options of CMake's command that name its output or its devices.
WITH_VALUE = {"-o", "-MT", "-MF", "-gencode", "--generate-code", "-arch"}
WITHOUT_VALUE = {"-c", "-MD", "-dc"}


class Trouble(Exception):
    """The reason why a file was not compiled."""


@dataclass
class Kernel:
    """A kernel, or a function that is not inlined into one. Its name is demangled, without parameters."""

    name: str
    registers: int = 0
    shared: int = 0  # static, bytes
    spilled: int = 0  # bytes, stored or loaded
    widest: int = 0  # bytes of the widest access of global memory
    narrow: int = 0  # loads of one 16-bit element from global memory
    threads: int = 0  # of a block, by the kernel's launch bounds; 0: without bounds
    loads: int = 0  # most bytes that a thread loads from global memory between two branches

    @property
    def is_packed(self):
        return self.widest >= PACK_BYTES

    @property
    def blocks(self):
        """Blocks that a multiprocessor of sm_90 holds at once; 0 without launch bounds."""
        if not self.threads:
            return 0
        registers = -(-self.registers // 8) * 8 * self.threads
        return min(65536 // registers, (228 << 10) // (self.shared + 1024), 2048 // self.threads, 32)

    @property
    def in_flight(self):
        """Bytes that these blocks load at a time, if a thread waits only where it branches."""
        return self.blocks * self.threads * self.loads


def parse_ptxas(text):
    """Returns {mangled name: Kernel} from the output of `-Xptxas -v`."""
    kernels, current = {}, None
    for line in text.splitlines():
        if match := ENTRY.search(line) or FUNCTION.search(line):
            current = kernels.setdefault(match[1], Kernel(match[1]))
        if current is None:
            continue
        if match := SPILLS.search(line):
            current.spilled = max(int(match[1]), int(match[2]))
        if match := REGISTERS.search(line):
            current.registers = int(match[1])
            shared = SHARED.search(line)
            current.shared = int(shared[1]) if shared else 0
    return kernels


def access_of(line):
    """Returns (is a load, elements, bytes of an element) for an access of global memory, else None."""
    match = ACCESS.search(line)
    if not match:
        return None
    words = match[2].strip(".").split(".")
    sizes = [int(found[1]) for found in map(TYPE.fullmatch, words) if found]
    if not sizes or any(word.partition("::")[0] in OTHER_SPACES for word in words):
        return None
    elements = next((int(found[1]) for found in map(VECTOR.fullmatch, words) if found), 1)
    return match[1] == "ld", elements, sizes[-1] // 8


def parse_ptx(text, kernels):
    """Counts the accesses of `kernels`, {mangled name: Kernel}."""
    current, loaded = None, 0
    for line in text.splitlines():
        if match := PTX_ENTRY.search(line):
            current, loaded = kernels.get(match[1]), 0
        elif PTX_FUNCTION.search(line):
            current = None
        elif current and (match := MOST_THREADS.search(line)):
            current.threads = int(match[1])
        elif BRANCH.search(line):
            loaded = 0
        elif current and (access := access_of(line)):
            is_load, elements, size = access
            loaded += elements * size if is_load else 0
            current.loads = max(current.loads, loaded)
            current.widest = max(current.widest, elements * size)
            current.narrow += is_load and elements == 1 and size == 2


def readable(mangled):
    """Demangles names; keeps their order."""
    program = shutil.which("c++filt") or shutil.which("cu++filt")
    if not program:
        raise Trouble("no c++filt: install binutils")
    ran = subprocess.run([program], input="\n".join(mangled), capture_output=True, text=True, check=True)
    return [without_parameters(name) for name in ran.stdout.splitlines()]


def without_parameters(name):
    """Turns "void troupe::gpu::(anonymous namespace)::f<8, T>(T*)" into "f<8, T>"."""
    name = name.replace("(anonymous namespace)::", "").replace("troupe::gpu::", "").removeprefix("void ")
    depth = 0
    for at, letter in enumerate(name):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0:
            return name[:at]
    return name


def is_nvcc(words):
    return any(os.path.basename(word) == "nvcc" for word in words)


def command_for(words, folder):
    """Changes CMake's command: it compiles for sm_90 only, without host code, and keeps PTX in `folder`."""
    first = next(at for at, word in enumerate(words) if os.path.basename(word) == "nvcc")
    kept, words = [words[first]], iter(words[first + 1 :])
    for word in words:
        if word in WITH_VALUE:
            next(words)
        elif word not in WITHOUT_VALUE and not word.startswith(("--generate-code=", "-arch=", "-gencode=")):
            kept.append(word)
    ours = ["--generate-code=arch=compute_80,code=sm_90", "-cubin", "-Xptxas", "-v", "--keep", "--keep-dir", folder]
    return [*kept, *ours, "-o", f"{folder}/kernels.cubin"]


def compile_kernels(entry):
    """Returns the kernels of an entry of compile_commands.json. Raises Trouble."""
    with tempfile.TemporaryDirectory(prefix="troupe-kernels-") as folder:
        command = command_for(shlex.split(entry["command"]), folder)
        ran = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True, check=False)
        said = ran.stdout + ran.stderr
        if ran.returncode != 0:
            raise Trouble(f"nvcc failed for {entry['file']}:\n{said}")
        kernels = parse_ptxas(said)
        for path in pathlib.Path(folder).glob("*.ptx"):
            parse_ptx(path.read_text(errors="replace"), kernels)
    mangled, seen = sorted(kernels), collections.Counter()
    for key, name in zip(mangled, readable(mangled)):
        seen[name] += 1
        kernels[key].name = name if seen[name] == 1 else f"{name} ({seen[name]})"  # functions that differ only in parameters
    return list(kernels.values())
