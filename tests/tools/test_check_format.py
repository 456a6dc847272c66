import shutil
import subprocess
import unittest

from sample_tree import ROOT, SampleTree

# Own header, system, third party, this project.
GOOD = """#include "ops/add.h"

#include <sys/mman.h>
#include <vector>

#include <fmt/core.h>

#include "base/log.h"

int* f(int a) { return nullptr; }
"""
BAD = """#include <fmt/core.h>
#include "base/log.h"
#include "ops/add.h"
#include <vector>
#include <sys/mman.h>

int *f( int a ){return nullptr;}
"""


@unittest.skipUnless(shutil.which("clang-format"), "needs clang-format")
class CheckFormat(SampleTree):
    def setUp(self):
        super().setUp()
        shutil.copy(ROOT / ".clang-format", self.root)

    def test_accepts_formatted_files(self):
        self.write("src/ops/add.cc", GOOD)
        self.write("build/x.cc", BAD)
        self.assert_passes("check-format")

    def test_rejects_others_and_fixes_them(self):
        file = self.write("src/ops/add.cc", BAD)
        result = self.check("check-format")
        self.assertEqual(result.returncode, 1)
        self.assertIn("src/ops/add.cc:1:", result.stderr)
        self.assertIn("error: not formatted; run tools/check-format --fix", result.stderr)
        self.assertEqual(self.check("check-format", "--fix").returncode, 0)
        self.assertEqual(file.read_text(), GOOD)
        self.assert_passes("check-format")

    @unittest.skipUnless(shutil.which("git"), "needs git")
    def test_in_a_checkout_reads_what_git_does_not_ignore(self):
        subprocess.run(["git", "init", "-q", self.root], check=True)
        self.write(".gitignore", "/ignored/\n")
        self.write("ignored/a.cc", BAD)
        self.write("src/ops/add.cc", GOOD)
        self.assert_passes("check-format")
        self.write("src/ops/untracked.h", BAD)
        self.assertEqual(self.check("check-format").returncode, 1)

    def test_rejects_unknown_options(self):
        self.assertEqual(self.run_tool("check-format", "--gone").returncode, 2)


if __name__ == "__main__":
    unittest.main()
