"""Model, head and matrix: what they show is what was captured."""

import json
import unittest

from samples import WORDS
from support import WEIGHT_ERROR, PageTest, Weights

LAYER = "decoder.2.self_attention"


class ModelView(PageTest):
    def test_every_head_is_there_and_opens(self):
        meta, _ = self.open("decoder")
        buttons = self.browser.run(
            "[...document.querySelectorAll('.thumb')]"
            ".map(b => [b.dataset.attention, Number(b.dataset.head)])"
        )
        self.assertEqual(
            buttons, [[a["name"], h] for a in meta["attentions"] for h in range(a["heads"])]
        )
        self.browser.wait(
            "[...document.querySelectorAll('.thumb canvas')].every(c => c.dataset.drawn)"
        )
        self.browser.click(f".thumb[data-attention='{LAYER}'][data-head='3']")
        self.assertIn(f"#head/attention={LAYER}&head=3", self.address())
        self.browser.wait("document.querySelector('.head-view .ranking li')")

    def test_thumbnails_are_the_weights(self):
        _, tensors = self.open("decoder")
        weights = Weights(tensors, LAYER)
        self.browser.wait("document.querySelectorAll('.thumb canvas[data-drawn]').length > 12")
        shown = self.browser.run(
            "(() => { const c = document.querySelector(\".thumb[data-attention='%s'][data-head='3'] canvas\");"
            " const g = c.getContext('2d'); const n = %d;"
            " return Array.from({length: n * n}, (_, i) => g.getImageData("
            "Math.floor((i %% n + 0.5) * c.width / n), Math.floor((Math.floor(i / n) + 0.5) * c.height / n), 1, 1).data[1]); })()"
            % (LAYER, weights.rows)
        )
        pairs = sorted(zip(weights.values[3 * weights.rows**2 :], shown))
        # The green of the scale falls all the way from white.
        self.assertTrue(all(b[1] <= a[1] for a, b in zip(pairs, pairs[1:])))
        self.assertGreater(pairs[0][1] - pairs[-1][1], 150)

    def test_measures(self):
        meta, _ = self.open("decoder")
        self.browser.choose("Measure", "entropy")
        shown = self.browser.texts(".measure b")
        expected = [value for a in meta["attentions"] for value in a["measures"]["entropy"]]
        self.assertEqual(len(shown), len(expected))
        for text, value in zip(shown, expected):
            self.near(text, value, 0, digits=2)
        options = self.browser.texts("select[aria-label=Measure] option")
        self.assertNotIn("Induction", options)  # The sample knows nothing about it.

    def test_prediction(self):
        meta, _ = self.open("decoder")
        shown = self.browser.texts(".prediction .guess b")
        for text, guess in zip(shown, meta["prediction"]["rows"][0]["top"]):
            self.near(text, guess["probability"], 0, digits=3)

    def test_arrow_keys(self):
        self.open("decoder")
        self.browser.run("document.querySelector('.thumb').focus()")
        for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowUp", "ArrowDown"):
            self.browser.press(key)
        self.browser.press("Enter")
        self.assertIn("#head/attention=decoder.1.self_attention&head=2", self.address())


class HeadView(PageTest):
    def ranking(self):
        return self.browser.run(
            "[...document.querySelectorAll('.ranking li')].map(li =>"
            " [Number(li.dataset.index), Number(li.dataset.weight), li.querySelector('b').textContent])"
        )

    def compare(self, column):
        """The ranking is the strongest of `column`."""
        shown = self.ranking()
        best = sorted(column, reverse=True)[:8]
        self.assertEqual(len(shown), len(best))
        for (index, weight, text), value in zip(shown, best):
            self.near(weight, value, WEIGHT_ERROR)
            self.near(weight, column[index], WEIGHT_ERROR)
            self.near(text, column[index], WEIGHT_ERROR, digits=4)

    def test_a_token_is_isolated(self):
        _, tensors = self.open("decoder", f"#head/attention={LAYER}&head=1")
        weights = Weights(tensors, LAYER)
        for token in (0, 7, 20):
            self.browser.point(*self.browser.middle(f".query button[data-index='{token}']"))
            self.compare(weights.row(1, token))
        self.browser.point(*self.browser.middle(".key button[data-index='4']"))
        self.compare([weights.row(1, row)[4] for row in range(weights.rows)])

    def test_focus_isolates_too(self):
        _, tensors = self.open("decoder", f"#head/attention={LAYER}&head=1")
        self.browser.run("document.querySelector('.query button').focus()")
        for _ in range(3):
            self.browser.press("ArrowDown")
        self.compare(Weights(tensors, LAYER).row(1, 3))
        self.browser.press("ArrowRight")
        self.assertEqual(
            self.browser.run(
                "document.activeElement.dataset.side + document.activeElement.dataset.index"
            ),
            "key3",
        )

    def lines(self):
        """How many pixels are drawn on."""
        self.browser.frame()
        return self.browser.run(
            "(() => { const c = document.querySelector('.bonds canvas');"
            " const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let n = 0;"
            " for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; })()"
        )

    def test_heads_are_filtered(self):
        self.open("decoder", f"#head/attention={LAYER}&head=0")
        self.browser.wait("document.querySelector('.ranking li')")
        one = self.lines()
        self.assertGreater(one, 500)
        self.browser.click(".chip[data-head='4']")
        self.assertIn("heads=0,4", self.address())
        self.assertNotEqual(self.lines(), one)
        self.browser.click(".chip[data-head='0']")
        self.assertEqual(
            self.browser.run(
                "[...document.querySelectorAll('.chip[aria-pressed=true]')].map(c => c.dataset.head)"
            ),
            ["4"],
        )

    def test_weak_lines_are_hidden(self):
        self.open("decoder", f"#head/attention={LAYER}&head=0&least=0")
        self.browser.wait("document.querySelector('.ranking li')")
        every = self.lines()
        self.browser.choose("Hide below", "0.3")
        self.assertLess(self.lines(), every)

    def test_a_click_keeps_it(self):
        _, tensors = self.open("decoder", f"#head/attention={LAYER}&head=2")
        self.browser.click(".query button[data-index='9']")
        self.browser.point(5, 5)
        self.assertIn("query=9", self.address())
        self.compare(Weights(tensors, LAYER).row(2, 9))


