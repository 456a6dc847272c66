"""The page for every reader: addresses, keys, phones, the dark, hostile text, thousands of tokens."""

import json
import unittest
from pathlib import Path

import page_file
import samples
from samples import HOSTILE
from support import WEIGHT_ERROR, PageTest, Weights, capture, shell

VIEWS = {
    "decoder": ["model", "head", "matrix", "step", "generation", "lens", "anatomy"],
    "translation": ["model", "head", "matrix", "translation", "generation", "anatomy"],
    "vision": ["model", "head", "matrix", "vision", "anatomy"],
}


class Frame(PageTest):
    def test_only_views_that_apply(self):
        for name, views in VIEWS.items():
            self.open(name)
            self.assertEqual(
                self.browser.run("[...document.querySelectorAll('[role=tab]')].map(t => t.id)"),
                [f"tab-{view}" for view in views],
            )

    def test_numbers_open_views_and_back_returns(self):
        self.open("translation")
        for index, view in enumerate(VIEWS["translation"]):
            self.browser.press(str(index + 1))
            self.assertTrue(self.address().startswith(f"#{view}/"))
            self.assertEqual(
                self.browser.run("document.querySelector('[aria-selected=true]').id"), f"tab-{view}"
            )
        self.browser.run("history.back()")
        self.browser.wait("location.hash.startsWith('#generation')")
        self.browser.wait("document.querySelector('.generation-view')")

    def test_arrows_on_the_tabs(self):
        self.open("vision")
        self.browser.run("document.querySelector('[role=tab]').focus()")
        self.browser.press("ArrowRight")
        self.browser.press("ArrowRight")
        self.assertTrue(self.address().startswith("#matrix"))
        self.assertEqual(self.browser.run("document.activeElement.id"), "tab-matrix")

    def test_help(self):
        self.open("decoder")
        self.browser.press("?", shift=True)
        self.assertIn("exact to 1.5e-5", self.browser.text("dialog[open]"))
        self.browser.press("Escape")
        self.browser.wait("!document.querySelector('dialog')")

    def test_addresses_that_lead_nowhere(self):
        for address in (
            "#nothing",
            "#head/attention=none&head=99&query=-4",
            "#matrix/head=x&query=1e9",
            "#%",
            "#step/head=mean",
            "#head/heads=7,x&from=99",
        ):
            self.open("decoder", address)
            self.browser.frame()
            self.assertEqual(self.browser.complaints(), [], address)

    def test_everything_has_a_name(self):
        for name, views in VIEWS.items():
            for view in views:
                self.open(name, f"#{view}")
                self.browser.frame()
                bare = self.browser.run(
                    "[...document.querySelectorAll('button, select, input, [role=application], [role=img]')]"
                    ".filter(e => !(e.getAttribute('aria-label') || e.textContent.trim())).map(e => e.outerHTML.slice(0, 90))"
                )
                self.assertEqual(bare, [], view)


