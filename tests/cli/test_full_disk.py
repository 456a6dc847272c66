"""No room for what is to be written: one error, the last good files kept, nothing half-written.

Twice: with a limit on the size of files, which every machine has, and on a small file system of its
own, which only root can mount.
"""

import json
import os
import random
import resource
import shutil
import subprocess
import tempfile
import unittest
from contextlib import contextmanager, nullcontext
from pathlib import Path

from test_training import CONFIG

BINARY = os.environ.get("GLASSFORMER", "build/release/bin/glassformer")
MODELS = Path(__file__).resolve().parents[1] / "fixtures" / "models"


class NoRoom:
    """What must hold however the room runs out. `run` leaves a command so many bytes of it."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.disk = self.make_disk()
        words = "the quick brown fox jumps over the lazy dog".split()
        draw = random.Random(1)
        text = "\n".join(" ".join(draw.choices(words, k=8)) for _ in range(200))
        (self.folder / "text.txt").write_text(text)
        self.config = self.folder / "a.json"
        self.config.write_text(json.dumps({**CONFIG, "steps": 8}))

    def assert_fails(self, room, *arguments):
        before = self.listing()
        done = self.run_command(*arguments, room=room)
        self.assertEqual(done.returncode, 1, done.stderr)
        errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        self.assertEqual(len(errors), 1, done.stderr)
        self.assertIn(self.reason, errors[0])
        self.assertEqual(done.stdout, "")
        self.assertEqual([path for path in self.listing() if path.name.endswith((".tmp", ".old"))],
                         [])
        return {path for path in self.listing() if path not in before}

    def run_command(self, *arguments, room=None):
        with self.scarce(room) as limit:
            return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True,
                                  timeout=120, preexec_fn=limit)

    def listing(self):
        return sorted(self.disk.rglob("*"))

    def train(self, *more, output="run"):
        return ["train", self.config, "--output", self.disk / output, *more]

    def test_a_training_run_keeps_its_checkpoints_and_goes_on_later(self):
        done = self.run_command(*self.train("--steps", 8, output="whole"))
        self.assertEqual(done.returncode, 0, done.stderr)
        whole = self.disk / "whole"
        expected = (whole / "checkpoint-8" / "optimizer.safetensors").read_bytes()
        shutil.rmtree(whole)
        done = self.run_command(*self.train("--steps", 4))
        self.assertEqual(done.returncode, 0, done.stderr)
        last = self.disk / "run" / "checkpoint-4"
        files = {path: path.read_bytes() for path in last.iterdir()}
        # In the middle of the weights, and of the optimiser's state.
        weights, state = ((last / name).stat().st_size
                          for name in ("model.safetensors", "optimizer.safetensors"))
        for room in (weights // 2, (weights + state) // 2):
            new = self.assert_fails(room, *self.train("--resume"))
            self.assertEqual([path for path in new if "events.out" not in path.name], [])
            self.assertEqual({path: path.read_bytes() for path in last.iterdir()}, files)
        # One that is to be written again stays until it is.
        self.assert_fails(weights // 2, *self.train("--checkpoint", self.disk / "run/checkpoint-2"))
        self.assertEqual({path: path.read_bytes() for path in last.iterdir()}, files)
        done = self.run_command(*self.train("--resume"))
        self.assertEqual(done.returncode, 0, done.stderr)
        ended = self.disk / "run" / "checkpoint-8" / "optimizer.safetensors"
        self.assertEqual(ended.read_bytes(), expected)

    def test_a_model_folder_keeps_its_weights(self):
        done = self.run_command(*self.train("--steps", 2, output="base"))
        self.assertEqual(done.returncode, 0, done.stderr)
        # The checkpoints of an adapter are small; the folder that it is merged into is not.
        tuning = {key: value for key, value in CONFIG.items() if key not in ("model", "tokenizer")}
        tuning.update(model={"from": str(self.disk / "base")}, steps=2,
                      lora={"rank": 1, "targets": ["c_attn"]})
        self.config.write_text(json.dumps(tuning))
        done = self.run_command(*self.train())
        self.assertEqual(done.returncode, 0, done.stderr)
        weights = self.disk / "run" / "model.safetensors"
        before = weights.read_bytes()
        shutil.rmtree(self.disk / "run" / "checkpoint-2")
        new = self.assert_fails(len(before) - 1, *self.train("--seed", 9))
        self.assertIn(self.disk / "run" / "checkpoint-2", new)
        self.assertEqual(weights.read_bytes(), before)

    def test_quantize_leaves_no_folder(self):
        empty = self.disk / "empty"
        empty.mkdir()
        model = self.folder / "model"
        shutil.copytree(MODELS / "bert-sequence", model)
        (model / "large.txt").write_bytes(bytes(50000))  # copied before the weights
        self.assertEqual(self.assert_fails(20000, "quantize", model, self.disk / "new"), set())
        (model / "large.txt").unlink()
        weights = (model / "model.safetensors").stat().st_size
        for out in (self.disk / "new", empty):
            new = self.assert_fails(weights // 8, "quantize", model, out)
            self.assertEqual(new, set())
            done = self.run_command("quantize", model, out)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_look_keeps_what_was_there(self):
        look = ["look", MODELS / "gpt2", "--ids", "[5,6,7]"]
        for option in ("--html", "--safetensors", "--svg", "--png"):
            file = self.disk / "look"
            self.assertEqual(self.assert_fails(100, *look, option, file), set(), option)
            file.write_text("before")
            self.assert_fails(100, *look, option, file)
            self.assertEqual(file.read_text(), "before")
            file.unlink()


class FileLimit(NoRoom, unittest.TestCase):
    reason = "File too large"

    def make_disk(self):
        return Path(tempfile.mkdtemp(dir=self.folder))

    def scarce(self, room):
        limits = (resource.RLIM_INFINITY if room is None else room, resource.RLIM_INFINITY)
        return nullcontext(lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limits))

    def test_results_that_cannot_be_printed(self):
        for arguments in (["info", MODELS / "gpt2"], ["look", MODELS / "gpt2", "--ids", "[5,6]"],
                          ["look", MODELS / "gpt2", "--ids", "[5,6]", "--json"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([BINARY, *map(str, arguments)], stdout=full, text=True,
                                      stderr=subprocess.PIPE, timeout=120)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertRegex(done.stderr, r"\Aerror: .*(No space left|cannot write).*\n\Z")


class SmallFileSystem(NoRoom, unittest.TestCase):
    reason = "No space left on device"
    SIZE = 4 << 20

    def make_disk(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={self.SIZE}", "tmpfs", disk]
        if subprocess.run(mount, capture_output=True).returncode != 0:
            self.skipTest("a file system can only be mounted by root, and not in every container")
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        return disk

    @contextmanager
    def scarce(self, room):
        filler = self.folder / "disk" / "filler"
        try:
            if room is not None:
                free = os.statvfs(self.disk).f_bavail * os.statvfs(self.disk).f_bsize
                filler.write_bytes(bytes(max(0, free - room)))
            yield None
        finally:
            filler.unlink(missing_ok=True)


if __name__ == "__main__":
    unittest.main()
