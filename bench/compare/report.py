"""The table: a line a case, the ratios between cases, and the goals beside them."""

import dataclasses
import re

import cases


@dataclasses.dataclass
class Result:
    case: cases.Case
    ours: float = 0.0       # seconds
    torch: float = 0.0
    share: float = 0.0      # of what the machine's own best loops would need
    peak_bytes: int = 0
    failure: str = ""

    @property
    def ratio(self):
        return self.torch / self.ours

    def summary(self):
        return (f"ours {self.ours * 1e3:.3f} ms, torch {self.torch * 1e3:.3f} ms, "
                f"ratio {self.ratio:.2f}, share {self.share:.0%}")


MODEL_SIDES = ["ours", "torch", "onnxruntime", "ours bfloat16", "torch bfloat16"]


@dataclasses.dataclass
class ModelResult:
    """A whole model; the figures are by side."""
    case: cases.Case
    seconds: dict = dataclasses.field(default_factory=dict)
    resident: dict = dataclasses.field(default_factory=dict)    # bytes, at most
    difference: dict = dataclasses.field(default_factory=dict)  # from torch in float32
    failure: str = ""

    @property
    def ratio(self):
        return min(self.seconds["torch"], self.seconds["onnxruntime"]) / self.seconds["ours"]

    @property
    def speed_up(self):
        return self.seconds["ours"] / self.seconds["ours bfloat16"]

    def goals(self):
        smallest = min(self.resident["torch"], self.resident["onnxruntime"])
        return [(cases.Goal("best peer/ours", 1.15), self.ratio),
                (cases.Goal("bfloat16 speed-up", 1.6), self.speed_up),
                (cases.Goal("memory, ours/smallest peer", 1.0, at_most=True),
                 self.resident["ours"] / smallest)]

    def summary(self):
        times = ", ".join(f"{side} {self.seconds[side] * 1e3:.1f} ms" for side in MODEL_SIDES)
        return f"{times}; best peer/ours {self.ratio:.2f}, speed-up {self.speed_up:.2f}"


@dataclasses.dataclass
class TokenizerResult:
    """A text encoded, or a vocabulary loaded."""
    case: cases.Case
    ours: float = 0.0    # seconds
    theirs: float = 0.0
    size: int = 0        # bytes of the text, or of the file
    failure: str = ""

    @property
    def ratio(self):
        return self.theirs / self.ours

    def summary(self):
        return (f"ours {self.ours * 1e3:.2f} ms ({self.size / self.ours * 1e-6:.1f} MB/s), "
                f"tokenizers {self.theirs * 1e3:.2f} ms, ratio {self.ratio:.2f}")


def line(result):
    """One case, for the terminal."""
    if result.failure:
        return f"{result.case.name}: FAILED: {result.failure}"
    return f"{result.case.name}: {result.summary()}"


def mark(goal, value):
    return f"{goal}: {'ok' if goal.met(value) else 'missed'}"


def row(result):
    case = result.case
    if result.failure:
        return f"| {case.name} | | | | | | FAILED: {result.failure} |"
    value = {"torch/ours": result.ratio}
    goals = [mark(goal, value.get(goal.what, result.share)) for goal in case.goals]
    rate = (f"{case.flops / result.ours * 1e-9:.0f} GFLOP/s" if case.flops else
            f"{(case.reads + case.writes) / result.ours * 1e-9:.1f} GB/s")
    return (f"| {case.name} | {result.ours * 1e3:.3f} | {result.torch * 1e3:.3f} | "
            f"{result.ratio:.2f} | {rate} ({result.share:.0%}) | "
            f"{result.peak_bytes / 2**20:.1f} | {'; '.join(goals)} |")


def derived(results):
    """Rows that set two of our own times against each other."""
    by_name = {result.case.name: result for result in results if not result.failure}
    for name, full in by_name.items():
        if not name.startswith("attention/"):
            continue
        _, form, length, dtype, which = name.split("/")
        causal = by_name.get(f"attention/causal/{length}/{dtype}/{which}")
        if form == "full" and causal:
            goal = cases.Goal("causal/full", 0.6, at_most=True) if int(length) >= 2048 else None
            yield f"causal / full, {length}, {dtype}, {which}", causal.ours / full.ours, goal
        half = by_name.get(f"attention/{form}/{length}/bfloat16/{which}")
        if dtype == cases.F32 and half:
            yield (f"float32 / bfloat16, {form}, {length}, {which}", full.ours / half.ours,
                   cases.Goal("bfloat16 speed-up", 1.5))