class SeveralCaptures(PageTest):
    NAMES = ("translation", "vision")

    def names(self):
        return [capture(name)[0]["model"]["name"] for name in self.NAMES]

    def shown(self, number):
        """That capture and no other is on the screen."""
        name = self.names()[number]
        self.browser.wait(f"document.querySelector('h1').textContent === {json.dumps(name)}")
        pressed = "document.querySelector('.captures [aria-pressed=true]').textContent"
        self.assertEqual(self.browser.run(pressed), name)
        self.assertTrue(self.browser.run("document.title").endswith(name))
        self.assertEqual(
            self.browser.run("[...document.querySelectorAll('[role=tab]')].map(t => t.id)"),
            [f"tab-{view}" for view in VIEWS[self.NAMES[number]]],
        )

    def test_a_switch_that_keys_reach_and_back_undoes(self):
        self.open(self.NAMES)
        self.assertEqual(self.browser.texts(".captures button"), self.names())
        self.shown(0)
        self.browser.press("4")
        self.browser.wait("document.querySelector('.translation-view')")
        self.browser.run("document.querySelectorAll('.captures button')[1].focus()")
        self.browser.press("Enter")
        self.shown(1)
        self.assertIn("capture=1", self.address())
        self.browser.press("4")
        self.browser.wait("document.querySelector('.vision-view')")
        self.browser.run("history.back()")
        self.browser.wait("location.hash.startsWith('#model')")
        self.browser.run("history.back()")
        self.shown(0)
        self.browser.wait("document.querySelector('.translation-view')")

    def test_each_capture_has_its_own_numbers(self):
        self.open(self.NAMES)
        for number, name in enumerate(self.NAMES):
            meta, tensors = capture(name)
            attention = meta["attentions"][-1]["name"]
            weights = Weights(tensors, attention)
            self.browser.run(
                f"location.hash = '#matrix/capture={number}&attention={attention}"
                "&head=1&query=2&key=1'"
            )
            self.shown(number)
            ready = "document.querySelector('.stage canvas')?.dataset.ready"
            self.browser.wait(f"{ready}?.startsWith('{attention} 1')")
            self.near(
                self.browser.text(".reading-line b"), weights.row(1, 2)[1], WEIGHT_ERROR
            )

    def test_turning_while_a_view_is_being_made(self):
        for view in VIEWS["translation"] + VIEWS["vision"]:
            self.open(self.NAMES, f"#{view}/capture={int(view == 'vision')}")
            for number in (1, 0, 1):
                self.browser.run(f"document.querySelectorAll('.captures button')[{number}].click()")
            self.shown(1)
            self.browser.frame()
            self.assertEqual(self.browser.complaints(), [], view)

    def test_addresses_of_no_capture_and_a_page_of_one(self):
        for address in ("#model/capture=7", "#model/capture=x"):
            self.open(self.NAMES, address)
            self.shown(0)
        self.open("vision", "#model/capture=1")
        self.assertFalse(self.browser.run("Boolean(document.querySelector('.captures'))"))

    def test_phone_and_dark(self):
        self.browser.size(360, 740, 2, phone=True)
        for scheme in ("light", "dark"):
            self.browser.prefer(scheme)
            self.open(self.NAMES, "#vision/capture=1")
            self.browser.frame()
            self.shown(1)
            self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), 360)


class Screens(PageTest):
    def test_phone(self):
        self.browser.size(360, 740, 2, phone=True)
        for name, views in {**VIEWS, "hostile": VIEWS["decoder"]}.items():
            for view in views:
                self.open(name, f"#{view}")
                self.browser.frame()
                self.assertLessEqual(
                    self.browser.run("document.documentElement.scrollWidth"), 360, f"{name} {view}"
                )

    def test_dark(self):
        light = "getComputedStyle(document.documentElement).backgroundColor"
        self.open("decoder")
        before = self.browser.run(light)
        self.browser.prefer("dark")
        self.open("decoder", "#matrix")
        after = self.browser.run(light)
        self.assertNotEqual(before, after)
        for expected in (before, after, after):  # light, dark, as the system
            self.browser.click("button[aria-label^=Theme]")
            self.assertEqual(self.browser.run(light), expected)

    def test_contrast(self):
        """Text stands out from the ground by 4.5 : 1."""
        script = """(() => {
          const channels = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number).map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
          const light = (text) => { const [r, g, b] = channels(text); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
          const style = getComputedStyle(document.documentElement);
          const probe = document.body.appendChild(document.createElement('p'));
          const resolve = (name) => { probe.style.color = `var(--${name})`; return light(getComputedStyle(probe).color); };
          const found = {};
          for (const ink of ['ink', 'muted', 'accent', 'faint']) for (const ground of ['ground', 'surface']) {
            const [a, b] = [resolve(ink), resolve(ground)].sort((x, y) => y - x);
            found[`${ink} on ${ground}`] = (a + 0.05) / (b + 0.05);
          }
          return found; })()"""
        for scheme in ("light", "dark"):
            self.browser.prefer(scheme)
            self.open("decoder", "#anatomy")
            for pair, ratio in self.browser.run(script).items():
                self.assertGreaterEqual(ratio, 4.5, f"{scheme}: {pair}")


