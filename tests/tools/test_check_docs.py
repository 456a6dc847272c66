import unittest

from sample_tree import SampleTree


class CheckDocs(SampleTree):
    def setUp(self):
        super().setUp()
        for path in ("include/glassformer/ops/add.h", "src/ops/add.cc", "src/ops/add.h",
                     "src/kernels/ref/add.cc", "src/kernels/cpu/add.cc", "src/cli/generate.cc",
                     "docs/guide.md", "tools/check-docs"):
            self.write(path)
        self.write("Makefile", "PREFIX ?= /usr\nJOBS := 2\ntest lint: build\nbuild:\n")

    def assert_accepts(self, *lines):
        self.write("README.md", "\n".join(lines) + "\n")
        self.assert_passes("check-docs")

    def assert_rejects(self, line, *expected):
        with self.subTest(line=line):
            self.write("README.md", f"# Title\n{line}\n")
            self.assert_fails("check-docs", *(f"README.md:2: error: {text}" for text in expected))

    def test_links(self):
        self.assert_accepts("[a](docs/guide.md#b), [b](https://x.org/y), [c](#here), `[d](no.md)`")
        self.assert_rejects("[a](docs/gone.md#part)", "link to docs/gone.md#part")
        self.assert_rejects('<img src="docs/gone.png">', "link to docs/gone.png")
        self.assert_rejects("[a]: docs/gone.md", "link to docs/gone.md")

    def test_links_are_relative_to_their_page(self):
        self.write("docs/guide.md", "[up](../README.md) [beside](gone.md)\n")
        self.write("README.md")
        self.assert_fails("check-docs", "docs/guide.md:1: error: link to gone.md")

    def test_paths(self):
        self.assert_accepts(
            "`src/ops/add.cc:12`, `ops/add.{h, cc}`, `glassformer/ops/add.h`, `src/*/add.cc`",
            "`ops/<name>.cc`, `ops/x_test.cc`, `kernels/{ref,cpu}/x`, `tools/check-docs`",
            "`tests/` <!-- check-docs: ignore -->",
            "`and/or`, `image/png`, `/v1/models`, `google/vit`, `build/release/x`",
            "`Makefile`, `config.json`")
        self.assert_rejects("`src/ops/gone.cc`", "`src/ops/gone.cc`")
        self.assert_rejects("`ops/add.{h,cu}`", "`ops/add.cu`")
        self.assert_rejects("`kernels/{ref,tpu}/x`", "`kernels/tpu/x`")
        self.assert_rejects("`glassformer/ops/gone.h`", "`glassformer/ops/gone.h`")
        self.assert_rejects("`python/`", "`python/`")
        self.assert_rejects("`src/*/gone.cc`", "`src/*/gone.cc`")
        self.assert_rejects("`tools/gone --fix docs/guide.md`", "`tools/gone`")
        self.assert_rejects("`CONTRIBUTING.md`", "`CONTRIBUTING.md`")

    def test_make_targets(self):
        self.assert_accepts("`make`, `make test PREFIX=x -j4`, `make -C sub clean`, make sense",
                            "`make lint && make build`")
        self.assert_rejects("`make gone`", "`make gone`")
        self.assert_rejects("`sudo make build gone`", "`make gone`")

    def test_commands(self):
        self.assert_accepts("`glassformer generate MODEL`, `glassformer --help`, `glassformer`",
                            "`glassformer COMMAND`, `namespace glassformer`, `glassformer::Error`")
        self.assert_rejects("`glassformer translate MODEL`", "`glassformer translate`")
        self.assert_rejects("`CI=1 build/release/bin/glassformer gone`", "`glassformer gone`")

    def test_blocks(self):
        self.assert_accepts("```text", "make gone", "```",
                            "```console", "$ make test # make it", "make gone", "```",
                            "~~~sh", "make test", "~~~")
        self.write("README.md", "```sh\nmake gone\n```\n```console\n$ tools/gone\n```\n")
        self.assert_fails("check-docs", "README.md:2: error: `make gone`",
                          "README.md:5: error: `tools/gone`")

    def test_of_the_changelog_only_the_links(self):
        self.write("CHANGELOG.md", "`src/gone.cc`, `make gone`\n[a](docs/guide.md)\n")
        self.assert_passes("check-docs")
        self.write("CHANGELOG.md", "[a](docs/gone.md)\n")
        self.assert_fails("check-docs", "CHANGELOG.md:1: error: link to docs/gone.md")


if __name__ == "__main__":
    unittest.main()
