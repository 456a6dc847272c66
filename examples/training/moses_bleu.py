#!/usr/bin/env python3
"""BLEU of translations as the papers on Multi30k give it: tokenised as Moses does, lower-cased.

    pip install sacremoses sacrebleu
    examples/training/moses_bleu.py fr runs/translate-en-fr/test_2016.fr test_2016_flickr.fr.gz
"""
import gzip
import sys


def lines(path):
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        return [line.strip() for line in file]


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: moses_bleu.py LANGUAGE HYPOTHESES REFERENCES")
    try:
        import sacrebleu
        import sacremoses
    except ImportError as missing:
        sys.exit(f"error: {missing}; to install it: pip install sacremoses sacrebleu")
    language, *files = sys.argv[1:]
    try:
        texts = [lines(file) for file in files]
    except OSError as failure:
        sys.exit(f"error: {failure}")
    if len(texts[0]) != len(texts[1]):
        sys.exit(f"error: expected {len(texts[1])} lines like {files[1]} in {files[0]}, "
                 f"found {len(texts[0])}")
    moses = sacremoses.MosesTokenizer(language)
    hypotheses, references = (
        [moses.tokenize(line, return_str=True, escape=False).lower() for line in text]
        for text in texts)
    print(sacrebleu.corpus_bleu(hypotheses, [references], tokenize="none", force=True))


if __name__ == "__main__":
    main()
