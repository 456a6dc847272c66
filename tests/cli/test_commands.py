"""The commands as a user runs them: what they print, what they write, how they fail.

  usage: GLASSFORMER=path/of/the/binary python3 -m unittest discover tests/cli
"""

import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
import unittest
from functools import partial
from pathlib import Path

BINARY = os.environ["GLASSFORMER"]
MODELS = Path(__file__).resolve().parents[1] / "fixtures" / "models"


def read_safetensors(path):
    """{name: (shape, bytes)}."""
    content = Path(path).read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:8 + length])
    return {name: (entry["shape"], content[8 + length:][slice(*entry["data_offsets"])])
            for name, entry in header.items() if name != "__metadata__"}


def write_ids(path, **rows):
    header, data = {}, b""
    for name, values in rows.items():
        raw = b"".join(struct.pack(f"<{len(row)}q", *row) for row in values)
        header[name] = {"dtype": "I64", "shape": [len(values), len(values[0])],
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


class Commands(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = Path(self.scratch.name)
        self.addCleanup(self.scratch.cleanup)

    def run_command(self, *arguments, stdin="", **environment):
        return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True,
                              input=stdin, timeout=120, env={**os.environ, **environment})

    def output(self, *arguments, stdin=""):
        done = self.run_command(*arguments, stdin=stdin)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def assert_fails(self, status, *parts, arguments):
        done = self.run_command(*arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertTrue(done.stderr.startswith("error: "), done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_numbers_that_make_no_sense_are_named(self):
        for given in ("0", "-3", "two", "1.5", "99999999999999999999"):
            self.assert_fails(2, f"--threads: expected a whole number from 1 on, found {given}",
                              arguments=("generate", "shakespeare", f"--threads={given}", "hi"))

    def test_info_counts_every_parameter(self):
        for folder in MODELS.iterdir():
            with self.subTest(folder.name):
                anatomy = json.loads(self.output("info", folder, "--json"))
                stored = read_safetensors(folder / "model.safetensors")
                held = {tensor["stored_name"] for tensor in anatomy["tensors"]}
                # Only positions that are computed and tables that are tied are not held.
                for name in set(stored) - held:
                    self.assertRegex(name, "position|embed_tokens|lm_head|decoder.bias")
                self.assertEqual(anatomy["parameters"],
                                 sum(part["parameters"] for part in anatomy["parts"]))
                self.assertIn("total", self.output("info", folder))

    def test_forward_writes_the_names_of_hugging_face(self):
        write_ids(self.folder / "in.safetensors", input_ids=[[5, 6, 7], [8, 9, 10]],
                  decoder_input_ids=[[1, 2], [3, 4]])
        out = self.folder / "out.safetensors"
        self.output("forward", MODELS / "marian", self.folder / "in.safetensors", out,
                    "--attentions", "--hidden-states", "--probe", "decoder.*.feed_forward.hidden")
        shapes = {name: shape for name, (shape, _) in read_safetensors(out).items()}
        self.assertEqual(shapes["logits"], [2, 2, 96])
        self.assertEqual(shapes["encoder_last_hidden_state"], [2, 3, 24])
        self.assertEqual(shapes["encoder_attentions.1"], [2, 3, 3, 3])
        self.assertEqual(shapes["cross_attentions.0"], [2, 3, 2, 3])
        self.assertEqual(shapes["decoder_hidden_states.2"], [2, 2, 24])
        self.assertEqual(shapes["decoder.0.feed_forward.hidden"], [2, 2, 36])

    def test_reading_steps_leaves_the_logits_as_they_are(self):
        write_ids(self.folder / "in.safetensors", input_ids=[[5, 6, 7, 8]])
        logits = []
        for more in ([], ["--probe", "**"]):
            out = self.folder / "out.safetensors"
            self.output("forward", MODELS / "llama", self.folder / "in.safetensors", out, *more)
            logits.append(read_safetensors(out)["logits"])
        self.assertEqual(*logits)

    def check_probabilities(self, found, labels, expected):
        found = {guess["label"]: guess["probability"] for guess in found}
        for label, probability in zip(labels, expected, strict=True):
            self.assertAlmostEqual(found[label], probability, places=5)

    def test_forward_with_an_adapter_gives_the_logits_of_peft(self):
        adapter = MODELS.parent / "adapters" / "gpt2"
        expected = read_safetensors(adapter / "expected.safetensors")
        shape, raw = expected["in.input_ids"]
        ids = struct.unpack(f"<{shape[0] * shape[1]}q", raw)
        row = list(ids[:shape[1]])  # the first one has no padding
        write_ids(self.folder / "in.safetensors", input_ids=[row])
        out = self.folder / "out.safetensors"
        self.output("forward", MODELS / "gpt2", self.folder / "in.safetensors", out,
                    "--adapter", adapter)
        ours, theirs = ([value for value, in struct.iter_unpack("<f", tensors[name][1])]
                        for tensors, name in ((read_safetensors(out), "logits"),
                                              (expected, "out.logits")))
        self.assertLess(max(abs(a - b) for a, b in zip(ours, theirs)), 1e-4)

    def test_classify_gives_the_probabilities_of_transformers(self):
        labels = ["cold", "mild", "hot"]
        for name in ("bert-sequence", "vit"):
            cases = json.loads((MODELS / name / "classify.json").read_text())
            inputs = [case.get("text") or MODELS / name / case["picture"] for case in cases]
            results = json.loads(self.output("classify", MODELS / name, *inputs, "--json"))
            for case, result in zip(cases, results["results"], strict=True):
                self.check_probabilities(result["labels"], labels, case["probabilities"])

    def test_classify_labels_every_token(self):
        cases = json.loads((MODELS / "bert-token" / "classify.json").read_text())
        lines = "".join(case["text"] + "\n" for case in cases)
        results = json.loads(self.output("classify", MODELS / "bert-token", "--json", stdin=lines))
        for case, result in zip(cases, results["results"], strict=True):
            rows = case["probabilities"][1:-1]  # without [CLS] and [SEP]
            for row, token in zip(rows, result["tokens"], strict=True):
                self.assertAlmostEqual(token["probability"], max(row), places=5)
            self.assertEqual("".join(token["text"] for token in result["tokens"]),
                             case["text"].replace(" ", ""))

    def test_embed_gives_a_vector_a_line_in_order(self):
        lines = ["the sun", "ice is very cold and not hot", "hot"]
        model = MODELS / "bert-sequence"
        text = self.output("embed", model, "--normalize", stdin="\n".join(lines) + "\n")
        rows = [[float(x) for x in line.split()] for line in text.splitlines()]
        self.assertEqual([len(row) for row in rows], [24] * 3)
        for line, row in zip(lines, rows, strict=True):
            self.assertAlmostEqual(sum(x * x for x in row), 1, places=5)
            alone = self.output("embed", model, "--normalize", line)
            self.assertEqual([float(x) for x in alone.split()], row)
        self.output("embed", model, *lines, "--output", self.folder / "e.safetensors")
        self.assertEqual(read_safetensors(self.folder / "e.safetensors")["embeddings"][0], [3, 24])

    def test_tokenize_goes_both_ways(self):
        model = MODELS / "bert-sequence"
        ids = self.output("tokenize", model, "--json", stdin="The sun shines\nhot ice\n")
        self.assertEqual([json.loads(line) for line in ids.splitlines()],
                         [[2, 5, 6, 19, 16, 3], [2, 8, 10, 3]])
        self.assertEqual(self.output("tokenize", model, "--no-special", "ice"), "10\tice\t0\t3\n\n")
        text = self.output("tokenize", model, "--decode", "--no-special", stdin=ids)
        self.assertEqual(text, "the sun shines\nhot ice\n")

    def test_quantize_writes_what_the_others_read(self):
        out = self.folder / "small"
        done = self.run_command("quantize", MODELS / "llama-3", out, "--type", "int4", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        summary = json.loads(done.stdout)
        self.assertLess(summary["bytes_after"], summary["bytes_before"])
        info = json.loads(self.output("info", out, "--json"))
        self.assertGreater(info["quantization"]["int4"]["tensors"], 0)
        config = json.loads((out / "config.json").read_text())["quantization_config"]
        self.assertEqual(config, {"quant_method": "glassformer", "type": "int4", "group_size": 32})
        write_ids(self.folder / "in.safetensors", input_ids=[[5, 6, 7]])
        self.output("forward", out, self.folder / "in.safetensors", self.folder / "out.safetensors")
        self.assertIn("logits", read_safetensors(self.folder / "out.safetensors"))
        self.assert_fails(1, "is there already", arguments=("quantize", MODELS / "llama-3", out))
        self.assert_fails(1, "quantised already (int4)",
                          arguments=("quantize", out, self.folder / "again"))
        gguf = MODELS.parent / "gguf/llama.gguf"
        self.output("quantize", gguf, self.folder / "of-gguf", "--type", "int8")
        self.output("info", self.folder / "of-gguf")
        self.assert_fails(2, "int3", arguments=("quantize", out, "x", "--type", "int3"))

    def generation(self, command, model, *arguments):
        done = json.loads(self.output(command, MODELS / model, "--json", *arguments))
        return [result["sequences"] for result in done["results"]]

    def test_generate_gives_the_ids_of_transformers(self):
        cases = json.loads((MODELS.parent / "decoding" / "gpt2.json").read_text())["cases"]
        plain = next(case for case in cases if case["name"] == "greedy")
        found = self.generation("generate", "gpt2", "--ids", json.dumps(plain["prompts"]),
                                "--max-new-tokens", plain["options"]["max_new_tokens"])
        self.assertEqual([one[0]["ids"] for one in found],
                         [one[0]["ids"] for one in plain["outputs"]])

    def test_generate_takes_beams_and_seeds(self):
        beams = self.generation("generate", "gpt2", "--ids", "[[5, 6]]", "-n", 4, "-b", 3,
                                "--num-return-sequences", 3)[0]
        self.assertEqual(len(beams), 3)
        self.assertEqual(sorted(beams, key=lambda one: -one["score"]), beams)
        drawn = [self.generation("generate", "gpt2", "--ids", "[[5, 6]]", "-n", 8, "--do-sample",
                                 "--seed", seed)[0][0]["ids"] for seed in (1, 1, 2)]
        self.assertEqual(drawn[0], drawn[1])
        self.assertNotEqual(drawn[0], drawn[2])

    def test_generate_writes_the_tree(self):
        tree = self.folder / "tree.json"
        self.output("generate", MODELS / "gpt2", "--ids", "[[5, 6]]", "-n", 4, "-b", 3, "--tree",
                    tree)
        nodes = json.loads(tree.read_text())[0]["nodes"]
        self.assertEqual({node["step"] for node in nodes}, {0, 1, 2, 3})

    def test_a_draft_changes_nothing(self):
        plain = self.generation("generate", "gpt2", "--ids", "[[5, 6, 7]]", "-n", 9)
        self.assertEqual(plain, self.generation("generate", "gpt2", "--ids", "[[5, 6, 7]]", "-n", 9,
                                                "--draft", MODELS / "gpt2"))

    def test_translate_keeps_the_order(self):
        ids = [[5, 6, 7, 0], [9, 0], [11, 12, 13, 14, 15, 0]]
        together = self.generation("translate", "marian", "--ids", json.dumps(ids), "-n", 6)
        alone = [self.generation("translate", "marian", "--ids", json.dumps([one]), "-n", 6)[0]
                 for one in ids]
        self.assertEqual(together, alone)

    def test_bundled_models_are_known_by_name(self):
        said = self.output("translate", "translate-en-de", "--num-beams", "5", "A man is sleeping.",
                           "Two dogs run.")
        self.assertEqual(said, "Ein Mann schläft.\nZwei Hunde rennen.\n")
        # Its codes as plain numbers, which gradients need.
        self.assertEqual(self.output("translate", "translate-en-de", "--dtype", "float64",
                                     "A man is sleeping."), "Ein Mann schläft.\n")
        self.assertIn("comes from", self.output("look", "translate-en-de", "--dtype", "float64",
                                                "--rollout", "gradient", "Two dogs run."))
        self.assert_fails(1, "no-such-model", "translate-en-de", arguments=["info", "no-such-model"])

    def test_what_follows_the_value_of_an_option_is_the_text(self):
        for option in (["--bad-words", "Hund"], ["--stop-strings", "xyz"], ["--length-penalty", "1"]):
            self.assertTrue(self.output("translate", "translate-en-de", *option, "A dog runs."))
        for option in (["--layer", "2"], ["--head", "1"], ["--probe", "logits"]):
            self.assertIn("Hund", self.output("look", "translate-en-de", *option, "A dog runs."))

    def test_demo_shows_every_bundled_model_and_writes_a_page(self):
        page = self.folder / "page.html"
        done = self.run_command("demo", "--html", page)  # on a busy machine it tells how far it is
        self.assertEqual(done.returncode, 0, done.stderr)
        said = done.stdout
        for part in ("German", "French", "greedy", "beams", "ROMEO:", "cross_attention", "ankle-boot.png",
                     "Ankle boot", "where [CLS] looks", str(page)):
            self.assertIn(part, said)
        written = page.read_text(encoding="utf-8")
        for part in ("translate-en-de", "fashion-mnist", "Ankle boot"):
            self.assertIn(part, written)

    def test_demo_names_what_is_in_a_picture_or_says_that_it_cannot(self):
        models, page = self.folder / "models", self.folder / "page.html"
        models.mkdir()
        for name in ("translate-en-de", "translate-en-fr", "shakespeare"):
            (models / name).symlink_to(Path(__file__).resolve().parents[2] / "models" / name)
        run = partial(self.run_command, "demo", "--html", page, GLASSFORMER_MODELS=str(models))
        said = run().stdout
        self.assertIn("fashion-mnist, is not among the bundled ones", said)
        self.assertNotIn('id="meta-1"', page.read_text(encoding="utf-8"))
        shutil.copytree(MODELS / "vit", models / "fashion-mnist")
        failed = run()
        self.assertEqual(failed.returncode, 1)
        self.assertRegex(failed.stderr, "(?m)^error: .*samples.*PNG")
        samples = models / "fashion-mnist" / "samples"
        samples.mkdir()
        shutil.copy(MODELS / "vit" / "picture.png", samples / "a-picture.png")
        said = run().stdout
        for part in ("a-picture.png", "mild", "where [CLS] looks", "both", str(page)):
            self.assertIn(part, said)
        self.assertIn('id="meta-1"', page.read_text(encoding="utf-8"))

    def test_bench_decode_reports_both_rates(self):
        report = json.loads(self.output("bench", "decode", MODELS / "gpt2", "--prompt", 8,
                                        "--tokens", 4, "--json"))
        self.assertGreater(report["tokens_per_second"], 0)
        self.assertGreater(report["prompt_tokens_per_second"], 0)

    def test_generation_says_what_is_wrong(self):
        gpt2 = MODELS / "gpt2"
        for status, parts, arguments in [
                (1, ["generates text", "BertModel"], ["generate", MODELS / "bert", "--ids", "[[1]]"]),
                (1, ["ids from 0 to 95", "900"], ["generate", gpt2, "--ids", "[[900]]"]),
                (1, ["list of lists"], ["generate", gpt2, "--ids", "[5]"]),
                (1, ["top_p", "(0, 1]"], ["generate", gpt2, "--ids", "[[5]]", "--top-p", 3,
                                          "--do-sample"]),
                (1, ["30", "24"], ["generate", gpt2, "--ids", json.dumps([[5] * 30])]),
                (1, ["encoder and decoder"], ["translate", gpt2, "--ids", "[[5]]"]),
                (2, ["--num-beams"], ["generate", gpt2, "--num-beams", "many"])]:
            self.assert_fails(status, *parts, arguments=arguments)

    def test_failures_say_what_was_expected(self):
        bert = MODELS / "bert-sequence"
        self.assert_fails(2, "subcommand", arguments=[])
        self.assert_fails(2, "no command 'tokenise'", "'tokenize'", arguments=["tokenise"])
        self.assert_fails(2, "--tune", arguments=["info", bert, "--tune"])
        self.assert_fails(2, "--dtype", arguments=["classify", bert, "x", "--dtype", "int3"])
        self.assert_fails(1, "found nothing", arguments=["info", self.folder / "none"])
        self.assert_fails(1, "config.json", arguments=["info", self.folder])
        self.assert_fails(1, "classification head", arguments=["classify", MODELS / "bert", "x"])
        self.assert_fails(1, "cuda", arguments=["classify", bert, "hot", "--device", "cuda"])
        write_ids(self.folder / "in.safetensors", input_ids=[[5, 400]])
        paths = [self.folder / "in.safetensors", self.folder / "out.safetensors"]
        self.assert_fails(1, "400", arguments=["forward", bert, *paths])
        write_ids(self.folder / "in.safetensors", input_idx=[[5, 4]])
        self.assert_fails(1, "input_idx", "input_ids", arguments=["forward", bert, *paths])
        write_ids(self.folder / "in.safetensors", input_ids=[[5, 4]])
        self.assert_fails(1, "fits no step", "encoder.0.norm_1",
                          arguments=["forward", bert, *paths, "--probe", "encoder.0.norm_9"])
        self.assertFalse(paths[1].exists())


if __name__ == "__main__":
    unittest.main()
