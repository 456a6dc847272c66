"""Measures Glassformer side by side with PyTorch, on whole models also ONNX Runtime, on text the
tokenizers package, and on generation llama.cpp and CTranslate2, in one run.

All work on the same numbers with the same number of threads; their results are compared before
anything is timed; repetitions take turns, so that what else the machine does falls on all. Medians
after a warm-up. The machine's own ceilings are measured first, and again in turns with every case.

Exit status: 0, or 1 where results disagree. Goals that are missed are marked and do not fail.
"""

import argparse
import fnmatch
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import cases
import generating
import generation_files
import generation_report
import models
import peer_probe
import ranks
import report
import sides
import tokenizing
import training


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="bench/compare/run", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="GLASSFORMER_COMPARE_PYTHON=PYTHON takes an interpreter that has the packages of "
               "requirements.txt,\nin place of the virtual environment build/compare-venv.")
    parser.add_argument("--only", metavar="PATTERN", action="append",
                        help="only cases whose name matches, as in 'attention/*/forward'; "
                             "may be repeated")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, fewer repetitions")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--threads", type=int, default=2, help="threads of each side (default 2)")
    parser.add_argument("--update", action="store_true",
                        help="write the tables into docs/performance.md, each as a whole")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2],
                        help=argparse.SUPPRESS)
    return parser.parse_args()


TABLES = {"model": "models", "tokenizer": "tokenizers", "decode": "decode",
          "translate": "translate", "train": "train", "ranks": "ranks"}


def table_of(case):
    return TABLES.get(case.op, "ops")


def selected(arguments):
    every = list(cases.all_cases(arguments.quick))
    found = [case for case in every
             if not arguments.only or any(fnmatch.fnmatch(case.name, pattern) or
                                          fnmatch.fnmatch(case.name, f"*{pattern}*")
                                          for pattern in arguments.only)]
    if not found:
        raise SystemExit(f"error: expected --only to match a case, found none: {arguments.only}")
    for table in {table_of(case) for case in found} if arguments.update else ():
        names = [{case.name for case in some if table_of(case) == table} for some in (found, every)]
        if names[0] != names[1]:
            raise SystemExit("error: --update writes whole tables: expected --only to match all "
                             f"{len(names[1])} cases of '{table}', found {len(names[0])}")
    return found


def program(root, name):
    path = root / "build/release/bin" / name
    if not path.exists():
        raise SystemExit(f"error: {path} not found; run make build")
    return str(path)


def measure_ceilings(root, threads):
    done = subprocess.run([program(root, "glassformer_ceilings")], capture_output=True, text=True,
                          check=True, env={**os.environ, "OMP_NUM_THREADS": str(threads)})
    return json.loads(done.stdout)


def warn_if_busy():
    load, cores = os.getloadavg()[0], os.cpu_count()
    if load > cores / 2:
        print(f"warning: the machine is busy (load {load:.1f} on {cores} cores): the figures will "
              "say little", file=sys.stderr)


def validate(case, inputs, ours, theirs):
    """Compares our results with torch's and, where they differ, with torch's in float64."""
    for found, expected in zip(ours, theirs, strict=True):
        if found.shape != expected.shape:
            raise sides.Failed(f"shape {list(found.shape)}, expected {list(expected.shape)}")
    worst = cases.largest_difference(ours, theirs)
    if worst > case.tolerance:
        exact = sides.exact(case, inputs)
        worst = cases.largest_difference(ours, exact)
        if worst > case.tolerance:
            raise sides.Failed(f"off by {worst:.2g}, allowed {case.tolerance:g}")
        print(f"{case.name}: torch is off by {cases.largest_difference(theirs, exact):.2g}, "
              f"ours by {worst:.2g}", file=sys.stderr)


def measure(case, torch, ours, theirs, turns):
    inputs = cases.make_inputs(torch, case)
    result = report.Result(case)
    try:
        validate(case, inputs, ours.load(case, inputs), theirs.load(case, inputs))
        taken, needed, peer = sides.take_turns([ours, sides.Floor(ours, case), theirs], turns)
        result.ours, result.torch = statistics.median(taken), statistics.median(peer)
        result.share = sides.share_of(needed, taken)
        result.peak_bytes = ours.peak_bytes
    except sides.Failed as failure:
        result.failure = str(failure)
    return result


