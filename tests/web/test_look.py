"""Pages of real models, as `glassformer look --html` writes them."""

import json
import os
import struct
import subprocess
import tempfile
import unittest
from array import array
from pathlib import Path

import page_file
from support import WEIGHT_ERROR, PageTest

PROGRAM = os.environ.get("GLASSFORMER")
MODELS = page_file.ROOT / "tests" / "fixtures" / "models"
IDS = ["--ids", "[5, 9, 5, 7, 11, 5]"]
TARGET = [*IDS, "--target-ids", "[3, 4, 6, 8]"]
INPUTS = {
    "bert-masked-lm": IDS,
    "roberta": IDS,
    "distilbert": IDS,
    "gpt2": [*IDS, "--generate", "4", "--num-beams", "3"],
    "llama-3": IDS,
    "qwen3": IDS,
    "mistral": IDS,
    "marian": TARGET,
    "bart": TARGET,
    "t5": TARGET,
    "transformer-2017-pre": TARGET,
    "vit": [str(MODELS / "vit" / "picture.png")],
}


def read_safetensors(path):
    """{name: (shape, floats)}"""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    body = data[8 + size :]
    return {
        name: (entry["shape"], array("f", body[slice(*entry["data_offsets"])]))
        for name, entry in header.items()
    }


def data_folder():
    """Where the data lies that is not in the tree."""
    given = os.environ.get("GLASSFORMER_DATA")
    return Path(given) if given else page_file.ROOT.parent / "shared"


