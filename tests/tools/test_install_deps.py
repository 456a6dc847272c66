import os
import re
import shutil
import unittest

from sample_tree import ROOT, SampleTree

SCRIPT = (ROOT / "tools/install-deps").read_text(encoding="utf-8")
PACKAGES = re.findall(r"^  ([a-z0-9.+-]+) +# ", SCRIPT, re.MULTILINE)


class InstallDeps(SampleTree):
    """Runs the script with a PATH of stand-ins, so that nothing is installed."""

    def setUp(self):
        super().setUp()
        for name in ("bash", "env", "sed", "sort", "comm", "cat"):
            (self.root / name).symlink_to(shutil.which(name))
        self.stand_in("id", "echo 0")
        self.stand_in("apt-get", 'echo "$@" >>"$LOG"')
        self.log = self.root / "log"

    def stand_in(self, name, script):
        self.write(name, f"#!/bin/bash\n{script}\n").chmod(0o755)

    def installed(self, packages):
        self.write("installed", "".join(f"{name} ii \n" for name in packages) + "removed rc \n")
        self.stand_in("dpkg-query", f'cat "{self.root}/installed"; exit 1')

    def install(self):
        stand_ins = {"PATH": str(self.root), "LOG": str(self.log)}
        return self.run_tool("install-deps", env={**os.environ, **stand_ins})

    def assert_error(self, *parts):
        result = self.install()
        self.assertEqual(result.returncode, 1)
        line = result.stderr.splitlines()[-1]
        self.assertTrue(line.startswith("error: "), result.stderr)
        for part in parts:
            self.assertIn(part, line)

    def test_is_silent_when_nothing_is_missing(self):
        self.installed(PACKAGES)
        result = self.install()
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        self.assertFalse(self.log.exists())

    def test_installs_what_is_missing_and_only_that(self):
        self.installed(name for name in PACKAGES if name not in ("cmake", "ccache"))
        self.assertEqual(self.install().returncode, 0)
        update, install = self.log.read_text().splitlines()
        self.assertTrue(update.endswith("update"))
        self.assertTrue(install.endswith("install -y --no-install-recommends ccache cmake"))

    def test_uses_sudo_when_not_root(self):
        self.installed(PACKAGES[1:])
        self.stand_in("id", "echo 1000")
        self.stand_in("sudo", 'echo sudo >>"$LOG"; "$@"')
        self.assertEqual(self.install().returncode, 0)
        self.assertEqual(self.log.read_text().splitlines()[0], "sudo")

    def test_says_what_to_do_without_root(self):
        self.installed(PACKAGES[1:])
        self.stand_in("id", "echo 1000")
        self.assert_error("missing: " + PACKAGES[0], "as root: apt-get install -y " + PACKAGES[0])
        self.assertFalse(self.log.exists())

    def test_says_what_to_do_without_apt(self):
        (self.root / "apt-get").unlink()
        self.assert_error("apt-get not found", "cmake", "ninja-build")

    def test_says_what_to_do_when_apt_fails(self):
        self.installed(PACKAGES[1:])
        self.stand_in("apt-get", "exit 100")
        self.assert_error("apt-get failed", "sudo apt-get install -y " + PACKAGES[0])


if __name__ == "__main__":
    unittest.main()
