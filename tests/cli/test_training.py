"""`glassformer train` as its users treat it: killed, resumed, spread over processes."""

import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

GLASSFORMER = os.environ.get("GLASSFORMER", "build/release/bin/glassformer")

CONFIG = {
    "task": "causal_lm", "output": "run", "seed": 3,
    "model": {"config": {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2",
                         "n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 16,
                         "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}},
    "tokenizer": {"train": {"kind": "byte_level_bpe", "vocab_size": 256}},
    "data": {"train": {"format": "text", "files": "text.txt", "block": 16},
             "validation": {"format": "text", "files": "text.txt", "block": 16}},
    "batch": {"size": 8},
    "optimizer": {"lr": 1e-3},
    "steps": 60, "evaluate_every": 30, "checkpoint": {"every": 2},
}


class Training(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        words = "the quick brown fox jumps over the lazy dog and runs away".split()
        draw = random.Random(1)
        self.folder.joinpath("text.txt").write_text(
            "\n".join(" ".join(draw.choices(words, k=8)) for _ in range(200)))
        self.write(CONFIG)

    def tearDown(self):
        shutil.rmtree(self.folder)

    def write(self, config):
        self.folder.joinpath("a.json").write_text(json.dumps(config))

    def command(self, *more, launcher=()):
        return [*launcher, GLASSFORMER, "train", str(self.folder / "a.json"), *more]

    def train(self, *more, launcher=(), **environment):
        return subprocess.run(self.command(*more, launcher=launcher), capture_output=True,
                              text=True, env={**os.environ, **environment}, timeout=300)

    def checkpoints(self):
        names = [path.name for path in (self.folder / "run").glob("checkpoint-*")]
        return sorted(names, key=lambda name: int(name.split("-")[1]))

    def losses(self, run):
        lines = (self.folder / run / "log.jsonl").read_text().splitlines()
        return [line["loss"] for line in map(json.loads, lines) if "loss" in line]

    def train_on(self, ranks, *more):
        return self.train(*more, launcher=("mpirun", "-n", str(ranks), "--allow-run-as-root",
                                           "--oversubscribe"), OMP_NUM_THREADS="1")

    def expect_the_curve_of_one(self, run):
        one, several = self.losses("one"), self.losses(run)
        self.assertEqual(len(one), len(several))
        for a, b in zip(one, several):
            self.assertAlmostEqual(a, b, delta=2e-5 * a)  # measured: 7.6e-8

    def test_killed_at_any_instant_it_goes_on_as_if_nothing_had_been(self):
        self.assertEqual(self.train("--output", "whole").returncode, 0)
        draw = random.Random(2)
        kills = 0
        while kills < 50:
            process = subprocess.Popen(self.command("--resume"), stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            time.sleep(draw.uniform(0.01, 0.25))
            process.send_signal(signal.SIGKILL)
            if process.wait() == 0:
                if (self.folder / "run" / "checkpoint-60").exists():
                    shutil.rmtree(self.folder / "run")  # it came to its end: from the start again
                continue
            kills += 1
        ended = self.train("--resume")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        for name in ("model.safetensors", "checkpoint-60/optimizer.safetensors"):
            self.assertEqual((self.folder / "run" / name).read_bytes(),
                             (self.folder / "whole" / name).read_bytes(), name)
        self.assertEqual(self.losses("run"), self.losses("whole"))

    def test_ctrl_c_writes_a_checkpoint(self):
        process = subprocess.Popen(self.command("--steps", "100000"), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        while not (self.folder / "run" / "checkpoint-2").exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertIn("--resume", said)

    def test_several_processes_follow_the_curve_of_one(self):
        self.assertEqual(self.train("--output", "one").returncode, 0)
        for ranks, more in ((2, ()), (4, ()), (2, ("--optimizer.shard", "true"))):
            run = f"ranks-{ranks}-{len(more)}"
            ended = self.train_on(ranks, "--output", run, *more)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.expect_the_curve_of_one(run)

    def test_adversarial_moves_are_those_of_one_process(self):
        self.write({**CONFIG, "adversarial": 0.05, "batch": {"size": 3}, "steps": 10})
        self.assertEqual(self.train("--output", "one").returncode, 0)
        ended = self.train_on(4, "--output", "four")  # one of which has no examples
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.expect_the_curve_of_one("four")

    def test_a_resume_may_use_another_number_of_processes(self):
        self.assertEqual(self.train("--output", "one").returncode, 0)
        self.assertEqual(self.train("--output", "both", "--steps", "30").returncode, 0)
        ended = self.train_on(2, "--output", "both", "--resume")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.expect_the_curve_of_one("both")

    def test_says_what_is_wrong(self):
        for change, part in (({"optimizer": {"lrr": 1}}, "'lr'"), ({"task": "x"}, "causal_lm"),
                             ({"steps": 0}, "steps or epochs"),
                             ({"model": {"from": "nowhere"}, "tokenizer": None},
                              "nowhere: expected a folder with a model"),
                             ({"data": {"train": {"format": "text", "files": "no.txt",
                                                  "block": 4}}}, "no.txt")):
            self.write({**CONFIG, **change})
            ended = self.train()
            self.assertEqual(ended.returncode, 1, ended.stderr)
            self.assertIn("error:", ended.stderr)
            self.assertIn(part, ended.stderr)

    def test_a_wrong_call_is_a_usage_error(self):
        for arguments in (["stray"], ["--optimizer.lr"]):
            ended = self.train(*arguments)
            self.assertEqual(ended.returncode, 2, ended.stderr)
            self.assertIn("try: glassformer train --help", ended.stderr)

    def test_does_not_write_over_an_earlier_run(self):
        self.assertEqual(self.train("--steps", "4").returncode, 0)
        again = self.train("--steps", "4")
        self.assertEqual(again.returncode, 1)
        self.assertIn("--resume", again.stderr)
        self.assertIn("--overwrite", again.stderr)

    def test_starts_anew_where_it_is_told_to(self):
        self.assertEqual(self.train("--steps", "8").returncode, 0)
        first = self.checkpoints()
        self.assertNotEqual(self.train("--overwrite", "--task", "nonsense").returncode, 0)
        self.assertNotEqual(self.train("--overwrite", "--data.train.files", "no.txt").returncode, 0)
        self.assertEqual(self.train("--overwrite", "--resume").returncode, 2)
        self.assertEqual(self.checkpoints(), first)
        again = self.train("--steps", "4", "--overwrite")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(self.checkpoints()[-1], "checkpoint-4")
        self.assertEqual(len(list((self.folder / "run").glob("events.out.tfevents.*"))), 1)

    def test_what_is_trained_generates(self):
        self.assertEqual(self.train().returncode, 0)
        ended = subprocess.run([GLASSFORMER, "generate", str(self.folder / "run"), "the quick",
                                "--max-new-tokens", "5"], capture_output=True, text=True)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        scores = subprocess.run([GLASSFORMER, "evaluate", str(self.folder / "a.json"), "--json"],
                                capture_output=True, text=True)
        self.assertEqual(scores.returncode, 0, scores.stderr)
        self.assertIn("perplexity", json.loads(scores.stdout))


if __name__ == "__main__":
    unittest.main()
