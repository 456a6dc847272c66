"""Finds the instruction set up to which torch runs on this machine.

Some virtual machines announce matrix tiles (AMX) and hide the tables that oneDNN, inside torch,
configures them from; its bfloat16 kernels then end the process with an illegal instruction. A
subprocess finds out.
"""

import os
import signal
import subprocess
import sys

VARIABLE = "ONEDNN_MAX_CPU_ISA"
LEVELS = [None, "AVX10_1_512", "AVX512_CORE_BF16", "AVX2"]  # the first leaves torch its choice
PROBE = ("import torch; x = torch.ones(64, 64).bfloat16(); torch.nn.functional.linear(x, x); "
         "x = x.view(1, 1, 64, 64); torch.nn.functional.scaled_dot_product_attention(x, x, x)")


def find_level():
    """The level to set, or None where torch runs as it is."""
    if VARIABLE in os.environ:
        return os.environ[VARIABLE]
    for level in LEVELS:
        environment = {**os.environ, **({VARIABLE: level} if level else {})}
        done = subprocess.run([sys.executable, "-c", PROBE], env=environment, capture_output=True,
                              text=True, check=False)
        if done.returncode == 0:
            return level
        if done.returncode != -signal.SIGILL:
            raise SystemExit(f"error: torch does not run: {done.stderr.strip()}")
    raise SystemExit("error: torch ends with an illegal instruction at every level")
