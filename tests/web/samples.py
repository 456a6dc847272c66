"""Captures with known numbers: every kind of model, hostile tokens, thousands of tokens.

As a program, writes them as pages: tests/web/samples.py FOLDER
"""

import base64
import math
import random
import struct
import sys
import zlib
from pathlib import Path

import page_file

WORDS = ["The", "glass", "house", "stood", "at", "the", "edge", "of", "the", "lake", ",", "and", "everyone", "who", "passed", "by", "could", "see", "through", "it", ".", "The", "glass", "was", "clear"]
SOURCE = ["Two", " young", " men", " are", " outside", " near", " many", " bush", "es", ".", "</s>"]
TARGET = [
    "<s>",
    "Zwei",
    " junge",
    " Männer",
    " sind",
    " im",
    " Freien",
    " in",
    " der",
    " Nähe",
    " vieler",
    " Bü",
    "sche",
    ".",
]
WORD_PAIRS = [
    (0, 0),
    (1, 1),
    (2, 2),
    (3, 3),
    (4, 4),
    (4, 5),
    (5, 6),
    (5, 7),
    (5, 8),
    (6, 9),
    (7, 10),
    (8, 11),
]
HOSTILE = [
    "</script>",
    "<script>window.ran=1</script>",
    "<img src=x onerror=window.ran=1>",
    "<!--",
    "&lt;b&gt;",
    "\u0000\u0007\u001b[31m",
    "\n",
    "\t",
    " ",
    "",
    "\u202eevil",
    "שלום",
    "مرحبا",
    "a\u2028b",
    "a\u2029b",
    "\ud800",
    "\u200b\ufeff",
    "👩‍👩‍👧",
    "x" * 300,
    "javascript:alert(1)",
    "${1+1}",
    "\"'`\\",
    "]]>",
    "\u0301\u0301e",
    "#/head",
]


def softmax(scores):
    most = max(scores)
    powers = [math.exp(score - most) for score in scores]
    total = sum(powers)
    return [power / total for power in powers]


def pattern(kind, rows, columns, causal, rng):
    """A plausible head: {where it looks} as [rows][columns] weights."""
    weights = []
    for i in range(rows):
        center = i * columns / rows
        scores = []
        for j in range(columns):
            if causal and j > i:
                continue
            noise = 0.6 * rng.random()
            scores.append(
                {
                    "previous": -1.6 * abs(j - center + 1),
                    "own": -1.2 * abs(j - center),
                    "first": 5.0 if j == 0 else 0.0,
                    "wide": 0.0,
                    "local": -0.12 * abs(j - center),
                    "repeat": 4.0 if (i - j) % 9 == 8 else 0.0,
                    "align": -0.9 * abs(j - center),
                }[kind]
                + noise
            )
        weights.append(softmax(scores) + [0.0] * (columns - len(scores)))
    return weights


KINDS = ["previous", "first", "own", "wide", "local", "repeat"]


def measures(heads):
    """{measure: one number a head} of [heads][rows][columns]."""

    def over(head, value):
        return sum(value(i, row) for i, row in enumerate(head)) / len(head)

    return {
        "entropy": [
            over(head, lambda i, row: -sum(w * math.log(w) for w in row if w > 0)) for head in heads
        ],
        "distance": [
            over(head, lambda i, row: sum(w * abs(i - j) for j, w in enumerate(row)))
            for head in heads
        ],
        "previous_token": [
            over(head, lambda i, row: row[i - 1] if 0 < i <= len(row) else 0) for head in heads
        ],
        "induction": [None] * len(heads),
        "cls": [over(head, lambda i, row: row[0]) for head in heads],
    }


