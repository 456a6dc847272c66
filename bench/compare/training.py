"""Training: one step of ours beside PyTorch's, eager and compiled, each in a process of its own.

A process that has run nothing else holds what training takes: its peak is the run's.
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

PEER = str(Path(__file__).with_name("peer_training.py"))
# Who, how compiled, in what precision. Of PyTorch the best counts.
SIDES = {"ours": ("ours", False, "float32"), "torch": ("torch", False, "float32"),
         "compiled": ("torch", True, "float32"), "ours bf16": ("ours", False, "bfloat16"),
         "torch bf16": ("torch", False, "bfloat16"), "compiled bf16": ("torch", True, "bfloat16")}
QUICK = ("ours", "torch", "ours bf16", "torch bf16")
# Of the first losses, over theirs in float32.
ALLOWED = {"float32": 1e-4, "bfloat16": 2e-2}


@dataclasses.dataclass
class Result:
    case: cases.Case
    seconds: dict = dataclasses.field(default_factory=dict)   # medians, by side
    resident: dict = dataclasses.field(default_factory=dict)  # peak bytes
    difference: dict = dataclasses.field(default_factory=dict)
    failure: str = ""

    def best(self, *words):
        """The fastest of torch's sides, of those with one of the words."""
        return min((name for name in self.seconds if not name.startswith("ours") and
                    any(name.endswith(word) for word in words)), key=self.seconds.get)

    def values(self):
        """By the names of goals."""
        whole, half = self.best("torch", "compiled"), self.best("torch", "compiled", "bf16")
        return {"float32, torch/ours": self.seconds[whole] / self.seconds["ours"],
                "bfloat16, torch/ours": self.seconds[half] / self.seconds["ours bf16"],
                "memory, ours/torch": self.resident["ours"] / self.resident[whole],
                "memory in bfloat16, ours/torch": self.resident["ours bf16"] / self.resident[half]}

    def summary(self):
        return ", ".join(f"{name} {seconds * 1e3:.0f} ms" for name, seconds in self.seconds.items())


def configurations(transformers):
    """The model and its configuration by the name of its folder."""
    gpt = lambda **sizes: (transformers.GPT2LMHeadModel, transformers.GPT2Config(**sizes))
    return {
        "gpt2": lambda: gpt(),
        "gpt-10m": lambda: gpt(n_layer=6, n_head=6, n_embd=384, n_positions=256, vocab_size=65),
        "marian": lambda: (transformers.MarianMTModel, transformers.MarianConfig(
            d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8,
            decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048,
            vocab_size=58101, pad_token_id=58100, decoder_start_token_id=58100,
            max_position_embeddings=512, activation_function="swish", scale_embedding=True)),
        "vit-ti16": lambda: (transformers.ViTForImageClassification, transformers.ViTConfig(
            hidden_size=192, num_hidden_layers=12, num_attention_heads=3, intermediate_size=768,
            num_labels=1000))}


def folder_of(root, name):
    """A Hugging Face folder with random weights, made once."""
    import torch
    import transformers

    folder = root / name
    if not folder.exists():
        print(f"making {folder} (once)", file=sys.stderr)
        torch.manual_seed(2017)
        model, config = configurations(transformers)[name]()
        unfinished = folder.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        model(config).save_pretrained(unfinished)
        unfinished.rename(folder)
    return str(folder)


def measure(case, root, torch, driver, arguments, turns):
    result = Result(case)
    commands = {"ours": [driver], "torch": [sys.executable, PEER]}
    folder = folder_of(root, case.args["model"])
    wanted = [side for side in SIDES if not arguments.quick or side in QUICK]
    running, losses = {}, {}
    with contextlib.ExitStack() as stack:
        try:
            for side in wanted:
                who, compiled, precision = SIDES[side]
                own = dataclasses.replace(case, args={
                    **case.args, "folder": folder, "compiled": compiled, "precision": precision})
                running[side] = stack.enter_context(
                    sides.Driver(torch, commands[who], arguments.threads))
                losses[side] = float(running[side].load(own, cases.make_inputs(torch, case))[0])
            validate(result, losses)
            times = [statistics.median(own) for own in sides.take_turns(list(running.values()), turns)]
            result.seconds = dict(zip(running, times, strict=True))
            result.resident = {side: one.resident_bytes() for side, one in running.items()}
        except sides.Failed as failure:
            result.failure = str(failure)
    return result


def validate(result, losses):
    for side, loss in losses.items():
        off = abs(loss - losses["torch"]) / losses["torch"]
        allowed = ALLOWED[SIDES[side][2]]
        if off > allowed:
            raise sides.Failed(f"{side}: the loss is off by {off:.2g}, allowed {allowed:g}")
        result.difference[side] = off


def row(result):
    name = result.case.name.removeprefix("train/")
    if result.failure:
        return f"| {name} |{' |' * 9} FAILED: {result.failure} |"
    values, tokens = result.values(), result.case.args["tokens"]
    shown = [f"{tokens / result.seconds[side]:.0f}" if side in result.seconds else ""
             for side in SIDES]
    peaks = " / ".join(f"{result.resident[side] / 2**20:.0f}" for side in SIDES
                       if side in result.resident)
    goals = "; ".join(report.mark(goal, values[goal.what]) for goal in result.case.goals)
    return (f"| {name} | {' | '.join(shown[:3])} | {values['float32, torch/ours']:.2f} | "
            f"{' | '.join(shown[3:])} | {values['bfloat16, torch/ours']:.2f} | {peaks} | {goals} |")


def markdown(results, peer, threads, quick):
    text = [f"{threads} threads. Tokens (of ViT: images) a second of whole steps: forward, backward, "
            f"clipping, AdamW. Peer: {peer}.{' A quick run, nothing compiled.' if quick else ''}", "",
            "| model, batch | ours | torch | compiled | ours / best | ours bf16 | torch bf16 | "
            "compiled bf16 | ours / best of all | peak resident, MiB, in the order of the columns | "
            "goals |", "| --- |" + " ---: |" * 9 + " --- |"]
    return "\n".join(text + [row(result) for result in results])