class Look(PageTest):
    @classmethod
    def setUpClass(cls):
        if not PROGRAM:
            raise unittest.SkipTest("GLASSFORMER names no program")
        super().setUpClass()

    def look(self, model, *more):
        """Writes a page and the tensors beside it."""
        folder = Path(self.folder.name)
        page, tensors = folder / f"{model}.html", folder / f"{model}.safetensors"
        subprocess.run(
            [PROGRAM, "look", MODELS / model, *INPUTS[model], *more]
            + ["--html", page, "--safetensors", tensors],
            check=True,
        )
        return page, read_safetensors(tensors)

    def test_pages_hold_what_was_captured(self):
        for model in INPUTS:
            with self.subTest(model=model):
                page, expected = self.look(model)
                meta, tensors = page_file.read_page(page)
                self.assertEqual(meta["version"], 1)
                self.assertEqual(set(tensors), set(expected))
                for name, (shape, values) in tensors.items():
                    self.assertEqual(shape, expected[name][0], name)
                    finite = [abs(v) for v in expected[name][1] if abs(v) < float("inf")]
                    # Half a step of a square root, or of a float16 of the largest's size.
                    error = (
                        WEIGHT_ERROR if page_file.is_unit(name) else max(finite, default=0) * 2**-11
                    )
                    for value, exact in zip(values, expected[name][1]):
                        self.assertTrue(value == exact or abs(value - exact) <= error, name)

    def check_cells(self, meta, expected):
        """The matrix view reads the weights of the first and the last attention."""
        for attention in (meta["attentions"][0], meta["attentions"][-1]):
            name = attention["name"]
            (heads, rows, columns), values = expected[f"{name}.weights"]
            head, row, column = heads - 1, rows - 1, columns // 2
            self.browser.run(
                f"location.hash = '#matrix/attention={name}&head={head}&query={row}&key={column}'"
            )
            self.browser.wait(
                f"document.querySelector('.stage canvas')?.dataset.ready.startsWith('{name} {head}')"
            )
            self.near(
                self.browser.text(".reading-line b"),
                values[(head * rows + row) * columns + column],
                WEIGHT_ERROR,
            )

    def check_steps(self, meta):
        """The equations, worked out again in the page, give the captured weights."""
        for name in meta["steps"]["attentions"]:
            attention = next(one for one in meta["attentions"] if one["name"] == name)
            row = meta["steps"]["row"][attention["queries"]]
            head = attention["heads"] - 1
            self.browser.run(f"location.hash = '#step/attention={name}&head={head}&query={row}'")
            self.browser.wait(
                f"document.querySelector('.cards')?.dataset.shown === '{name} {head} {row}'"
            )
            difference = self.browser.run(
                "Number(document.querySelector('.verdict').dataset.difference)"
            )
            self.assertLess(difference, 2e-3, name)

    def test_every_view_of_every_family(self):
        for model in INPUTS:
            with self.subTest(model=model):
                page, expected = self.look(model)
                self.browser.open(page)
                meta, _ = page_file.read_page(page)
                views = self.browser.run(
                    "[...document.querySelectorAll('[role=tab]')].map(tab => tab.id.slice(4))"
                )
                self.assertEqual(
                    "translation" in views,
                    "encoder" in meta["sides"] and "decoder" in meta["sides"],
                )
                self.assertEqual("vision" in views, "image" in meta)
                for view in views:
                    self.browser.run(f"location.hash = '#{view}'")
                    self.browser.frame()
                self.check_cells(meta, expected)
                self.check_steps(meta)
                self.assertEqual(self.browser.complaints(), [])

    def test_what_an_output_token_comes_from(self):
        page, expected = self.look("marian", "--rollout", "gradient", "--row", "2")
        meta, _ = page_file.read_page(page)
        self.assertEqual((meta["explained"]["position"], meta["explained"]["id"]), (2, 8))
        (_, columns), values = expected["rollout.cross"]
        row = values[2 * columns : 3 * columns]
        self.browser.open(page, "#translation")
        self.browser.wait("document.querySelector('.relevance .piece')")
        shown = self.browser.run(
            "[...document.querySelectorAll('.relevance .piece')].map(p => Number(p.dataset.weight))"
        )
        for share, value in zip(shown, row, strict=True):
            self.near(share, value / max(row), 2 * WEIGHT_ERROR / max(row))
        self.assertEqual(self.browser.complaints(), [])

    def test_a_part_of_the_heads(self):
        page, expected = self.look("gpt2", "--head", "1", "--layer", "1")
        self.browser.open(page, "#head")
        self.browser.wait("document.querySelector('.ranking li')")
        self.assertEqual(self.browser.texts(".chip"), ["1"])
        self.browser.run("location.hash = '#step'")
        self.browser.wait("document.querySelector('.verdict.agrees')")
        self.assertEqual(self.browser.complaints(), [])

    def test_a_trained_model(self):
        model = data_folder() / "models" / "stories260K"
        if not model.exists():
            self.skipTest(f"{model} is not there")
        page = Path(self.folder.name) / "stories.html"
        text = "Once upon a time, there was a little girl named Lily. She"
        subprocess.run(
            [PROGRAM, "look", model, text, "--generate", "12", "--num-beams", "3", "--html", page],
            check=True,
        )
        meta, _ = page_file.read_page(page)
        self.browser.size(960, 640)
        self.browser.open(page)
        self.browser.wait("document.querySelector('.thumb canvas[data-drawn]')")
        self.picture("explorer-model")
        for view, ready in (
            ("head/attention=decoder.1.self_attention&head=0", ".ranking li"),
            (
                "matrix/attention=decoder.1.self_attention&head=4&query=20&key=18",
                "canvas[data-ready]",
            ),
            ("step/attention=decoder.2.self_attention&head=1", ".verdict.agrees"),
            ("generation", ".tree .rank"),
            ("lens", ".lens td"),
            ("anatomy", ".part"),
        ):
            self.browser.run(f"location.hash = '#{view}'")
            self.browser.wait(f"document.querySelector('{ready}')")
            if view.startswith(("head", "step")):
                self.picture(f"explorer-{view.split('/')[0]}")
        self.check_steps(meta)
        self.assertEqual(self.browser.complaints(), [])

    def test_written_whole_or_not_at_all(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "no" / "page.html"
            command = [PROGRAM, "look", MODELS / "gpt2", *IDS, "--html", page]
            failed = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(failed.returncode, 1)
            self.assertIn(str(page), failed.stderr)
            self.assertEqual(list(Path(folder).iterdir()), [])


if __name__ == "__main__":
    unittest.main()
