# SPDX-License-Identifier: Apache-2.0
"""A PyTorch program that never rests. It prints the lines that tenant prints: seconds since the
start, operations finished, GPU microseconds of them, and of each batch the mean and the longest
time from first launch to end in microseconds. Ends at SIGTERM."""
import signal
import sys
import time

import torch

stopping = False


def stop(*_):
    global stopping
    stopping = True


signal.signal(signal.SIGTERM, stop)
window = 0.1
device = torch.device("cuda", int(sys.argv[1]) if len(sys.argv) > 1 else 0)
a = torch.randn(4096, 4096, device=device, dtype=torch.float16)
b = torch.randn(4096, 4096, device=device, dtype=torch.float16)
begin = time.monotonic()
print("seconds,kernels,gpu_us,latency_mean_us,latency_max_us", flush=True)
# What one multiplication costs is the least that was seen: the time between two events holds
# the waits for a turn as well.
until, ops, cost, latencies = begin + window, 0, float("inf"), []
while not stopping:
    first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    launched = time.monotonic()
    first.record()
    for _ in range(4):
        a @ b
    last.record()
    last.synchronize()
    now = time.monotonic()
    ops, cost = ops + 4, min(cost, first.elapsed_time(last) * 1000 / 4)
    latencies.append((now - launched) * 1e6)
    if now >= until:
        print(f"{now - begin:.3f},{ops},{ops * cost:.0f},{sum(latencies) / len(latencies):.0f},{max(latencies):.0f}", flush=True)
        until, ops, latencies = now + window, 0, []