class Sample:
    """A capture that grows."""

    def __init__(self, name, family, stack, description, seed=1):
        self.rng = random.Random(seed)
        self.tensors = {}
        self.meta = {
            "version": 1,
            "model": {"name": name, "family": family, "stack": stack, "description": description},
            "sides": {},
            "layers": [],
            "attentions": [],
        }

    def side(self, name, texts):
        self.meta["sides"][name] = {
            "tokens": [
                {"id": 7 * i + 3, "text": text, "start": i, "end": i + 1}
                for i, text in enumerate(texts)
            ],
            "text": "".join(texts),
        }

    def attention(
        self, name, layer, heads, size, causal=False, queries=None, keys=None, kinds=KINDS
    ):
        side = name.split(".", 1)[0]
        queries, keys = queries or side, keys or side
        rows, columns = (len(self.meta["sides"][one]["tokens"]) for one in (queries, keys))
        maps = [
            pattern(kinds[(h + layer) % len(kinds)], rows, columns, causal, self.rng)
            for h in range(heads)
        ]
        self.add(name, layer, heads, size, causal, queries, keys, maps)

    def add(self, name, layer, heads, size, causal, queries, keys, maps):
        kind = "cross" if queries != keys else "self"
        self.meta["attentions"].append(
            {
                "name": name,
                "layer": layer,
                "kind": kind,
                "queries": queries,
                "keys": keys,
                "heads": heads,
                "head_size": size,
                "causal": causal,
                "measures": measures(maps),
            }
        )
        self.tensors[f"{name}.weights"] = (
            [heads, len(maps[0]), len(maps[0][0])],
            [weight for head in maps for row in head for weight in row],
        )

    def vectors(self, *shape):
        return list(shape), [self.rng.gauss(0, 1) for _ in range(math.prod(shape))]

    def stepped(self, name, layer, heads, size, causal, row, key_heads=None):
        """An attention worked out from its query, key and value, with its steps inside."""
        side = name.split(".", 1)[0]
        count = len(self.meta["sides"][side]["tokens"])
        key_heads = key_heads or heads
        query, key, value = (self.vectors(n, count, size) for n in (heads, key_heads, key_heads))
        vector = lambda tensor, head, i: tensor[1][
            (head * count + i) * size : (head * count + i + 1) * size
        ]
        scaled, maps, concat = [], [], []
        for head in range(heads):
            shared = head * key_heads // heads
            rows = [
                [
                    sum(a * b for a, b in zip(vector(query, head, i), vector(key, shared, j)))
                    / math.sqrt(size)
                    for j in range(count)
                ]
                for i in range(count)
            ]
            scaled += rows[row]
            maps.append(
                [
                    softmax(scores[: i + 1] if causal else scores)
                    + [0.0] * (count - i - 1 if causal else 0)
                    for i, scores in enumerate(rows)
                ]
            )
            concat += [
                sum(maps[-1][row][j] * vector(value, shared, j)[d] for j in range(count))
                for d in range(size)
            ]
        self.add(name, layer, heads, size, causal, side, side, maps)
        masked = [
            -math.inf if causal and at % count > row else score for at, score in enumerate(scaled)
        ]
        block = name.rsplit(".", 1)[0]
        width = heads * size
        self.tensors |= {
            f"{name}.query": query,
            f"{name}.key": key,
            f"{name}.value": value,
            f"{name}.scaled_scores": ([heads, count], scaled),
            f"{name}.masked_scores": ([heads, count], masked),
            f"{name}.concat": ([width], concat),
            f"{name}.output": self.vectors(width),
        }
        for step, length in (
            ("norm_1", width),
            ("residual_1", width),
            ("norm_2", width),
            ("feed_forward.hidden", 4 * width),
            ("feed_forward.output", width),
            ("residual_2", width),
        ):
            self.tensors[f"{block}.{step}"] = self.vectors(length)
        steps = self.meta.setdefault("steps", {"row": {}, "attentions": []})
        steps["row"][side] = row
        steps["attentions"].append(name)

    def anatomy(self, stacks, width, hidden, vocabulary):
        parts, weights = [], []

        def part(name, shapes):
            parameters = sum(math.prod(shape) for shape in shapes.values())
            parts.append({"name": name, "parameters": parameters, "bytes": 4 * parameters})
            weights.extend(
                {
                    "name": f"{name}.{weight}",
                    "stored_name": f"model.{name}.{weight}",
                    "shape": shape,
                    "type": "float32",
                    "bytes": 4 * math.prod(shape),
                }
                for weight, shape in shapes.items()
            )

        square, norm = [width, width], {"weight": [width], "bias": [width]}
        attention = {f"{one}.weight": square for one in ("query", "key", "value", "output")}
        part("embedding", {"tokens.weight": [vocabulary, width]})
        for stack, layers in stacks:
            for layer in range(layers):
                part(f"{stack}.{layer}.self_attention", attention)
                part(f"{stack}.{layer}.norm_1", norm)
                part(
                    f"{stack}.{layer}.feed_forward",
                    {"up.weight": [hidden, width], "down.weight": [width, hidden]},
                )
                part(f"{stack}.{layer}.norm_2", norm)
        part("head", {"output.weight": [vocabulary, width]})
        self.meta["model"]["parameters"] = sum(one["parameters"] for one in parts)
        self.meta["anatomy"] = {
            "parts": parts,
            "weights": weights,
            "costs": [
                {
                    "stack": stack,
                    "per_token": 12 * layers * width * width,
                    "per_token_and_key": 4 * width,
                }
                for stack, layers in stacks
            ],
        }