class MatrixView(PageTest):
    def cell(self, row, column):
        """Where a cell of the whole map is on the screen."""
        return self.browser.run(
            "(() => { const b = document.querySelector('.stage canvas').getBoundingClientRect();"
            " const left = b.left + (innerWidth < 560 ? 54 : 96), top = b.top + (innerWidth < 560 ? 48 : 84);"
            " const n = %d; return [left + (%d + 0.5) * (b.right - 30 - left) / n, top + (%d + 0.5) * (b.bottom - top) / n]; })()"
            % (len(WORDS), column, row)
        )

    def ready(self):
        self.browser.wait("document.querySelector('.stage canvas').dataset.ready")
        self.browser.frame()

    def test_tooltip(self):
        _, tensors = self.open("decoder", f"#matrix/attention={LAYER}&head=2")
        weights = Weights(tensors, LAYER)
        self.ready()
        for row, column in ((0, 0), (12, 3), (24, 24), (20, 11), (3, 9)):
            self.browser.point(*self.cell(row, column))
            self.near(self.browser.text(".tooltip b"), weights.row(2, row)[column], WEIGHT_ERROR)
            tokens = self.browser.texts(".tooltip bdi")
            self.assertEqual([t.strip("·") for t in tokens], [WORDS[row], WORDS[column]])

    def test_zoom_keeps_the_cell_under_the_pointer(self):
        _, tensors = self.open("decoder", f"#matrix/attention={LAYER}&head=2")
        self.ready()
        x, y = self.cell(12, 5)
        for _ in range(4):
            self.browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-240)
            self.browser.frame()
        self.browser.point(x, y)
        self.near(
            self.browser.text(".tooltip b"), Weights(tensors, LAYER).row(2, 12)[5], WEIGHT_ERROR
        )
        self.assertEqual(self.browser.texts(".tooltip .index"), ["12", "5"])

    def test_keyboard(self):
        _, tensors = self.open("decoder", f"#matrix/attention={LAYER}&head=2&query=5&key=2")
        self.ready()
        self.browser.run("document.querySelector('.stage canvas').focus()")
        for key in ("ArrowDown", "ArrowRight", "+", "ArrowDown", "-", "0"):
            self.browser.press(key)
        self.assertIn("query=7&key=3", self.address())
        self.near(
            self.browser.text(".reading-line b"), Weights(tensors, LAYER).row(2, 7)[3], WEIGHT_ERROR
        )

    def test_mean_of_heads(self):
        _, tensors = self.open("decoder", f"#matrix/attention={LAYER}&head=mean&query=9&key=8")
        self.ready()
        self.near(
            self.browser.text(".reading-line b"),
            Weights(tensors, LAYER).mean_row(9)[8],
            WEIGHT_ERROR,
        )

    def test_next_head_and_layer(self):
        self.open("decoder", f"#matrix/attention={LAYER}&head=2")
        self.ready()
        for key in ("]", "{"):
            self.browser.press(key)
        self.assertIn("attention=decoder.1.self_attention&head=3", self.address())

    def test_colours_follow_the_weights(self):
        _, tensors = self.open("decoder", f"#matrix/attention={LAYER}&head=2&query=24&key=24")
        self.ready()
        shown = []
        for row in range(0, 24, 4):
            for column in range(0, 24, 4):
                x, y = self.cell(row, column)
                green = self.browser.run(
                    "(() => { const c = document.querySelector('.stage canvas'); const b = c.getBoundingClientRect();"
                    " return c.getContext('2d').getImageData(%f - b.left, %f - b.top, 1, 1).data[1]; })()"
                    % (x, y)
                )
                shown.append((Weights(tensors, LAYER).row(2, row)[column], green))
        shown.sort()
        self.assertTrue(all(b[1] <= a[1] for a, b in zip(shown, shown[1:])), json.dumps(shown))


if __name__ == "__main__":
    unittest.main()
