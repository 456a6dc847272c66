"""Reads and writes explorer pages: the shell of web/, and captures inside it.

A capture is (meta, tensors): the JSON object and {name: (shape, flat list of floats)}. The writer
follows src/inspect/page.cc; tests that need captures no model makes write them with it.
"""

import base64
import json
import math
import re
import struct
import subprocess
import tempfile
import zlib
from array import array
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MARK = "<!-- capture -->"


def shell():
    """The page without a capture, joined from web/ as the build does it."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        subprocess.run(
            [
                "cmake",
                "-D",
                f"WEB={ROOT / 'web'}",
                "-D",
                f"PAGE={page}",
                "-P",
                ROOT / "cmake" / "JoinPage.cmake",
            ],
            check=True,
        )
        return page.read_text(encoding="utf-8")


def escaped(value):
    """JSON that cannot end the element it stands in."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    return re.sub(r"[<>&]", lambda found: f"\\u{ord(found[0]):04x}", text)


def is_unit(name):
    return name.endswith(".weights") or name.startswith("rollout.")


def encode(name, shape, values):
    """(entry of the index, base64 text)"""
    if is_unit(name) and all(0 <= value <= 1 + 1e-5 for value in values):
        entry = {"name": name, "shape": shape, "type": "root", "scale": 1}
        codes = array("H", (round(math.sqrt(min(1, value)) * 65535) for value in values))
    else:
        most = max((abs(value) for value in values if math.isfinite(value)), default=0)
        scale = 2.0 ** (math.frexp(most)[1] - 1) if most else 1.0
        entry = {"name": name, "shape": shape, "type": "half", "scale": scale}
        halves = struct.pack(f"<{len(values)}e", *(value / scale for value in values))
        codes = array("H", halves)
    data = codes.tobytes()
    planes = zlib.compress(data[1::2] + data[0::2])
    return entry, base64.b64encode(planes).decode()


def blocks_of(number, meta, tensors):
    """The elements of one capture."""
    encoded = [encode(name, shape, values) for name, (shape, values) in sorted(tensors.items())]
    index = escaped([entry for entry, _ in encoded])
    return [
        f'<script type="application/json" id="meta-{number}">{escaped(meta)}</script>',
        f'<script type="application/json" id="tensors-{number}">{index}</script>',
    ] + [
        f'<script type="application/octet-stream" id="tensor-{number}-{index}">{text}</script>'
        for index, (_, text) in enumerate(encoded)
    ]


def write_page(path, captures, page_shell=None):
    blocks = [block for number, one in enumerate(captures) for block in blocks_of(number, *one)]
    path.write_text((page_shell or shell()).replace(MARK, "\n".join(blocks)), encoding="utf-8")


def read_page(path, number=0):
    """(meta, tensors) of one of a page's captures."""
    text = path.read_text(encoding="utf-8")

    def block(name):
        found = re.search(rf'<script type="[^"]*" id="{name}">(.*?)</script>', text, re.DOTALL)
        return found[1]

    tensors = {}
    for index, entry in enumerate(json.loads(block(f"tensors-{number}"))):
        planes = zlib.decompress(base64.b64decode(block(f"tensor-{number}-{index}")))
        count = len(planes) // 2
        data = bytearray(2 * count)
        data[1::2], data[0::2] = planes[:count], planes[count:]
        if entry["type"] == "root":
            values = [(code / 65535) ** 2 for code in array("H", bytes(data))]
        else:
            values = [half * entry["scale"] for half in struct.unpack(f"<{count}e", data)]
        tensors[entry["name"]] = (entry["shape"], values)
    return json.loads(block(f"meta-{number}")), tensors