def guesses(rng, texts, count=5):
    shares = sorted(softmax([3 * rng.random() for _ in range(count)]), reverse=True)
    return [
        {"id": 10 + rng.randrange(90), "token": rng.choice(texts), "probability": 0.9 * share}
        for share in shares
    ]


def generation(rng, texts):
    """Tokens with alternatives, and a tree of two beams."""
    tokens = []
    for i, text in enumerate(texts):
        others = [
            {"id": 500 + 10 * i + k, "text": rng.choice(WORDS), "probability": p}
            for k, p in enumerate((0.2, 0.08, 0.03))
        ]
        first = {"id": 50 + i, "text": text, "probability": 0.3 + 0.6 * rng.random()}
        tokens.append({**first, "alternatives": [first, *others]})
    nodes, parents = [], [-1]
    for step, text in enumerate(texts):
        new = []
        for parent in parents:
            for k in range(3):
                own = math.log((0.6, 0.25, 0.1)[k])
                before = nodes[parent]["score"] if parent >= 0 else 0
                last = step == len(texts) - 1
                fate = (
                    "dropped"
                    if k == 2 or (k == 1 and parent != parents[0])
                    else "finished"
                    if last
                    else "kept"
                )
                nodes.append(
                    {
                        "parent": parent,
                        "step": step,
                        "group": 0,
                        "token": 50 + step,
                        "text": text if k == 0 else rng.choice(WORDS),
                        "token_score": own,
                        "score": before + own,
                        "fate": fate,
                    }
                )
                if fate != "dropped":
                    new.append(len(nodes) - 1)
        parents = new[:2]
    return {"tokens": tokens, "tree": {"nodes": nodes, "results": parents}}


