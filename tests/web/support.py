"""What the tests of the page share: sample pages, one browser, numbers read from the screen."""

import math
import os
import tempfile
import unittest
from functools import cache
from pathlib import Path

import page_file
import samples
from browser import Browser

# Half a step of a weight's 16-bit square root, at a weight of 1.
WEIGHT_ERROR = 1 / 65535


@cache
def capture(name):
    return samples.SAMPLES[name]()


@cache
def shell():
    return page_file.shell()


def number(text):
    """The number that the page shows as `text`."""
    text = text.strip().replace("−", "-").replace("∞", "inf").replace(",", "")
    return float(text.rstrip(" %")) / (100 if text.endswith("%") else 1)


class Weights:
    """The weights of one attention of a capture: [head][row][column]."""

    def __init__(self, tensors, attention):
        (self.heads, self.rows, self.columns), self.values = tensors[f"{attention}.weights"]

    def row(self, head, row):
        start = (head * self.rows + row) * self.columns
        return self.values[start : start + self.columns]

    def mean_row(self, row):
        return [
            sum(column) / self.heads
            for column in zip(*(self.row(h, row) for h in range(self.heads)))
        ]


class PageTest(unittest.TestCase):
    """A test that opens pages. Whatever goes wrong in one of them fails it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.__exit__)

    def setUp(self):
        self.browser.size(1280, 860)
        self.browser.prefer("light")

    def page(self, names):
        path = Path(self.folder.name) / f"{'-'.join(names)}.html"
        if not path.exists():
            page_file.write_page(path, [capture(name) for name in names], shell())
        return path

    def open(self, name, address=""):
        """Opens a sample, or several in one page, and returns (meta, tensors) of the first."""
        names = (name,) if isinstance(name, str) else name
        self.browser.open(self.page(names), address)
        self.browser.wait("document.querySelector('main')?.children.length")
        self.addCleanup(lambda: self.assertEqual(self.browser.complaints(), []))
        return capture(names[0])

    def address(self):
        return self.browser.run("decodeURIComponent(location.hash)")

    def near(self, shown, expected, error, digits=5):
        """`shown` is `expected` within the page's error and the digits that are shown."""
        value = number(shown) if isinstance(shown, str) else shown
        slack = 0.5 * 10**-digits + 1e-9
        if abs(expected) < 10**-digits:
            slack = max(slack, 0.06 * abs(expected))  # Small numbers are shown with two digits.
        if math.isinf(expected):
            self.assertEqual(value, expected)
        else:
            self.assertLessEqual(abs(value - expected), error + slack, f"{shown} for {expected}")

    def picture(self, name):
        """Saves what is on the screen for the documentation, when asked to."""
        folder = os.environ.get("GLASSFORMER_SCREENSHOTS")
        if folder:
            self.browser.point(2, 2)
            self.browser.screenshot(Path(folder) / f"{name}.png")
