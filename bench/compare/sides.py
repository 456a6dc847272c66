"""The sides of a case: torch in this process, and programs that answer JSON lines: ours, and peers."""

import contextlib
import json
import os
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path


PAUSE = 0.005  # seconds; a side's threads spin for a moment after their work
BURST = 0.02   # seconds of one turn, at least: short cases are repeated within it
SHORT = 0.2    # seconds; what takes longer does not notice how it begins


class Failed(Exception):
    """A side could not run the case."""


class Died(SystemExit):
    """A side's process ended by itself."""


class Driver:
    """Talks to a program that answers as bench/compare/ours.cc says."""

    def __init__(self, torch, command, threads):
        self.torch = torch
        shared = Path("/dev/shm")  # memory, where there is such a folder: inputs are large
        self.folder = tempfile.TemporaryDirectory(
            prefix="glassformer-compare-", dir=shared if os.access(shared, os.W_OK) else None)
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "OMP_NUM_THREADS": str(threads)})
        self.peak_bytes = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(BrokenPipeError):  # of one that has died
            self.process.stdin.close()
        self.process.wait()
        self.folder.cleanup()

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise Died(f"error: {self.process.args[0]} died, status {self.process.wait()}")
        reply = json.loads(line)
        if "error" in reply:
            raise Failed(reply["error"])
        return reply

    def load(self, case, inputs):
        """Makes `case` the current one and gives its results."""
        files = [self.write(f"{i}.bin", x) for i, x in enumerate(inputs)]
        try:
            reply = self.ask({"case": case.op, "args": case.args, "grad": case.grad,
                              "inputs": files, "outputs": f"{self.folder.name}/out", "repeats": 1})
            self.peak_bytes = reply["peak_bytes"]
            return [self.read(file) for file in reply["outputs"]]
        finally:
            for file in Path(self.folder.name).iterdir():
                file.unlink()

    def run(self, repeats):
        return self.ask({"repeats": repeats})["seconds"]

    def write(self, name, x):
        path = f"{self.folder.name}/{name}"
        dtype = str(x.dtype).removeprefix("torch.")
        raw = x.contiguous().flatten().view(self.torch.uint8) if x.dim() else x.reshape(1)
        raw.view(self.torch.uint8).numpy().tofile(path)
        return {"path": path, "shape": list(x.shape), "dtype": dtype}

    def read(self, file):
        size = Path(file["path"]).stat().st_size
        content = bytearray(Path(file["path"]).read_bytes()) if size else bytearray()
        x = self.torch.frombuffer(content, dtype=getattr(self.torch, file["dtype"]))
        return x.reshape(file["shape"])

    def resident_bytes(self):
        """The most memory that the process has held so far, mapped files among it."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) * 1024


class Floor:
    """The machine itself: the best loops on as many operations and bytes as the case needs, in our
    process and on the case's own memory, for some pages are slower than others and caches keep a
    part of it; or on memory that no cache holds."""

    def __init__(self, driver, case, beyond_caches=False):
        self.driver = driver
        self.request = {"floor": {"dtype": case.dtype, "operations": case.flops,
                                  "reads": int(case.reads), "writes": int(case.writes),
                                  "beyond_caches": beyond_caches}}

    def run(self, repeats):
        return self.driver.ask({**self.request, "repeats": repeats})["seconds"]


class Torch:
    def __init__(self, torch, threads):
        self.torch = torch
        torch.set_num_threads(threads)

    def load(self, case, inputs):
        self.case = case
        self.inputs = inputs[:-1] if case.grad else inputs
        self.upstream = inputs[-1] if case.grad else None
        self.wanted = [self.inputs[i].requires_grad_() for i in case.grad]
        return self.run_once()[1]

    def run_once(self):
        """(seconds, results)."""
        if not self.case.grad:
            with self.torch.no_grad():
                start = time.perf_counter()
                y = self.case.torch(self.torch, self.inputs)
                return time.perf_counter() - start, [y]
        y = self.case.torch(self.torch, self.inputs)
        upstream = self.upstream.to(y.dtype)
        start = time.perf_counter()
        gradients = self.torch.autograd.grad(y, self.wanted, upstream)
        return time.perf_counter() - start, list(gradients)

    def run(self, repeats):
        return [self.run_once()[0] for _ in range(repeats)]


def exact(case, inputs):
    """The case's results by torch in float64."""
    import torch

    side = Torch(torch, torch.get_num_threads())
    return side.load(case, [x.detach().double() if x.is_floating_point() else x for x in inputs])


def take_turns(those, turns):
    """The seconds of each side, turn by turn. The turn of a short case begins with a run that does
    not count: in the pause threads and clocks have gone to rest, which it would mostly measure."""
    least = [max(min(side.run(2)), 1e-6) for side in those]
    bursts = [max(1, min(20, int(BURST / seconds))) for seconds in least]
    uncounted = [1 if seconds < SHORT else 0 for seconds in least]
    times = [[] for _ in those]
    for turn in range(turns):
        order = list(zip(those, bursts, uncounted, times))
        for side, burst, skipped, own in order if turn % 2 else reversed(order):
            time.sleep(PAUSE)
            own.append(statistics.median(side.run(burst + skipped)[skipped:]))
    return times


def share_of(needed, taken):
    """What a side needed at least over what it took, turn by turn; the median. Where others use the
    machine its ceilings change with them, and what was possible a minute ago is no measure."""
    return statistics.median(least / own for least, own in zip(needed, taken, strict=True))