class Hostile(PageTest):
    def test_nothing_runs_and_everything_is_shown(self):
        self.open("hostile")
        self.browser.frame()
        self.assertIn("</script>", self.browser.texts(".reading .piece"))
        for view in VIEWS["decoder"]:
            self.browser.run(f"location.hash = '#{view}'")
            self.browser.frame()
            self.browser.wait("document.querySelector('main').textContent.length > 20")
            self.assertIsNone(self.browser.run("window.ran ?? null"), view)
            self.assertEqual(
                self.browser.run(
                    "document.querySelectorAll('main img, main script, main iframe').length"
                ),
                0,
            )
        for view, selector in (("head", ".column.query bdi"), ("generation", ".produced bdi")):
            self.browser.run(f"location.hash = '#{view}'")
            self.browser.wait(f"document.querySelector('{selector}')")
            self.assertEqual(len(self.browser.texts(selector)), len(HOSTILE))
        shown = self.browser.texts(".produced bdi")
        for text in (
            "</script>",
            "<img src=x onerror=window.ran=1>",
            "&lt;b&gt;",
            "שלום",
            "مرحبا",
            "\\x00\\x07\\x1b[31m",
            "↵",
            "⇥",
            "·",
            "∅",
            "\\u{202e}evil",
            "a\\u{2028}b",
            "a\\u{2029}b",
            "\\u{d800}",
            "\\u{200b}\\u{feff}",
            "👩‍👩‍👧",
            "x" * 300,
        ):
            self.assertIn(text, shown)

    def test_nothing_unseen_reaches_the_screen(self):
        self.open("hostile")
        for view in VIEWS["decoder"]:
            self.browser.run(f"location.hash = '#{view}'")
            self.browser.frame()
            self.assertFalse(
                self.browser.run(
                    r"/[\u0000-\u0008\u202a-\u202e\u2066-\u2069\u2028\u2029]/.test(document.querySelector('#app').textContent)"
                ),
                view,
            )

    def test_a_script_that_is_not_ours_is_refused(self):
        self.open("decoder")
        self.browser.run(
            "(() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s);"
            " const i = document.createElement('img'); i.src = 'https://example.com/x.png'; document.body.append(i); })()"
        )
        self.browser.frame()
        self.assertIsNone(self.browser.run("window.ran ?? null"))
        self.assertTrue(
            any("Content Security Policy" in text for text in self.browser.complaints())
        )
        self.browser.events.clear()

    def test_damaged_pages_say_so(self):
        path = Path(self.folder.name) / "damaged.html"
        meta, tensors = samples.decoder(1, 1)
        page_file.write_page(path, [(meta, tensors)], shell())
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace('id="meta-0">{', 'id="meta-0">{{', 1), encoding="utf-8")
        self.browser.open(path)
        self.assertIn("cannot be shown", self.browser.text("#app"))


class Long(PageTest):
    COUNT = 4096

    def test_thousands_of_tokens(self):
        path = Path(self.folder.name) / "long.html"
        page_file.write_page(path, [samples.long(self.COUNT)], shell())
        self.browser.open(path, "#matrix/query=3000&key=2936")
        self.browser.wait("document.querySelector('.stage canvas')?.dataset.ready")
        self.assertTrue(self.browser.text(".reading-line").endswith("0.20000"))
        self.assertIn("0.5000 +", self.browser.texts(".ticks span"))  # Colours are stretched.
        self.browser.choose("Colours", "plain")
        self.assertEqual(self.browser.texts(".ticks span")[-1], "1")
        self.browser.run("document.querySelector('.stage canvas').focus()")
        for _ in range(9):
            self.browser.press("+")
        self.browser.press("ArrowRight")
        self.assertTrue(self.browser.text(".reading-line").endswith("0.00000"))
        self.browser.run("location.hash = '#head/query=3000&from=2688&token=1'")
        self.browser.wait("document.querySelector('.ranking li')?.dataset.index === '3000'")
        self.assertEqual(
            self.browser.run(
                "[...document.querySelectorAll('.ranking li')].slice(0, 3).map(li => Number(li.dataset.index))"
            ),
            [3000, 0, 2936],
        )
        self.assertEqual(self.browser.complaints(), [])


if __name__ == "__main__":
    unittest.main()
