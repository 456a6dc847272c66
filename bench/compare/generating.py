"""Generation: llama.cpp beside our decoders, CTranslate2 beside our translation."""

import contextlib
import dataclasses
import importlib.util
import statistics
import sys
from pathlib import Path

import cases
import generation_report
import sides

PEER = str(Path(__file__).with_name("peer_generation.py"))
PEERS = {"decode": ("llama_cpp", "llama.cpp"), "translate": ("ctranslate2", "CTranslate2")}

# The largest difference of two sides' logits over the largest one. In float32 it is rounding; the
# others round weights, and numbers on their way, in ways of their own: of the random Llama our int8
# is 0.11 from float32 and Q8_0 0.06, our int4 0.65 and Q4_0 0.73.
ALLOWED = {"float32": 1e-3, "bfloat16": 5e-2, "int8": 0.2, "int4": 0.9}
BYTES_OF_A_WEIGHT = {"float32": 4, "bfloat16": 2, "int8": 1, "int4": 0.5 + 2 / 32}


def peer_of(op):
    """What the tables say of the other side, and whether it is there."""
    module, name = PEERS[op]
    if importlib.util.find_spec(module) is None:
        return f"{name}: missing, not installed", False
    return f"{name} ({module} {importlib.import_module(module).__version__})", True


def measure(case, files, torch, driver, arguments, turns):
    op, model, dtype = case.op, case.args["model"], case.args["type"]
    result = generation_report.Result(case)
    folder, compute = files.ours(model, dtype)
    own = dataclasses.replace(case, args={**case.args, "folder": str(folder), "dtype": compute})
    inputs = cases.make_inputs(torch, case)
    _, there = peer_of(op)
    # Before any side runs: making a file of a large model takes as much memory as running it.
    file = (files.gguf if op == "decode" else files.ctranslate2)(model, dtype) if there else None
    threads = arguments.threads
    with contextlib.ExitStack() as stack:
        start = lambda command: stack.enter_context(sides.Driver(torch, command, threads))
        try:
            running = [start([driver])]
            found = running[0].load(own, inputs)
            if there:
                args = {**case.args, "file": str(file), "dtype": dtype, "repacked": True}
                theirs = dataclasses.replace(case, args=args)
                try:
                    running.append(start([sys.executable, PEER, op]))
                    expected = running[1].load(theirs, inputs)
                except sides.Died:
                    if op != "decode":
                        raise
                    # With repacked weights llama.cpp may end with an illegal instruction, probably
                    # in its tile kernels, as torch does; see peer_probe.py.
                    args["repacked"], result.peer_limited = False, True
                    running[1] = start([sys.executable, PEER, op])
                    expected = running[1].load(theirs, inputs)
                validate(result, dtype, found[0], expected[0])
            result.peaks = [one.resident_bytes() for one in running]
            if op == "decode":
                running.insert(1, sides.Floor(running[0], needs(case, files, inputs),
                                              beyond_caches=True))
            times = sides.take_turns(running, turns)
            result.ours = statistics.median(times[0])
            result.theirs = statistics.median(times[-1]) if there else 0
            result.share = sides.share_of(times[1], times[0]) if op == "decode" else 0
        except sides.Failed as failure:
            result.failure = str(failure)
    return result


def needs(case, files, inputs):
    """The case with what it takes at least: multiplications of a prompt, of which only the last
    token meets the output layer, and weights read by steps."""
    weights, output = files.step_weights(case.args["model"])
    dtype = case.args["type"]
    if len(inputs) == 1:
        flops = 2.0 * ((weights - output) * len(inputs[0]) + output)
        return dataclasses.replace(case, dtype="int8" if dtype == "int4" else dtype, flops=flops)
    return dataclasses.replace(case, reads=weights * BYTES_OF_A_WEIGHT[dtype] * len(inputs[1]))


def validate(result, dtype, ours, theirs):
    """Logits are near, and have one likeliest token in float32; translations are the same there."""
    if ours.shape != theirs.shape:
        raise sides.Failed(f"shape {list(ours.shape)}, expected {list(theirs.shape)}")
    if result.case.op == "translate":
        result.difference = float((ours != theirs).double().mean())
        if dtype == "float32" and result.difference > 0:
            raise sides.Failed(f"{result.difference:.1%} of the tokens differ")
        return
    result.difference = cases.largest_difference([ours], [theirs])
    if result.difference > ALLOWED[dtype]:
        raise sides.Failed(f"off by {result.difference:.2g}, allowed {ALLOWED[dtype]:g}")
    if dtype == "float32" and ours.argmax() != theirs.argmax():
        raise sides.Failed("the likeliest tokens differ")
