"""Whole models: made once with random weights, and run by every side in a process of its own.

A process that has run nothing else holds what the model takes: its peak is the model's.
"""

import contextlib
import dataclasses
import shutil
import statistics
import sys
from pathlib import Path

import cases
import report
import sides

PEER = str(Path(__file__).with_name("peer.py"))


def prepare(root, chosen):
    """Makes the folders that the cases want and that are not there yet."""
    for case in chosen:
        name = case.args["folder"]
        if not (root / name).exists():
            print(f"making {root / name} (once)", file=sys.stderr)
            make_folder(root / name, case)
    return root


def make_folder(folder, case):
    """A Hugging Face folder with random weights, and model.onnx in it."""
    import torch
    import transformers

    kind = {"bert-base": (transformers.BertModel, transformers.BertConfig),
            "vit-b16": (transformers.ViTModel, transformers.ViTConfig)}
    model, config = kind[folder.name]
    torch.manual_seed(2017)
    model = model(config()).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:  # biases and norms, which start as zeros and ones
                parameter += 0.1 * torch.randn_like(parameter)
    unfinished = folder.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    model.save_pretrained(unfinished)
    name = case.args["input"]
    axes = {0: "batch", 1: "length"} if name == "input_ids" else {0: "batch"}
    example = torch.cat([*case.make(torch)] * 2)  # a batch of one would be taken for a constant
    with contextlib.redirect_stdout(sys.stderr):
        torch.onnx.export(model, kwargs={name: example}, f=str(unfinished / "model.onnx"),
                          input_names=[name], output_names=["last_hidden_state", "pooler_output"],
                          dynamic_shapes={name: axes}, dynamo=True)
    unfinished.rename(folder)


def measure(case, folder, torch, driver, threads, turns):
    result = report.ModelResult(case)
    commands = {"ours": [driver], "torch": [sys.executable, PEER, "torch"],
                "onnxruntime": [sys.executable, PEER, "onnxruntime"]}
    running, outputs = {}, {}
    with contextlib.ExitStack() as stack:
        try:
            for side in report.MODEL_SIDES:
                who, _, half = side.partition(" ")
                own = of_dtype(case, folder, half or case.dtype)
                running[side] = stack.enter_context(sides.Driver(torch, commands[who], threads))
                outputs[side] = running[side].load(own, cases.make_inputs(torch, own))
            validate(result, outputs)
            times = [statistics.median(own) for own in sides.take_turns(list(running.values()), turns)]
            result.seconds = dict(zip(running, times, strict=True))
            result.resident = {side: one.resident_bytes() for side, one in running.items()}
        except sides.Failed as failure:
            result.failure = str(failure)
    return result


def of_dtype(case, folder, dtype):
    args = {**case.args, "folder": str(folder / case.args["folder"]), "dtype": dtype}
    return dataclasses.replace(case, dtype=dtype, args=args)


def validate(result, outputs):
    """Compares every side's last hidden state with that of torch in float32."""
    for side, found in outputs.items():
        worst = cases.largest_difference(found, outputs["torch"])
        allowed = cases.TOLERANCE[cases.BF16 if cases.BF16 in side else cases.F32]
        if worst > allowed:
            raise sides.Failed(f"{side}: off by {worst:.2g}, allowed {allowed:g}")
        result.difference[side] = worst
