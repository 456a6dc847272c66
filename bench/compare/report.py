"""The table: a line a case, the ratios between cases, and the goals beside them."""

import dataclasses
import re

import cases

BEGIN, END = "<!-- compare:begin -->", "<!-- compare:end -->"


@dataclasses.dataclass
class Result:
    case: cases.Case
    ours: float = 0.0       # seconds
    torch: float = 0.0
    needed: float = 0.0     # at the machine's ceilings
    peak_bytes: int = 0
    failure: str = ""

    @property
    def ratio(self):
        return self.torch / self.ours

    @property
    def share(self):
        return self.needed / self.ours


def line(result):
    """One case, for the terminal."""
    if result.failure:
        return f"{result.case.name}: FAILED: {result.failure}"
    return (f"{result.case.name}: ours {result.ours * 1e3:.3f} ms, torch {result.torch * 1e3:.3f} ms, "
            f"ratio {result.ratio:.2f}, share {result.share:.0%}")


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


def update(page, text):
    """Puts the table between the markers of the page."""
    content = page.read_text(encoding="utf-8")
    if BEGIN not in content or END not in content:
        raise SystemExit(f"error: {page}: expected the lines {BEGIN} and {END}")
    block = f"{BEGIN}\n\n{text}\n\n{END}"
    content = re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: block, content,
                     flags=re.DOTALL)
    page.write_text(content, encoding="utf-8")