def machine(ceilings):
    def peak(kind):
        one = ceilings[kind]
        return (f"{kind} {one['all_threads']:.0f} {one['unit']} ({one['instructions']}; "
                f"one thread {one['one_thread']:.0f})")

    def bandwidth(kind):
        one = ceilings[kind]
        return f"{kind} {one['all_threads']:.1f} {one['unit']} (one thread {one['one_thread']:.1f})"

    return "; ".join([f"{ceilings['threads']} threads"]
                     + [peak(kind) for kind in ("float32", "bfloat16", "int8")]
                     + [bandwidth(kind) for kind in ("read", "write", "copy")])


def markdown(results, ceilings, peer, quick):
    text = [f"Ceilings of the machine, measured in this run: {machine(ceilings)}.", "",
            f"Peer: {peer}.{' A quick run.' if quick else ''}", "",
            "| case | ours, ms | torch, ms | torch / ours | rate (share of ceiling) | our peak, MiB "
            "| goals |",
            "| --- | ---: | ---: | ---: | ---: | ---: | --- |"]
    text += [row(result) for result in results]
    rows = list(derived(results))
    if rows:
        text += ["", "| ratio of our own times | value | goal |", "| --- | ---: | --- |"]
        text += [f"| {name} | {value:.2f} | {mark(goal, value) if goal else ''} |"
                 for name, value, goal in rows]
    return "\n".join(text)


def model_row(result):
    name = result.case.name.removeprefix("model/")
    if result.failure:
        return f"| {name} |{' |' * 9} FAILED: {result.failure} |"
    shown = [f"{result.seconds[side] * 1e3:.1f}" for side in MODEL_SIDES]
    difference = " / ".join(f"{result.difference[side]:.1e}" for side in ("ours", "ours bfloat16"))
    peaks = " / ".join(f"{result.resident[side] / 2**20:.0f}" for side in MODEL_SIDES)
    goals = "; ".join(mark(goal, value) for goal, value in result.goals())
    return (f"| {name} | {' | '.join(shown[:3])} | {result.ratio:.2f} | {' | '.join(shown[3:])} | "
            f"{result.speed_up:.2f} | {peaks} | {difference} | {goals} |")


def model_markdown(results, peers, threads, quick):
    text = [f"{threads} threads. Peers: {peers}.{' A quick run.' if quick else ''}", "",
            "| model, batch × length | ours, ms | torch | onnxruntime | best peer / ours | "
            "ours bfloat16 | torch bfloat16 | our float32 / bfloat16 | peak resident, MiB, in the "
            "order of the times | our difference, float32 / bfloat16 | goals |",
            "| --- |" + " ---: |" * 9 + " --- |"]
    return "\n".join(text + [model_row(result) for result in results])


def tokenizer_row(result):
    name = result.case.name.removeprefix("tokenizer/")
    if result.failure:
        return f"| {name} |{' |' * 4} FAILED: {result.failure} |"
    goals = "; ".join(mark(goal, result.ratio) for goal in result.case.goals)
    return (f"| {name} | {result.ours * 1e3:.2f} | {result.theirs * 1e3:.2f} | {result.ratio:.2f} | "
            f"{result.size / result.ours * 1e-6:.1f} | {goals} |")


def growth(results):
    """Ten times the text without spaces, over ten times the time."""
    by_name = {result.case.name: result for result in results if not result.failure}
    for name, large in by_name.items():
        small = by_name.get(name.replace("/10MB", "/1MB"))
        if name.endswith("/10MB") and small:
            yield (name.removeprefix("tokenizer/"), large.ours / small.ours / 10,
                   cases.Goal("time of 10 MB / 10 × time of 1 MB", 1.3, at_most=True))


def tokenizer_markdown(results, peer, quick):
    text = [f"One thread. Peer: {peer}.{' A quick run.' if quick else ''}", "",
            "| case | ours, ms | tokenizers, ms | tokenizers / ours | our MB/s | goals |",
            "| --- |" + " ---: |" * 4 + " --- |"]
    text += [tokenizer_row(result) for result in results]
    rows = list(growth(results))
    if rows:
        text += ["", "| growth with the length | value | goal |", "| --- | ---: | --- |"]
        text += [f"| {name} | {value:.2f} | {mark(goal, value)} |" for name, value, goal in rows]
    return "\n".join(text)


def update(page, texts):
    """Puts each text between the page's markers of its name."""
    content = page.read_text(encoding="utf-8")
    for name, text in texts.items():
        begin, end = f"<!-- compare-{name}:begin -->", f"<!-- compare-{name}:end -->"
        if begin not in content or end not in content:
            raise SystemExit(f"error: {page}: expected the lines {begin} and {end}")
        block = f"{begin}\n\n{text}\n\n{end}"
        content = re.sub(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _, b=block: b, content,
                         flags=re.DOTALL)
    page.write_text(content, encoding="utf-8")
