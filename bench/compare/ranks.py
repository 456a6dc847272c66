"""Training with processes in place of threads: two MPI ranks of one thread beside one process of
two, `glassformer train` itself, on one made-up text."""

import dataclasses
import json
import os
import random
import statistics
import subprocess
import tempfile
from pathlib import Path

import cases
import report
import sides

WARM_UP, STEPS = 4, 16
SIDES = {"one process of 2 threads": (1, 2), "2 processes of one": (2, 1)}
MODEL = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_layer": 6, "n_head": 6,
         "n_embd": 384, "n_positions": 256, "resid_pdrop": 0.0, "embd_pdrop": 0.0,
         "attn_pdrop": 0.0}


@dataclasses.dataclass
class Result:
    case: cases.Case
    seconds: dict = dataclasses.field(default_factory=dict)  # medians, by side
    failure: str = ""

    def ratio(self):
        one, several = self.seconds.values()
        return one / several

    def summary(self):
        return ", ".join(f"{side} {seconds * 1e3:.0f} ms" for side, seconds in self.seconds.items())


def configuration(folder, args):
    """Written once: the text, and how to train on it."""
    words = random.Random(2017)
    text = folder / "text.txt"
    text.write_text(" ".join("".join(words.choices("abcdefghijklmnopqrstuvwxyz", k=words.randint(1, 9)))
                             for _ in range(100000)), encoding="utf-8")
    path = folder / "config.json"
    path.write_text(json.dumps({
        "task": "causal_lm", "output": "unused", "model": {"config": MODEL},
        "tokenizer": {"train": {"kind": "byte_level_bpe", "vocab_size": 256}},
        "data": {"train": {"format": "text", "files": str(text), "block": args["length"]}},
        "batch": {"size": args["batch"]}, "optimizer": {"clip_norm": 1.0, "lr": 1e-4},
        "precision": args["precision"], "steps": STEPS}), encoding="utf-8")
    return path


def step_seconds(program, config, output, ranks, threads, tokens):
    """The mean time of a step after the warm-up, from the log's tokens a second since the start."""
    command = [program, "train", str(config), "--output", str(output), "--threads", str(threads)]
    if ranks > 1:
        command = ["mpirun", "-n", str(ranks), "--allow-run-as-root", "--oversubscribe", "--bind-to",
                   "none", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env={**os.environ, "OMP_NUM_THREADS": str(threads)})
    if done.returncode != 0:
        raise sides.Failed(done.stderr.strip().splitlines()[-1] if done.stderr else "it ended")
    rates = [json.loads(line)["tokens_per_second"]
             for line in (output / "log.jsonl").read_text(encoding="utf-8").splitlines()
             if "tokens_per_second" in line]
    since_start = [tokens * (i + 1) / rate for i, rate in enumerate(rates)]
    return (since_start[-1] - since_start[WARM_UP - 1]) / (STEPS - WARM_UP)


def measure(case, program, turns):
    result = Result(case)
    tokens = case.args["batch"] * case.args["length"]
    times = {side: [] for side in SIDES}
    with tempfile.TemporaryDirectory() as folder:
        config = configuration(Path(folder), case.args)
        try:
            for turn in range(turns):
                for number, (side, (ranks, threads)) in enumerate(SIDES.items()):
                    output = Path(folder) / f"{turn}-{number}"
                    times[side].append(step_seconds(program, config, output, ranks, threads, tokens))
            result.seconds = {side: statistics.median(each) for side, each in times.items()}
        except (sides.Failed, OSError) as failure:
            result.failure = str(failure)
    return result


def row(result):
    name = result.case.name.removeprefix("ranks/")
    if result.failure:
        return f"| {name} | | | | FAILED: {result.failure} |"
    tokens = result.case.args["batch"] * result.case.args["length"]
    rates = " | ".join(f"{tokens / seconds:.0f}" for seconds in result.seconds.values())
    goals = "; ".join(report.mark(goal, result.ratio()) for goal in result.case.goals)
    return f"| {name} | {rates} | {result.ratio():.2f} | {goals} |"


def markdown(results):
    return "\n".join(["`glassformer train`, tokens a second.", "",
                      f"| model, batch, precision | {' | '.join(SIDES)} | ratio | goals |",
                      "| --- | ---: | ---: | ---: | --- |", *map(row, results)])