def decoder(layers=4, heads=6, texts=None, size=8):
    texts = texts or [WORDS[0]] + [f" {word}" for word in WORDS[1:]]
    sample = Sample(
        "gpt-sample",
        "gpt2",
        "decoder",
        [
            "input: 50257 tokens, positions: learned, 1024",
            f"decoder: {layers} layers, width {heads * size}, {heads} heads of {size}, feed-forward {4 * heads * size} gelu, pre LayerNorm, causal",
            "head: language model, tied to the token table",
        ],
    )
    sample.side("decoder", texts)
    sample.stepped("decoder.0.self_attention", 0, heads, size, True, len(texts) // 2)
    for layer in range(1, layers):
        sample.attention(f"decoder.{layer}.self_attention", layer, heads, size, True)
    sample.meta["lens"] = [
        {"name": f"decoder.{layer}", "top": [guesses(sample.rng, texts) for _ in texts]}
        for layer in range(layers)
    ]
    sample.meta["prediction"] = {
        "kind": "next_token",
        "rows": [{"position": len(texts) - 1, "top": guesses(sample.rng, texts)}],
    }
    sample.meta["generation"] = generation(sample.rng, [" as", " the", " morning", " air", "."])
    sample.anatomy([("decoder", layers)], heads * size, 4 * heads * size, 50257)
    return sample.meta, sample.tensors


def translation(layers=3, heads=4):
    sample = Sample(
        "opus-sample-en-de",
        "marian",
        "encoder_decoder",
        [
            f"encoder: {layers} layers, width 32, {heads} heads of 8, post LayerNorm",
            f"decoder: {layers} layers, width 32, {heads} heads of 8, post LayerNorm, cross-attention, causal",
        ],
    )
    sample.side("encoder", SOURCE)
    sample.side("decoder", TARGET)
    for layer in range(layers):
        sample.attention(f"encoder.{layer}.self_attention", layer, heads, 8)
    for layer in range(layers):
        sample.attention(f"decoder.{layer}.self_attention", layer, heads, 8, True)
        sample.attention(
            f"decoder.{layer}.cross_attention",
            layer,
            heads,
            8,
            queries="decoder",
            keys="encoder",
            kinds=["align", "align", "first", "wide"],
        )
    sample.meta["alignment"] = {
        "source_words": [[0, 0], [1, 1], [2, 2], [3, 3], [4, 4], [5, 5], [6, 6], [7, 8], [9, 9]],
        "target_words": [[i, i] for i in range(1, 11)] + [[11, 12], [13, 13]],
        "pairs": [[s, t, 0.35 + 0.6 * sample.rng.random()] for s, t in WORD_PAIRS],
    }
    sample.meta["generation"] = generation(sample.rng, TARGET[1:5])
    sample.anatomy([("encoder", layers), ("decoder", layers)], 32, 128, 8000)
    return sample.meta, sample.tensors


def picture(width, height, light=1):
    """A PNG of a round thing on a meadow, `light` from 0, at night."""
    rows = b""
    for y in range(height):
        rows += b"\0"
        for x in range(width):
            far = math.hypot(x - 0.6 * width, y - 0.45 * height) / width
            ground = (
                (90, 140 + y * 60 // height, 80)
                if y > 0.6 * height
                else (150, 190, 230 - y * 60 // height)
            )
            colour = (230, 120 + int(300 * far), 60) if far < 0.2 else ground
            rows += bytes(int(light * part) for part in colour)

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def vision(layers=3, heads=6, grid=14, light=1):
    sample = Sample(
        "vit-sample",
        "vit",
        "vision",
        [f"encoder: {layers} layers, width 48, {heads} heads of 8, pre LayerNorm"],
    )
    patches = [f"{r},{c}" for r in range(grid) for c in range(grid)]
    sample.side("encoder", ["[CLS]", *patches])
    count = len(patches) + 1

    def look(head, layer):
        cx, cy = (0.6, 0.45) if (head + layer) % 2 else (sample.rng.random(), sample.rng.random())
        near = softmax(
            [0.5]
            + [
                -18
                * (0.4 + layer / 3)
                * ((p % grid / grid - cx) ** 2 + (p // grid / grid - cy) ** 2)
                for p in range(grid * grid)
            ]
        )
        return [
            near
            if i == 0
            else softmax(
                [0.1]
                + [
                    -0.5 * math.hypot((p % grid) - (i - 1) % grid, p // grid - (i - 1) // grid)
                    for p in range(grid * grid)
                ]
            )
            for i in range(count)
        ]

    for layer in range(layers):
        sample.add(
            f"encoder.{layer}.self_attention",
            layer,
            heads,
            8,
            False,
            "encoder",
            "encoder",
            [look(h, layer) for h in range(heads)],
        )
    sample.meta["image"] = {
        "width": 224,
        "height": 224,
        "rows": grid,
        "columns": grid,
        "prefix": 1,
        "png": base64.b64encode(picture(224, 224, light)).decode(),
    }
    sample.tensors["rollout.encoder"] = ([count, count], [w for row in look(1, 2) for w in row])
    sample.meta["rollout"] = {"encoder": "rollout.encoder"}
    sample.meta["prediction"] = {
        "kind": "classification",
        "rows": [
            {
                "position": 0,
                "top": [
                    {"id": 950, "label": "orange", "probability": 0.83},
                    {"id": 852, "label": "tennis ball", "probability": 0.06},
                ],
            }
        ],
    }
    sample.anatomy([("encoder", layers)], 48, 192, 1000)
    return sample.meta, sample.tensors


def hostile():
    """Every place of the page that shows text shows these."""
    meta, tensors = decoder(2, 3, HOSTILE)
    meta["model"]["name"] = HOSTILE[1]
    meta["model"]["description"] += HOSTILE
    meta["generation"]["tokens"] = [
        {
            "id": i,
            "text": text,
            "probability": 0.5,
            "alternatives": [{"id": i, "text": text, "probability": 0.5}],
        }
        for i, text in enumerate(HOSTILE)
    ]
    for i, node in enumerate(meta["generation"]["tree"]["nodes"]):
        node["text"] = HOSTILE[i % len(HOSTILE)]
    meta["lens"][0]["top"] = [[{"id": 1, "token": text, "probability": 0.5}] for text in HOSTILE]
    return meta, tensors


def long(count):
    """One causal head over many tokens: each looks at itself, the first, and 64 before."""
    sample = Sample("long-sample", "gpt2", "decoder", ["decoder: 1 layer, pre LayerNorm, causal"])
    sample.side("decoder", [f" t{i}" for i in range(count)])
    weights = [0.0] * (count * count)
    for i in range(count):
        weights[i * count + i] = 0.5
        weights[i * count] += 0.3
        weights[i * count + max(0, i - 64)] += 0.2
    sample.meta["attentions"] = [
        {
            "name": "decoder.0.self_attention",
            "layer": 0,
            "kind": "self",
            "queries": "decoder",
            "keys": "decoder",
            "heads": 1,
            "head_size": 8,
            "causal": True,
        }
    ]
    sample.tensors["decoder.0.self_attention.weights"] = ([1, count, count], weights)
    return sample.meta, sample.tensors


def night():
    return vision(light=0.2)


SAMPLES = {
    "decoder": decoder,
    "translation": translation,
    "vision": vision,
    "night": night,
    "hostile": hostile,
}

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    shell = page_file.shell()
    for name, make in SAMPLES.items():
        page_file.write_page(folder / f"{name}.html", [make()], shell)
    large = [f" {WORDS[i % len(WORDS)]}" for i in range(128)]
    page_file.write_page(folder / "large.html", [decoder(12, 12, large, 16)], shell)
    page_file.write_page(folder / "long.html", [long(4096)], shell)
