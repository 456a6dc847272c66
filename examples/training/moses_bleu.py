#!/usr/bin/env python3
"""BLEU of translations as the papers on Multi30k give it: tokenised as Moses does, lower-cased.

    pip install sacremoses sacrebleu
    examples/training/moses_bleu.py fr runs/translate-en-fr/test_2016.fr test_2016_flickr.fr.gz
"""
import argparse
import gzip
import sys


def lines(path):
    opened = gzip.open if path.endswith(".gz") else open
    try:
        with opened(path, "rt", encoding="utf-8") as file:
            return [line.strip() for line in file]
    except (OSError, EOFError, UnicodeDecodeError) as failure:
        sys.exit(f"error: {path}: expected lines of text in UTF-8, found: {failure}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("language", help="of the translations, as Moses names it: de, fr, ...")
    parser.add_argument("hypotheses", help="translations, a line each; .gz or not")
    parser.add_argument("references", help="what they should be, likewise")
    arguments = parser.parse_args()
    try:
        import sacrebleu
        import sacremoses
    except ImportError as missing:
        sys.exit(f"error: {missing}; to install it: pip install sacremoses sacrebleu")
    texts = [lines(file) for file in (arguments.hypotheses, arguments.references)]
    if len(texts[0]) != len(texts[1]):
        sys.exit(f"error: {arguments.hypotheses}: expected {len(texts[1])} lines like "
                 f"{arguments.references}, found {len(texts[0])}")
    moses = sacremoses.MosesTokenizer(arguments.language)
    hypotheses, references = (
        [moses.tokenize(line, return_str=True, escape=False).lower() for line in text]
        for text in texts)
    print(sacrebleu.corpus_bleu(hypotheses, [references], tokenize="none", force=True))


if __name__ == "__main__":
    main()
