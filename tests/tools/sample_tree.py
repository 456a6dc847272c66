"""A small source tree in a temporary folder, and the scripts of tools/ run on it."""

import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


class SampleTree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, path, text=""):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def run_tool(self, name, *arguments, env=None):
        return subprocess.run([ROOT / "tools" / name, *arguments], capture_output=True, text=True,
                              env=env, check=False)

    def check(self, name, *arguments):
        return self.run_tool(name, "--root", self.root, *arguments)

    def assert_passes(self, name):
        result = self.check(name)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(len(result.stdout.splitlines()), 1, "one summary line")

    def assert_fails(self, name, *expected):
        """Expects one error line for each of `expected`, in which it occurs, and no other."""
        result = self.check(name)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        lines = result.stdout.splitlines()
        self.assertEqual(len(lines), len(expected), result.stdout)
        for line, part in zip(lines, expected):
            self.assertIn(part, line)
            self.assertRegex(line, r"^[^:]+:\d+: error: ")
