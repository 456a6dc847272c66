"""Tokenizers: made once, and the `tokenizers` package as the peer, one thread each."""

import dataclasses
import json
import os
import random
import statistics
import sys
import time
from pathlib import Path

import report
import sides

WORDS = 10_000   # tokens of the trained ones
LARGE = 150_000  # tokens of the one that is only loaded


class Files:
    """The tokenizers and texts of the cases, below build/compare-tokenizers."""

    def __init__(self, root):
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        self.folder = root / "build/compare-tokenizers"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.shared = Path(os.environ.get("GLASSFORMER_DATA", root.parent / "shared"))
        self.shakespeare = self.shared / "data/tiny-shakespeare/input.txt"

    def has(self, case):
        """Whether what the case needs is there; says so where it is not."""
        needed = [self.shared / "tokenizers/gpt2/tokenizer.json"] * (case.args["file"] == "gpt2")
        needed += [self.shakespeare] * (case.args["file"] != "large")
        missing = [path for path in needed if not path.exists()]
        for path in missing:
            print(f"{case.name}: left out, {path} not found", file=sys.stderr)
        return not missing

    def tokenizer(self, style):
        if style == "gpt2":
            return self.shared / "tokenizers/gpt2/tokenizer.json"
        return self.made(f"{style}.json", lambda path: make_large(path) if style == "large"
                         else train(style, self.shakespeare).save(str(path)))

    def text(self, name):
        if not name or name == "shakespeare":
            return self.shakespeare if name else ""
        count = int(name.removeprefix("letters")) * 1_000_000
        letters = random.Random(2017)
        return self.made(f"{name}.txt", lambda path: path.write_text(
            "".join(letters.choices("etaoinshrdlucmfw", k=count)), encoding="utf-8"))

    def made(self, name, make):
        path = self.folder / name
        if not path.exists():
            print(f"making {path} (once)", file=sys.stderr)
            make(path.with_suffix(".unfinished"))
            path.with_suffix(".unfinished").rename(path)
        return path


def train(style, text):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    if style == "bpe":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = trainers.BpeTrainer(vocab_size=WORDS, show_progress=False,
                                      initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    elif style == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=WORDS, show_progress=False,
                                            special_tokens=["[UNK]"])
    else:
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer = normalizers.NFKC()
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=WORDS, show_progress=False, unk_token="<unk>",
                                          special_tokens=["<unk>"])
    tokenizer.train([str(text)], trainer)
    return tokenizer


def make_large(path):
    """A byte-level BPE whose merges join tokens drawn at random."""
    from tokenizers import pre_tokenizers

    rng = random.Random(2017)
    tokens = sorted(pre_tokenizers.ByteLevel.alphabet())
    known, merges = set(tokens), []
    while len(tokens) < LARGE:
        left, right = rng.choice(tokens), rng.choice(tokens[:4096])
        if len(left + right) <= 12 and left + right not in known:
            known.add(left + right)
            tokens.append(left + right)
            merges.append([left, right])
    path.write_text(json.dumps({
        "version": "1.0", "added_tokens": [], "normalizer": None, "post_processor": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
                          "use_regex": True},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True,
                    "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None,
                  "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
                  "byte_fallback": False, "ignore_merges": False,
                  "vocab": {token: i for i, token in enumerate(tokens)}, "merges": merges},
    }, ensure_ascii=False), encoding="utf-8")


class Package:
    """The `tokenizers` package in this process."""

    def __init__(self, args):
        from tokenizers import Tokenizer

        self.work = lambda: Tokenizer.from_file(args["file"]).get_vocab_size()
        self.loads = not args["text"]
        if not self.loads:
            text = Path(args["text"]).read_text(encoding="utf-8")
            tokenizer = Tokenizer.from_file(args["file"])
            lines = text.splitlines() if args["lines"] else [text]
            self.work = lambda: tokenizer.encode_batch_fast(lines)

    def result(self, torch):
        done = self.work()
        return torch.tensor([done] if self.loads else [i for one in done for i in one.ids])

    def run(self, repeats):
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            done = self.work()
            times.append(time.perf_counter() - start)
            del done
        return times


def measure(case, files, torch, driver, turns):
    args = {**case.args, "file": str(files.tokenizer(case.args["file"])),
            "text": str(files.text(case.args["text"]))}
    result = report.TokenizerResult(case, size=Path(args["text"] or args["file"]).stat().st_size)
    theirs = Package(args)
    with sides.Driver(torch, [driver], threads=1) as ours:
        try:
            found = ours.load(dataclasses.replace(case, args=args), [])[0]
            expected = theirs.result(torch)
            if found.shape != expected.shape or not bool((found == expected).all()):
                raise sides.Failed("the ids differ")
            result.ours, result.theirs = map(statistics.median,
                                             sides.take_turns([ours, theirs], turns))
        except sides.Failed as failure:
            result.failure = str(failure)
    return result
