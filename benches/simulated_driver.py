"""What the simulated driver costs (`kc gpu`): a launch, and instructions of lanes by the checks.

    python benches/simulated_driver.py [--kc target/release/kc]

Prints a table in Markdown: microseconds from the call of a launch of one block to the next, by a client in Python, and
billions of lane-instructions in a second for three kernels: arithmetic (8 fused multiply-adds between branches), global
memory (a load, an addition and a store) and shared memory (a store, a barrier, a load, an addition). The best of 5, in time
of the processor, which runs the launches of a client in its own thread.
"""

import argparse
import ctypes
import json
import os
import subprocess
import sys
import time

HEAD = """.version 7.8
.target sm_80
.address_size 64
"""
BEGIN = """.visible .entry {name}(.param .u64 data, .param .u32 rounds)
{{
.reg .pred %p<2>;
.reg .b32 %r<9>;
.reg .f32 %f<4>;
.reg .b64 %rd<5>;
.shared .align 4 .b8 tile[1024];
ld.param.u64 %rd1, [data];
ld.param.u32 %r1, [rounds];
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ntid.x;
mov.u32 %r4, %tid.x;
mad.lo.s32 %r5, %r2, %r3, %r4;
mul.wide.u32 %rd2, %r5, 4;
add.s64 %rd3, %rd1, %rd2;
mov.u32 %r6, tile;
shl.b32 %r7, %r4, 2;
add.s32 %r6, %r6, %r7;
ld.global.f32 %f1, [%rd3];
LOOP:
{body}add.s32 %r1, %r1, -1;
setp.ne.s32 %p1, %r1, 0;
@%p1 bra LOOP;
st.global.f32 [%rd3], %f1;
ret;
}}
"""
# What is in the loop: its text, and its instructions.
BODIES = {
    "arithmetic": ("fma.rn.f32 %f1, %f1, 0f3F000000, 0f3F000000;\n" * 8, 8),
    "global": ("ld.global.f32 %f1, [%rd3];\nadd.f32 %f1, %f1, 0f3F800000;\nst.global.f32 [%rd3], %f1;\n", 3),
    "shared": ("st.shared.f32 [%r6], %f1;\nbar.sync 0;\nld.shared.f32 %f2, [%r6];\nadd.f32 %f1, %f1, %f2;\n", 4),
}
# Instructions before and after the loop, and those that count its rounds.
OUTSIDE, COUNTING = 14, 3
BLOCKS, THREADS, ROUNDS = 64, 256, 200


def client():
    """Measures in a process that the driver serves."""
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *args):
        status = getattr(cuda, name)(*args)
        assert status == 0, (name, status)

    call("cuInit", 0)
    context, module, data = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    text = HEAD + "".join(BEGIN.format(name=name, body=body) for name, (body, _) in BODIES.items())
    call("cuModuleLoadData", ctypes.byref(module), text.encode())
    call("cuMemAlloc_v2", ctypes.byref(data), ctypes.c_size_t(4 * BLOCKS * THREADS))
    call("cuMemsetD32_v2", data, 0, ctypes.c_size_t(BLOCKS * THREADS))

    def timed(name, blocks, threads, rounds, launches):
        function, count = ctypes.c_void_p(), ctypes.c_uint32(rounds)
        call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        params = (ctypes.c_void_p * 2)(ctypes.addressof(data), ctypes.addressof(count))
        best = float("inf")
        for _ in range(5):
            start = time.process_time()
            for _ in range(launches):
                call("cuLaunchKernel", function, blocks, 1, 1, threads, 1, 1, 0, None, params, None)
            call("cuCtxSynchronize")
            best = min(best, (time.process_time() - start) / launches)
        return best

    found = {"launch": 1e6 * timed("arithmetic", 1, 32, 1, 2000)}
    for name, (_, instructions) in BODIES.items():
        lanes = BLOCKS * THREADS * (OUTSIDE + ROUNDS * (instructions + COUNTING))
        found[name] = lanes / timed(name, BLOCKS, THREADS, ROUNDS, 1) / 1e9
    print(json.dumps(found))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kc", default="target/release/kc")
    args = parser.parse_args()
    rows = {
        "all checks": ["--checks", "races,uninitialised,leaks"],
        "without races": ["--checks", "uninitialised,leaks"],
        "without uninitialised": ["--checks", "races,leaks"],
        "no checks": ["--checks", "none"],
        "all checks and a report": ["--checks", "races,uninitialised,leaks", "--report", os.devnull],
    }
    print("| | launch, us | " + " | ".join(f"{name}, G/s" for name in BODIES) + " |")
    print("|---" * (2 + len(BODIES)) + "|")
    for name, options in rows.items():
        command = [args.kc, "gpu", *options, "--", sys.executable, os.path.abspath(__file__), "--client"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not done.stdout.startswith("{"):
            sys.exit(done.stderr)
        found = json.loads(done.stdout)
        print(f"| {name} | {found['launch']:.0f} | " + " | ".join(f"{found[body]:.2f}" for body in BODIES) + " |", flush=True)


if __name__ == "__main__":
    client() if sys.argv[1:] == ["--client"] else main()
