"""The cases: what is computed, by torch and by us, and what it takes at least."""

import dataclasses
import functools
import math
from typing import Callable

F32, BF16 = "float32", "bfloat16"


@dataclasses.dataclass
class Goal:
    """`value` is compared with `bound`; at_most turns the comparison round."""
    what: str
    bound: float
    at_most: bool = False

    def met(self, value):
        return value <= self.bound if self.at_most else value >= self.bound

    def __str__(self):
        bound = f"{self.bound:.2f}".rstrip("0").rstrip(".")
        return f"{self.what} {'≤' if self.at_most else '≥'} {bound}"


@dataclasses.dataclass
class Case:
    name: str                     # op/details/dtype/pass
    op: str                       # the name our driver knows it by
    dtype: str
    make: Callable                # torch -> list of inputs, in float32 or int64
    torch: Callable               # (torch, inputs) -> output
    args: dict = dataclasses.field(default_factory=dict)
    grad: list = dataclasses.field(default_factory=list)  # inputs; empty: the forward is timed
    flops: float = 0              # what it must compute ...
    reads: float = 0              # ... or the bytes it must read and write
    writes: float = 0
    tolerance: float = 1e-4       # largest difference over the largest number
    goals: list = dataclasses.field(default_factory=list)


FASTER = Goal("torch/ours", 1.0)
TOLERANCE = {F32: 2e-5, BF16: 3e-2}
SIZE = {F32: 4, BF16: 2}


def normal(*shape, scale=1.0):
    return lambda torch: torch.randn(shape) * scale


def ids(count, limit, rows=None):
    shape = (count,) if rows is None else (rows, count)
    return lambda torch: torch.randint(0, limit, shape)


def make_all(makers):
    return lambda torch: [make(torch) for make in makers]


def linear_cases():
    shapes = [(512, 768, 3072), (512, 3072, 768)]
    passes = {"forward": [], "packed": [], "dX": [0], "dW": [1]}
    for rows, wide, out in shapes:
        for dtype in (F32, BF16):
            goal = Goal("share of peak", 0.85 if dtype == F32 else 0.80)
            for which, grad in passes.items():
                inputs = [normal(rows, wide), normal(out, wide, scale=wide ** -0.5), normal(out)]
                if grad:
                    inputs.append(normal(rows, out))
                yield Case(
                    name=f"linear/{rows}x{wide}x{out}/{dtype}/{which}",
                    op="linear_packed" if which == "packed" else "linear", dtype=dtype,
                    make=make_all(inputs), grad=grad, flops=2.0 * rows * wide * out,
                    torch=lambda torch, x: nn(torch).linear(*x[:3]),
                    tolerance=TOLERANCE[dtype], goals=[goal, FASTER])


def attention_cases(lengths):
    heads, size = 12, 64
    for length in lengths:
        for causal in (False, True):
            for dtype in (F32, BF16):
                for grad in ([], [0, 1, 2]):
                    shape = (1, heads, length, size)
                    count = 4 if grad else 3
                    pairs = length * (length + 1) / 2 if causal else length * length
                    products = 5 if grad else 2  # the backward forms the scores again
                    goals = [Goal("torch/ours", 1.3)] if dtype == F32 else [FASTER]
                    if dtype == F32 and not grad and length >= 1024:
                        goals.append(Goal("share of peak", 0.55))
                    form = "causal" if causal else "full"
                    yield Case(
                        name=f"attention/{form}/{length}/{dtype}/"
                             f"{'backward' if grad else 'forward'}",
                        op="attention", dtype=dtype, make=make_all([normal(*shape)] * count),
                        torch=functools.partial(torch_attention, causal=causal),
                        args={"causal": causal}, grad=grad,
                        flops=products * 2.0 * heads * size * pairs,
                        tolerance=TOLERANCE[dtype], goals=goals)


def torch_attention(torch, x, causal):
    return nn(torch).scaled_dot_product_attention(*x[:3], is_causal=causal)


