import unittest

from sample_tree import SampleTree


class CheckLadder(SampleTree):
    def include(self, path, *targets):
        self.write(path, "".join(f"#include {target}\n" for target in targets))

    def assert_rejects(self, path, target, reason):
        with self.subTest(path=path, target=target):
            file = self.root / path
            self.include(path, "<vector>", target)
            self.assert_fails("check-ladder", f"{path}:2: error: ")
            self.assertIn(reason, self.check("check-ladder").stdout)
            file.unlink()

    def test_accepts_what_goes_down(self):
        self.include("include/glassformer/glassformer.h",
                     '"glassformer/ops/attention.h"', '"glassformer/cli/app.h"')
        self.include("include/glassformer/ops/attention.h", '"glassformer/tensor/tensor.h"')
        self.include("src/ops/attention.cc", '"glassformer/ops/attention.h"', "<vector>",
                     "<hwy/highway.h>", '"autograd/tape.h"', '"kernels/attention.h"')
        self.include("src/kernels/cpu/softmax.cc", '"kernels/ref/softmax.h"', '"kernels/table.h"')
        self.include("src/kernels/table.cc", '"kernels/ref/add.h"', '"kernels/cuda/add.h"')
        self.include("src/checkpoint/safetensors.cc", '"tensor/stored_tensors.h"', '"base/file.h"')
        self.include("src/models/load.cc", '"checkpoint/folder.h"')
        self.include("src/decoding/beam.cc", '"models/transformer.h"', '"text/tokenizer.h"')
        self.include("src/base/parallel.cc", "<thread>")
        self.assert_passes("check-ladder")

    def test_rejects_what_climbs(self):
        self.assert_rejects("src/base/log.cc", '"tensor/shape.h"', "nothing else")
        self.assert_rejects("src/tensor/tensor.cc", '"glassformer/ops/add.h"', "must not see ops/")
        self.assert_rejects("src/autograd/tape.cc", '"kernels/table.h"', "must not see kernels/")
        self.assert_rejects("src/kernels/table.h", '"autograd/tape.h"', "must not see autograd/")
        self.assert_rejects("src/nn/linear.cc", '"models/bert.h"', "must not see models/")
        self.assert_rejects("src/decoding/beam.cc", '"training/loop.h"', "must not see training/")
        self.assert_rejects("src/serve/http.cc", "<lab/heads.h>", "must not see lab/")
        self.assert_rejects("include/glassformer/tensor/t.h", '"glassformer/nn/linear.h"',
                            "must not see nn/")

    def test_rejects_what_stands_beside(self):
        self.assert_rejects("src/nn/linear.cc", '"checkpoint/folder.h"', "must not see checkpoint/")
        self.assert_rejects("src/models/bert.cc", '"text/wordpiece.h"', "must not see text/")
        self.assert_rejects("src/models/vit.cc", '"image/decode.h"', "must not see image/")
        self.assert_rejects("src/text/bpe.cc", '"checkpoint/folder.h"', "must not see checkpoint/")
        self.assert_rejects("src/checkpoint/folder.cc", '"nn/linear.h"', "must not see nn/")

    def test_keeps_the_backends_apart(self):
        self.assert_rejects("src/kernels/ref/add.cc", '"kernels/cpu/add.h"', "see kernels/cpu/")
        self.assert_rejects("src/kernels/cpu/add.cc", '"kernels/cuda/add.h"', "see kernels/cuda/")
        self.assert_rejects("src/kernels/cuda/add.cu", '"kernels/cpu/add.h"', "see kernels/cpu/")
        self.assert_rejects("src/ops/add.cc", '"kernels/ref/add.h"', "only kernels/")

    def test_rejects_private_unknown_and_umbrella(self):
        self.assert_rejects("include/glassformer/ops/add.h", '"ops/add_impl.h"', "private")
        self.assert_rejects("src/ops/add.cc", '"utils/misc.h"', "unknown folder")
        self.assert_rejects("src/ops/add.cc", '"add.h"', "unknown folder")
        self.assert_rejects("src/ops/add.cc", '"../nn/linear.h"', "unknown folder")
        self.assert_rejects("src/ops/add.cc", '"glassformer/glassformer.h"', "for users")

    def test_rejects_a_file_outside_the_folders(self):
        self.write("src/main.cc")
        self.write("src/utils/misc.h")
        self.write("include/glassformer/misc.h")
        self.assert_fails("check-ladder", "src/main.cc:1:", "src/utils/misc.h:1:",
                          "include/glassformer/misc.h:1:")

    def test_rejects_a_second_thread_pool(self):
        self.write("src/base/parallel.cc", "void f();\n")
        self.assert_passes("check-ladder")
        self.write("src/base/parallel.cc", "#include <omp.h>\n#pragma omp parallel for\nfor (;;) {}\n")
        self.assert_fails("check-ladder", "parallel.cc:1: error: includes",
                          "parallel.cc:2: error: OpenMP")

    def test_rejects_calls_that_end_the_process(self):
        self.write("src/base/check.cc", "void fail() { std::abort(); }\n")
        self.write("src/cli/main.cc", "int f() { static_assert(true); return app.exit(1); }\n")
        self.assert_passes("check-ladder")
        self.write("src/nn/a.cc", "void f() {\n  std::abort();\n  exit (1);\n  assert(x);\n}\n")
        self.assert_fails("check-ladder", "a.cc:2: error: abort()", "a.cc:3: error: exit()",
                          "a.cc:4: error: assert()")

    def test_reads_past_comments_and_strings(self):
        self.write("src/base/a.cc", '// #include "nn/a.h"\n/*\n#include "nn/a.h"\n*/\n'
                   'auto s = R"(\n#include "nn/a.h"\n)";\n')
        self.write("src/nn/a.cc", "auto n = 1'000; // abort()\nauto s = \"exit(1)\"; c = '\"';\n")
        self.assert_passes("check-ladder")


if __name__ == "__main__":
    unittest.main()
