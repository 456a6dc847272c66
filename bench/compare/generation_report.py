"""The tables of generation: tokens a second of both sides, and what the machine would take."""

import dataclasses

import cases
import report


@dataclasses.dataclass
class Result:
    case: cases.Case
    ours: float = 0.0        # seconds
    theirs: float = 0.0      # 0: the peer is not installed
    share: float = 0.0       # of what the machine's own best loops would need; 0: not counted
    difference: float = 0.0  # of logits, or the share of tokens that differ
    peaks: list = dataclasses.field(default_factory=list)  # resident bytes, ours and theirs
    peer_limited: bool = False  # its fastest kernels end with an illegal instruction here
    failure: str = ""

    @property
    def tokens(self):
        return self.case.args["tokens"]

    def values(self):
        """By the names of goals."""
        found = {}
        if self.theirs:
            found["ours/peer"] = self.theirs / self.ours
            found["memory, ours/peer"] = self.peaks[0] / self.peaks[1]
        if self.share:
            found["share of ceiling"] = self.share
        return found

    def summary(self):
        values = ", ".join(f"{what} {value:.2f}" for what, value in self.values().items())
        return (f"{self.tokens / self.ours:.1f} tokens/s, peer "
                f"{f'{self.tokens / self.theirs:.1f}' if self.theirs else 'missing'}; {values}")


def row(result):
    name = result.case.name.partition("/")[2]
    if result.failure:
        return f"| {name} |{' |' * 6} FAILED: {result.failure} |"
    values = result.values()
    rates = [f"{result.tokens / seconds:.1f}" if seconds else "–"
             for seconds in (result.ours, result.theirs)]
    ratio = f"{values['ours/peer']:.2f}" if result.theirs else "–"
    share = f"{result.share:.0%}" if result.share else "–"
    difference = f"{result.difference:.1e}" if result.theirs else "–"
    peaks = " / ".join(f"{peak / 2**20:.0f}" for peak in result.peaks)
    goals = "; ".join(report.mark(goal, values[goal.what]) for goal in result.case.goals
                      if goal.what in values)
    if result.peer_limited:
        name += " *"
    return (f"| {name} | {' | '.join(rates)} | {ratio} | {share} | {difference} | {peaks} | "
            f"{goals} |")


def markdown(results, peer, threads, quick):
    text = [f"{threads} threads. Peer: {peer}.{' A quick run.' if quick else ''}", "",
            "| case | ours, tokens/s | peer, tokens/s | ours / peer | share of ceiling | difference "
            "| peak resident, MiB, ours / peer | goals |",
            "| --- |" + " ---: |" * 6 + " --- |"]
    text += [row(result) for result in results]
    if any(result.peer_limited for result in results):
        text += ["", "\\* The peer without repacked weights: with them it ends with an illegal "
                 "instruction on this machine."]
    return "\n".join(text)