def memory_ops(numbers):
    """Tensors of so many numbers in rows of 1024, of 32768 for the cross-entropy."""
    width, classes, words = 1024, 32768, 50257
    rows, classes_rows = numbers // width, numbers // classes
    x, w, b = normal(rows, width), normal(width), normal(width)
    one, many = rows * width, classes_rows * classes
    # name: (inputs, torch, differentiated inputs, size of result; numbers read and written by the
    # forward, and by the backward)
    return {
        "layer_norm": ([x, w, b], lambda t, i: nn(t).layer_norm(i[0], (width,), i[1], i[2]),
                       [0, 1, 2], (rows, width), (one, one), (2 * one, one)),
        "rms_norm": ([x, w], lambda t, i: nn(t).rms_norm(i[0], (width,), i[1], 1e-6),
                     [0, 1], (rows, width), (one, one), (2 * one, one)),
        "softmax": ([x], lambda t, i: nn(t).softmax(i[0], -1),
                    [0], (rows, width), (one, one), (2 * one, one)),
        "log_softmax": ([x], lambda t, i: nn(t).log_softmax(i[0], -1),
                        [0], (rows, width), (one, one), (2 * one, one)),
        "gelu": ([x], lambda t, i: nn(t).gelu(i[0]),
                 [0], (rows, width), (one, one), (2 * one, one)),
        "embedding": ([normal(words, width), ids(rows, words)],
                      lambda t, i: nn(t).embedding(i[1], i[0]),
                      [0], (rows, width), (one, one), (one, words * width)),
        "cross_entropy": ([normal(classes_rows, classes), ids(classes_rows, classes)],
                          lambda t, i: nn(t).cross_entropy(i[0], i[1]),
                          [0], (), (many, 0), (many, many)),
    }