def told(results):
    """The results as they come, each said on the terminal."""
    for result in results:
        print(report.line(result), file=sys.stderr)
        yield result


def compare_ops(chosen, torch, peer, arguments):
    """(results, their table)."""
    print("measuring the machine", file=sys.stderr)
    ceilings = measure_ceilings(arguments.root, arguments.threads)
    theirs = sides.Torch(torch, arguments.threads)
    turns = 5 if arguments.quick else 11
    command = [program(arguments.root, "glassformer_compare")]
    with sides.Driver(torch, command, arguments.threads) as ours:
        results = list(told(measure(case, torch, ours, theirs, turns) for case in chosen))
    return results, report.markdown(results, ceilings, peer, arguments.quick)


def compare_models(chosen, torch, peer, arguments):
    """(results, their table)."""
    import onnxruntime

    driver = program(arguments.root, "glassformer_compare")
    folder = models.prepare(arguments.root / "build/compare-models", chosen)
    results = list(told(models.measure(
        case, folder, torch, driver, arguments.threads, 3 if arguments.quick else 11)
        for case in chosen))
    peers = f"{peer}; ONNX Runtime {onnxruntime.__version__}"
    return results, report.model_markdown(results, peers, arguments.threads, arguments.quick)


def compare_tokenizers(chosen, torch, _, arguments):
    """(results, their table)."""
    import tokenizers

    driver = program(arguments.root, "glassformer_compare")
    files = tokenizing.Files(arguments.root)
    results = list(told(tokenizing.measure(case, files, torch, driver, 3 if arguments.quick else 7)
                        for case in chosen if files.has(case)))
    return results, report.tokenizer_markdown(results, f"tokenizers {tokenizers.__version__}",
                                              arguments.quick)


def compare_generation(chosen, torch, _, arguments):
    """(results, their table)."""
    driver = program(arguments.root, "glassformer_compare")
    files = generation_files.Files(arguments.root)
    results = list(told(generating.measure(case, files, torch, driver, arguments,
                                           3 if arguments.quick else 5) for case in chosen))
    peer, _ = generating.peer_of(chosen[0].op)
    return results, generation_report.markdown(results, peer, arguments.threads, arguments.quick)


def compare_training(chosen, torch, peer, arguments):
    """(results, their table)."""
    driver = program(arguments.root, "glassformer_compare")
    results = list(told(training.measure(case, arguments.root / "build/compare-training", torch,
                                         driver, arguments, 3 if arguments.quick else 5)
                        for case in chosen))
    return results, training.markdown(results, peer, arguments.threads, arguments.quick)


def compare_ranks(chosen, _torch, _peer, arguments):
    """(results, their table)."""
    results = list(told(ranks.measure(case, program(arguments.root, "glassformer"),
                                      3 if arguments.quick else 5) for case in chosen))
    return results, ranks.markdown(results)


def main():
    arguments = parse_arguments()
    chosen = selected(arguments)
    if arguments.list:
        print("\n".join(case.name for case in chosen))
        return 0
    level = peer_probe.find_level()
    if level:
        os.environ[peer_probe.VARIABLE] = level
    import torch  # Reads the variable when it is loaded.

    warn_if_busy()
    peer = f"PyTorch {torch.__version__}"
    if level:
        peer += (f" with {peer_probe.VARIABLE}={level}: beyond that it ends with an illegal "
                 "instruction on this machine")
    results, texts = [], {}
    kinds = {"ops": compare_ops, "models": compare_models, "tokenizers": compare_tokenizers,
             "decode": compare_generation, "translate": compare_generation,
             "train": compare_training, "ranks": compare_ranks}
    for kind, compare in kinds.items():
        wanted = [case for case in chosen if table_of(case) == kind]
        if wanted:
            found, texts[kind] = compare(wanted, torch, peer, arguments)
            results += found
            if arguments.update:  # at once: a later part may fail
                report.update(arguments.root / "docs/performance.md", {kind: texts[kind]})
    print("\n\n".join(texts.values()))
    return 1 if any(result.failure for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
