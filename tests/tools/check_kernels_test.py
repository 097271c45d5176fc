"""tools/check-kernels with an nvcc that pretends: each kind of kernel that got worse is named."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools/lib"))
import kernel_code  # noqa: E402

PACKED, TILED = "_Z6packedPf", "_Z5tiledPf"
NVCC = """#!/bin/sh
case "$*" in --version) echo "Cuda compilation tools, release $(cat {folder}/release), V1"; exit ;; esac
echo "$*" >>{folder}/commands
[ ! -e {folder}/broken ] || {{ echo 'x.cu(3): error: no such thing' >&2; exit 2; }}
while [ $# -gt 0 ]; do [ "$1" != --keep-dir ] || cp {folder}/x.ptx "$2"; shift; done
cat {folder}/ptxas >&2
"""
PTXAS = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '{name}' for 'sm_90'
ptxas info    : Function properties for {name}
    {stack} bytes stack frame, {spill} bytes spill stores, {spill} bytes spill loads
ptxas info    : Used {registers} registers, used 1 barriers{shared}, 400 bytes cmem[0]
"""
WIDE = "ld.global.nc.v4.u32 \t{%r1, %r2, %r3, %r4}, [%rd1];\n\tst.global.v4.u32 \t[%rd2], {%r1, %r2, %r3, %r4};"
NARROW = "ld.global.u16 \t%rs1, [%rd3];"
ELSEWHERE = "ld.param.u64 \t%rd1, [p];\n\tst.shared.u16 \t[%r5], %rs1;\n\tld.shared::cta.b16 \t%rs1, [%r5];"


def ptxas(name, registers=32, shared=0, spill=0):
    memory = f", {shared} bytes smem" if shared else ""
    return PTXAS.format(name=name, stack=spill, spill=spill, registers=registers, shared=memory)


def ptx(name, *accesses):
    body = "\n\t".join(accesses)
    return f".visible .entry {name}(\n\t.param .u64 p\n)\n.maxntid 256, 1, 1\n{{\n\t{ELSEWHERE}\n\t{body}\n\tret;\n}}\n"


class CheckKernels(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="troupe-check-kernels-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        (self.folder / "nvcc").write_text(NVCC.format(folder=self.folder))
        (self.folder / "nvcc").chmod(0o755)
        (self.folder / "release").write_text("13.0")
        self.compiler("nvcc")
        self.compiled(ptxas(PACKED) + ptxas(TILED, shared=4096), ptx(PACKED, WIDE) + ptx(TILED, NARROW))

    def compiler(self, name):
        command = f"/usr/bin/ccache {self.folder}/{name} -O3 -std=c++20 --generate-code=arch=compute_80,code=[sm_80,sm_90] "
        command += "-MD -MT x.o -MF x.o.d -x cu -c /tree/gpu/kernels/x.cu -o x.o"
        entry = {"directory": str(self.folder), "command": command, "file": "/tree/gpu/kernels/x.cu"}
        host = {**entry, "command": "g++ -c /tree/gpu/x.cpp", "file": "/tree/gpu/x.cpp"}
        (self.folder / "compile_commands.json").write_text(json.dumps([entry, host]))

    def compiled(self, said, code):
        """What nvcc says and writes from now on."""
        (self.folder / "ptxas").write_text(said)
        (self.folder / "x.ptx").write_text(code)

    def run_tool(self, *words):
        command = [ROOT / "tools/check-kernels", "--build", self.folder, "--limits", self.folder / "limits.tsv", *words]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        return ended.returncode, ended.stdout + ended.stderr

    def record(self):
        code, said = self.run_tool("--record")
        self.assertEqual(code, 0, said)

    def assert_breach(self, *lines):
        code, said = self.run_tool()
        self.assertEqual(code, 1, said)
        self.assertEqual(said.splitlines()[:-1], [f"x.cu: {line}" for line in lines])

    def test_recorded_kernels_are_within_their_limits_and_so_are_better_ones(self):
        self.record()
        self.assertIn("x.cu\tpacked\t32\t0\t16\t0\t256\t16\n", (self.folder / "limits.tsv").read_text())
        self.assertIn("x.cu\ttiled\t32\t4096\t2\t1\t256\t2\n", (self.folder / "limits.tsv").read_text())
        self.assertEqual(self.run_tool()[0], 0)
        better = ptxas(PACKED, registers=30) + ptxas(TILED, registers=31, shared=2048)
        self.compiled(better, ptx(PACKED, WIDE) + ptx(TILED, WIDE))
        self.assertEqual(self.run_tool(), (0, "check-kernels: 2 kernels, 0 breaches of limits\n"))

    def test_more_registers_and_more_shared_memory(self):
        self.record()
        self.compiled(ptxas(PACKED, registers=40) + ptxas(TILED, shared=8192), ptx(PACKED, WIDE) + ptx(TILED, NARROW))
        shared = "tiled: has 8192 bytes of static shared memory, recorded 4096"
        self.assert_breach("packed: has 40 registers, recorded 32", shared)

    def test_packs_that_are_loaded_one_by_one(self):
        self.record()
        self.compiled(ptxas(PACKED) + ptxas(TILED, shared=4096), ptx(PACKED, NARROW, NARROW) + ptx(TILED, NARROW))
        self.assert_breach("packed: accesses at most 2 bytes at a time, recorded 16")

    def test_single_elements_beside_packs(self):
        self.record()
        self.compiled(ptxas(PACKED) + ptxas(TILED, shared=4096), ptx(PACKED, WIDE, NARROW) + ptx(TILED, NARROW))
        self.assert_breach("packed: loads 1 single 16-bit elements beside packs, recorded 0")

    def test_a_spill_is_a_breach_also_where_it_was_recorded(self):
        self.compiled(ptxas(PACKED, spill=8), ptx(PACKED, WIDE))
        self.record()
        self.assert_breach("packed: spills 8 bytes")

    def test_packed_kernels_with_few_bytes_in_flight_are_listed(self):
        both = ptx(PACKED, WIDE, WIDE) + ptx(TILED, WIDE, "@%p1 bra \t$L__BB1_2;", "$L__BB1_2:", WIDE)
        self.compiled(ptxas(PACKED, registers=64) + ptxas(TILED, registers=64), both)
        self.record()
        code, said = self.run_tool("--in-flight")
        self.assertEqual(code, 0, said)
        self.assertEqual(said.splitlines()[0], " 16.0 KiB  4 blocks (50%)   16 bytes a thread  x.cu: tiled")
        self.assertIn("1 of 2 kernels", said)

    def test_more_shared_memory_than_a_launch_gets(self):
        self.compiled(ptxas(PACKED, shared=50000), ptx(PACKED, WIDE))
        self.record()
        self.assert_breach("packed: has 50000 bytes of static shared memory, at most 49152 allowed")

    def test_kernels_that_came_and_went(self):
        self.record()
        self.compiled(ptxas(PACKED) + ptxas("_Z3newPf"), ptx(PACKED, WIDE) + ptx("_Z3newPf", WIDE))
        gone = "tiled: is recorded, but there is no such kernel (--record)"
        self.assert_breach("new: is not recorded (--record)", gone)

    def test_of_another_release_only_what_holds_for_all_is_checked(self):
        self.record()
        (self.folder / "release").write_text("13.2")
        self.compiled(ptxas(PACKED, registers=99), ptx(PACKED, NARROW))
        code, said = self.run_tool()
        self.assertEqual(code, 0, said)
        self.assertIn("nvcc 13.2, recorded with 13.0", said)
        self.compiled(ptxas(PACKED, spill=4), ptx(PACKED, NARROW))
        self.assertEqual(self.run_tool()[0], 1)

    def test_a_file_that_does_not_compile(self):
        self.record()
        (self.folder / "broken").touch()
        code, said = self.run_tool()
        self.assertEqual(code, 1)
        self.assertIn("x.cu(3): error: no such thing", said)

    def test_without_nvcc_it_is_skipped(self):
        self.compiler("g++")
        code, said = self.run_tool()
        self.assertEqual((code, said), (77, f"skipped: no nvcc compiles the kernels of {self.folder}\n"))
        (self.folder / "compile_commands.json").unlink()
        self.assertEqual(self.run_tool()[0], 77)

    def test_it_compiles_as_cmake_does_but_for_one_device(self):
        self.record()
        words = (self.folder / "commands").read_text().split()
        self.assertEqual(words[:5], ["-O3", "-std=c++20", "-x", "cu", "/tree/gpu/kernels/x.cu"])
        self.assertIn("--generate-code=arch=compute_80,code=sm_90", words)
        self.assertFalse({"-c", "-MD", "x.o", "x.o.d"} & set(words))


class Reading(unittest.TestCase):
    def test_names_are_without_parameters(self):
        name = "void troupe::gpu::(anonymous namespace)::f<8, g(int)::h>(troupe::gpu::Inputs<float>, (anonymous namespace)::A)"
        self.assertEqual(kernel_code.without_parameters(name), "f<8, g(int)::h>")

    def test_widths_of_accesses(self):
        found = {
            "ld.global.v4.u32 {%r1}, [%rd1];": (True, 4, 4),
            "ld.volatile.global.b16 %rs1, [%rd1];": (True, 1, 2),
            "ld.global.nc.L1::no_allocate.v2.f64 {%fd1}, [%rd1];": (True, 2, 8),
            "st.global.f32 [%rd1], %f1;": (False, 1, 4),
            "ld.shared.u16 %rs1, [%r1];": None,
            "add.s32 %r1, %r2, %r3;": None,
        }
        for line, access in found.items():
            self.assertEqual(kernel_code.access_of(f"\t{line}"), access, line)


if __name__ == "__main__":
    unittest.main()