def memory_cases(megabytes):
    """Tensors of one size in bytes, whatever their type: caches keep as little of each."""
    for dtype in (F32, BF16):
        ops = memory_ops((megabytes << 20) // SIZE[dtype])
        for op, (inputs, run, grad, result, forward, backward) in ops.items():
            for wanted, (reads, writes) in (([], forward), (grad, backward)):
                which = "backward" if wanted else "forward"
                extra = [normal(*result)] if wanted else []
                yield Case(
                    name=f"{op}/{dtype}/{which}", op=op, dtype=dtype,
                    make=make_all(inputs + extra), torch=run, grad=wanted,
                    reads=reads * SIZE[dtype], writes=writes * SIZE[dtype],
                    tolerance=TOLERANCE[dtype],
                    goals=[Goal("share of bandwidth", 1 / 1.3), FASTER])


def model_cases(quick):
    """Whole models in float32; models.py measures bfloat16 beside it."""
    bert = [(batch, length) for batch in (1, 8) for length in (128, 512)]
    for batch, length in bert[:1] if quick else bert:
        yield model_case("bert-base", "input_ids", f"{batch}x{length}",
                         lambda torch, b=batch, n=length: torch.randint(0, 30522, (b, n)))
    for batch in (1,) if quick else (1, 8):
        yield model_case("vit-b16", "pixel_values", f"{batch}", normal(batch, 3, 224, 224))


def model_case(model, name, size, make):
    return Case(name=f"model/{model}/{size}", op="model", dtype=F32, make=make_all([make]),
                torch=None, args={"folder": model, "input": name, "dtype": F32})


def tokenizer_cases():
    """Tiny-shakespeare whole and by line; one word of many megabytes; a large vocabulary loaded."""
    def case(name, goals=(), **args):
        return Case(name=f"tokenizer/{name}", op="tokenizer", dtype=F32, make=make_all([]), torch=None,
                    args=args, goals=list(goals))

    faster = Goal("tokenizers/ours", 1.5)
    for style in ("gpt2", "bpe", "wordpiece", "unigram"):
        for text in ("whole", "lines"):
            yield case(f"{style}/{text}", [faster], file=style, text="shakespeare", lines=text == "lines")
    for style in ("bpe", "unigram"):
        for size in (1, 2, 4, 8, 10):
            yield case(f"{style}/no-spaces/{size}MB", file=style, text=f"letters{size}", lines=False)
    yield case("load/150000", [Goal("tokenizers/ours", 2)], file="large", text="", lines=False)


def decode_cases(quick):
    """Batch 1: a prompt of 512 tokens, and steps after a short one."""
    steps_goals = [Goal("share of ceiling", 0.85), Goal("ours/peer", 1.05)]
    for model, words in (("gpt2", 50257), ("llama-1b", 32000))[:1 if quick else 2]:
        for kind in ("float32", "bfloat16", "int8", "int4"):
            yield generation_case("decode", f"{model}/{kind}/prompt", [ids(512, words)],
                                  [Goal("ours/peer", 1.2)], model=model, type=kind, tokens=512)
            yield generation_case("decode", f"{model}/{kind}/steps", [ids(32, words), ids(16, words)],
                                  steps_goals, model=model, type=kind, tokens=16)


def translate_cases():
    """Beam 4, sentences of 8 to 39 tokens, 32 new tokens each."""
    beams, length = 4, 32
    goals = [Goal("ours/peer", 1.2), Goal("memory, ours/peer", 1.0, at_most=True)]
    for kind in (F32, "int8"):
        for batch in (1, 32):
            lengths = [24] if batch == 1 else [8 + (i * 13) % 32 for i in range(batch)]
            yield generation_case(
                "translate", f"marian/{kind}/{batch}",
                [sentences(lengths), lambda torch, n=lengths: torch.tensor(n)], goals,
                model="marian", type=kind, beams=beams, length=length, tokens=batch * length)


def sentences(lengths):
    """Ids of any words, each sentence ended by 0, end to end."""
    def make(torch):
        parts = [torch.randint(2, 58100, (count,)) for count in lengths]
        for part in parts:
            part[-1] = 0
        return torch.cat(parts)
    return make


def generation_case(op, name, inputs, goals, **args):
    return Case(name=f"{op}/{name}", op=op, dtype=F32, make=make_all(inputs), torch=None, args=args,
                goals=goals)


def train_cases():
    """Whole steps of training. Labels are random; a causal model's are given shifted."""
    goals = [Goal("float32, torch/ours", 1.2), Goal("bfloat16, torch/ours", 1.6),
             Goal("memory, ours/torch", 0.8, at_most=True),
             Goal("memory in bfloat16, ours/torch", 0.8, at_most=True)]

    def case(name, tokens, model, **inputs):
        return Case(name=f"train/{name}", op="train", dtype=F32, make=make_all(inputs.values()),
                    torch=None, goals=goals,
                    args={"model": model, "names": list(inputs), "tokens": tokens})

    for model, batch, words in (("gpt2", 4, 50257), ("gpt-10m", 12, 65)):
        yield case(f"{model}/{batch}x256", batch * 256, model, input_ids=ids(256, words, batch),
                   labels=ids(256, words, batch))
    text = ids(64, 58100, 32)
    yield case("marian/32x64", 2048, "marian", input_ids=text, decoder_input_ids=text, labels=text)
    yield case("vit-ti16/16", 16, "vit-ti16", pixel_values=normal(16, 3, 224, 224),
               labels=ids(16, 1000))


def rank_cases():
    """`glassformer train` with processes in place of threads."""
    for precision in (F32, "bfloat16"):
        yield Case(name=f"ranks/gpt-10m/12x256/{precision}", op="ranks", dtype=F32, make=None,
                   torch=None, goals=[Goal("2 processes / 2 threads", 0.9)],
                   args={"batch": 12, "length": 256, "precision": precision})


def nn(torch):
    return torch.nn.functional


def all_cases(quick):
    lengths = [128, 512, 1024, 2048] if quick else [128, 512, 1024, 2048, 4096, 8192]
    yield from linear_cases()
    yield from attention_cases(lengths)
    yield from memory_cases(32 if quick else 256)
    yield from model_cases(quick)
    yield from tokenizer_cases()
    yield from decode_cases(quick)
    yield from translate_cases()
    yield from train_cases()
    yield from rank_cases()


def make_inputs(torch, case):
    """The case's inputs; a scalar gradient stays float32, which is what a loss of ours is."""
    torch.manual_seed(2017)
    return [x.to(getattr(torch, case.dtype)) if x.is_floating_point() and x.dim() else x
            for x in case.make(torch)]


def largest_difference(found, expected):
    """Over lists of tensors: the largest |found - expected| over the tensor's largest |expected|."""
    worst = 0.0
    for one, other in zip(found, expected, strict=True):
        if one.shape != other.shape:
            return math.inf
        one, other = one.detach().double(), other.detach().double()
        difference = (one - other).abs().max().item() / (other.abs().max().item() or 1.0)
        worst = max(worst, math.inf if math.isnan(difference) else difference)
    return worst
