"""`glassformer look` in every form that it has, with tokens that mean harm and calls that are wrong."""

import json
import os
import re
import struct
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

BINARY = os.environ["GLASSFORMER"]
MODELS = Path(__file__).resolve().parents[1] / "fixtures" / "models"
TEXT_MODEL, PICTURE_MODEL = MODELS / "bert-sequence", MODELS / "vit"
PICTURE = PICTURE_MODEL / "picture.png"
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


class Look(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = Path(self.scratch.name)
        self.addCleanup(self.scratch.cleanup)

    def run_look(self, *arguments, **environment):
        return subprocess.run([BINARY, "look", *map(str, arguments)], capture_output=True,
                              timeout=120, env={**os.environ, "NO_COLOR": "", **environment})

    def output(self, *arguments, **environment):
        done = self.run_look(*arguments, **environment)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout.decode()

    def report(self, *arguments):
        return json.loads(self.output(*arguments, "--json"))

    def assert_fails(self, status, *parts, arguments):
        done = self.run_look(*arguments)
        self.assertEqual((done.returncode, done.stdout), (status, b""), done.stderr)
        self.assertTrue(done.stderr.startswith(b"error: "), done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr.decode())

    def test_json_has_the_weights_of_every_attention(self):
        for folder in sorted(MODELS.iterdir()):
            config = json.loads((folder / "config.json").read_text())
            if "image_size" in config:
                continue
            with self.subTest(folder.name):
                parts = subprocess.run([BINARY, "info", folder, "--json"], capture_output=True,
                                       check=True).stdout.decode()
                both = "encoder: " in parts and "decoder: " in parts
                target = ["--target-ids", "[4,5,6]"] if both else []
                report = self.report(folder, "--ids", "[5,6,7,6]", *target)
                self.assertEqual(report["version"], 1)
                for attention in report["attentions"]:
                    shape = report["tensors"][attention["name"] + ".weights"]["shape"]
                    lengths = [len(report["sides"][attention[side]]["tokens"])
                               for side in ("queries", "keys")]
                    self.assertEqual(shape, [attention["heads"], *lengths])
                    self.assertEqual(len(attention["measures"]["entropy"]), attention["heads"])

    def test_terminal_view_shows_the_prediction_and_a_map(self):
        text = self.output(TEXT_MODEL, "the sun is hot", "--saliency", "integrated", "--lens")
        self.assertNotIn("\x1b", text)
        for part in ("the label", "hot", "heads:", "encoder.1.self_attention, mean of the heads",
                     "[CLS]", "integrated gradients of", "the logit lens"):
            self.assertIn(part, text)
        one = self.output(TEXT_MODEL, "the sun is hot", "--layer", 0, "--head", 2)
        self.assertIn("encoder.0.self_attention, head 2", one)

    def test_terminal_view_fits_the_width_with_colours_and_without(self):
        words = " ".join(["sun hot ice"] * 6)
        for columns in (60, 100):
            for colour in ("always", "never"):
                text = self.output(TEXT_MODEL, words, "--color", colour, "--lens", "--saliency",
                                   "gradient", COLUMNS=str(columns))
                self.assertEqual("\x1b[" in text, colour == "always")
                for line in ESCAPES.sub("", text).splitlines():
                    self.assertLessEqual(len(line), columns, line)

    def test_pictures_show_where_the_class_token_looks(self):
        text = self.output(PICTURE_MODEL, PICTURE)
        self.assertIn("where [CLS] looks", text)
        report = self.report(PICTURE_MODEL, PICTURE)
        image = report["image"]
        self.assertEqual((image["rows"], image["columns"], image["prefix"]), (3, 3, 1))
        self.assertTrue(image["png"].startswith("iVBORw0KGgo"))
        self.assertEqual(report["tensors"]["rollout.encoder"]["shape"], [10, 10])
        for total in rows_of(report["tensors"]["rollout.encoder"]):
            self.assertAlmostEqual(sum(total), 1, places=5)

    def test_an_encoder_decoder_says_something_itself(self):
        report = self.report(MODELS / "marian", "--ids", "[5,6,7,0]", "--generate", 6)
        said = report["generation"]["tokens"]
        self.assertEqual([token["id"] for token in report["sides"]["decoder"]["tokens"][1:]],
                         [token["id"] for token in said])
        nodes = report["generation"]["tree"]["nodes"]
        self.assertTrue(all("text" in node for node in nodes))
        self.assertIn("decoder.1.cross_attention.weights", report["tensors"])

    def test_an_output_token_comes_from_the_source(self):
        call = [MODELS / "marian", "--ids", "[5,6,7,0]", "--target-ids", "[95,9,8]", "--rollout",
                "gradient"]
        report = self.report(*call, "--row", 1)
        self.assertEqual((report["explained"]["position"], report["explained"]["id"]), (1, 8))
        cross = rows_of(report["tensors"][report["rollout"]["cross"]])
        self.assertEqual((len(cross), len(cross[0])), (3, 4))
        self.assertTrue(all(value == 0 for value in cross[2]))  # behind what is explained
        text = self.output(*call, "--row", 1)
        self.assertIn('what "8" after "9" comes from: the source', text)
        for value in cross[1]:
            self.assertIn(f"{value:.4f}", text)
        last = self.report(*call)["explained"]
        self.assertEqual((last["position"], last["id"]),
                         (2, self.report(*call)["prediction"]["top"][0]["id"]))
        for map, title in (("encoder", "rollout of the encoder"), ("decoder", "of the decoder"),
                           ("cross", "rollout from the source to what was said")):
            self.assertIn(title, self.output(*call, "--map", map))
        self.assert_fails(1, "from 0 to 2", "3", arguments=[*call, "--row", 3])

    def test_a_decoder_goes_on_with_its_text(self):
        report = self.report(MODELS / "gpt2", "--ids", "[5,6,7]", "--generate", 4)
        self.assertEqual(len(report["sides"]["decoder"]["tokens"]), 7)
        ids = [token["id"] for token in report["generation"]["tokens"]]
        done = subprocess.run([BINARY, "generate", MODELS / "gpt2", "--ids", "[[5,6,7]]",
                               "--max-new-tokens", "4", "--json"], capture_output=True, check=True)
        self.assertEqual(ids, json.loads(done.stdout)["results"][0]["sequences"][0]["ids"])

    def test_an_ablation_says_what_it_changed(self):
        report = self.report(TEXT_MODEL, "the sun is hot", "--ablate",
                             "encoder.*.self_attention.head.*")
        before, after = report["ablation"]["before"]["top"], report["prediction"]["top"]
        self.assertNotEqual(before, after)
        self.assertEqual(before, self.report(TEXT_MODEL, "the sun is hot")["prediction"]["top"])
        text = self.output(TEXT_MODEL, "the sun is hot", "--ablate", "encoder.1.feed_forward.output",
                           "--ablate-to", "mean")
        self.assertLess(text.index("before"), text.index("after"))

    def test_files_are_written_whole(self):
        png, svg, tensors = (self.folder / name for name in ("a.png", "a.svg", "a.safetensors"))
        self.assertEqual(self.output(TEXT_MODEL, "the sun", "--png", png, "--svg", svg,
                                     "--safetensors", tensors), "")
        self.assertTrue(png.read_bytes().startswith(b"\x89PNG"))
        self.assertTrue(xml.parse(svg).getroot().tag.endswith("svg"))
        content = tensors.read_bytes()
        header = json.loads(content[8:8 + struct.unpack("<Q", content[:8])[0]])
        self.assertIn("encoder.0.self_attention.weights", header)
        self.assertEqual(json.loads(header["__metadata__"]["report"])["model"]["name"],
                         TEXT_MODEL.name)
        self.assert_fails(1, "nowhere", arguments=[TEXT_MODEL, "hot", "--svg",
                                                   self.folder / "nowhere" / "a.svg"])

    def test_hostile_tokens_are_shown_and_do_nothing(self):
        hostile = "</script><b>&\"' \x1b[31m\x07 \u202eabc\u2066 שלום مرحبا \u0000".replace("\0", "")
        text = self.output(TEXT_MODEL, hostile)
        self.assertFalse(any(ord(c) < 32 and c != "\n" for c in text))
        self.assertNotIn("\u202e", text)
        report = self.report(TEXT_MODEL, hostile)
        self.assertEqual(report["sides"]["encoder"]["text"], hostile)
        svg = self.folder / "a.svg"
        self.output(TEXT_MODEL, hostile, "--layer", 0, "--head", 0, "--svg", svg)
        self.assertTrue(xml.parse(svg).getroot().tag.endswith("svg"))
        self.assertNotIn("<script", svg.read_text())
        self.assertNotIn("<b>", svg.read_text())
        done = self.run_look(TEXT_MODEL, b"\xff\xfe hot".decode("utf-8", "surrogateescape"))
        self.assertEqual(done.returncode, 0)

    def test_says_what_is_wrong(self):
        hot = [TEXT_MODEL, "hot"]
        self.assert_fails(1, "text", arguments=[TEXT_MODEL])
        self.assert_fails(1, "picture", arguments=[PICTURE_MODEL])
        self.assert_fails(1, "model folder", arguments=[PICTURE, "hot"])
        self.assert_fails(1, "picture.txt", arguments=[PICTURE_MODEL, "picture.txt"])
        self.assert_fails(1, "layer from 0 to 1", "7", arguments=[*hot, "--layer", 7])
        self.assert_fails(1, "head from 0 to 2", "3", arguments=[*hot, "--head", 3])
        self.assert_fails(1, "row from 0 to 2", "9", arguments=[*hot, "--row", 9])
        self.assert_fails(1, "probe 'x'", "encoder.0.norm_1", arguments=[*hot, "--probe", "x"])
        self.assert_fails(1, "ablate 'encoder.0.self_attention.head.3'",
                          arguments=[*hot, "--ablate", "encoder.0.self_attention.head.3"])
        self.assert_fails(1, "--target", arguments=[*hot, "--target", "kalt"])
        self.assert_fails(1, "--generate", arguments=[*hot, "--generate", 3])
        self.assert_fails(1, "--ids", "list of ids", arguments=[TEXT_MODEL, "--ids", "{}"])
        self.assert_fails(1, "--ids", arguments=[TEXT_MODEL, "--ids", "[1,"])
        self.assert_fails(1, "9999", arguments=[TEXT_MODEL, "--ids", "[9999]"])
        self.assert_fails(1, "tokenizer", arguments=[MODELS / "gpt2", "hot"])
        for wrong in (["--saliency", "x"], ["--rollout", "x"], ["--layer", "x"], ["--map", "x"],
                      ["--top", "0"], ["--generate", "-1"], ["--nothing"]):
            self.assert_fails(2, wrong[0], arguments=[*hot, *wrong])


def rows_of(tensor):
    width = tensor["shape"][-1]
    return [tensor["data"][i:i + width] for i in range(0, len(tensor["data"]), width)]


if __name__ == "__main__":
    unittest.main()
