"""Step by step, encoder–decoder, picture, generation, logit lens, anatomy."""

import math
import unittest

from samples import softmax
from support import WEIGHT_ERROR, PageTest, Weights, number

STEPPED = "decoder.0.self_attention"
# float16 keeps 11 bits: of numbers up to 4, as those of the samples are.
HALF_ERROR = 4 * 2**-11


class StepView(PageTest):
    def shown(self, head, query):
        self.browser.wait(
            f"document.querySelector('.cards').dataset.shown === '{STEPPED} {head} {query}'"
        )

    def vectors(self, tensors, name, head, token):
        shape, values = tensors[f"{STEPPED}.{name}"]
        start = (head * shape[1] + token) * shape[2]
        return values[start : start + shape[2]]

    def numbers(self, name):
        """All numbers of an unfolded vector."""
        selector = f"details[data-vector='{name}']"
        self.browser.run(f'document.querySelector("{selector}").open = true')
        self.browser.wait(f'document.querySelector("{selector} .numbers")')
        return [number(text) for text in self.browser.texts(f"{selector} .numbers span")]

    def compare_vector(self, name, expected, error=HALF_ERROR):
        shown = self.numbers(name)
        self.assertEqual(len(shown), len(expected))
        for a, b in zip(shown, expected):
            self.near(a, b, error, digits=3)

    def test_equations(self):
        meta, tensors = self.open("decoder", f"#step/attention={STEPPED}&head=2&query=6")
        size = meta["attentions"][0]["head_size"]
        for head, query in ((2, 6), (0, 24), (5, 0)):
            self.browser.run(
                f"location.hash = '#step/attention={STEPPED}&head={head}&query={query}'"
            )
            self.shown(head, query)
            if query >= 10:
                self.browser.click(".step-card > .link")
            q = self.vectors(tensors, "query", head, query)
            scores = [
                sum(a * b for a, b in zip(q, self.vectors(tensors, "key", head, j)))
                for j in range(query + 1)
            ]
            weights = softmax([score / math.sqrt(size) for score in scores])
            rows = self.browser.run(
                "[...document.querySelectorAll('.scores tbody tr')].map(r =>"
                " [Number(r.dataset.key), ...[...r.querySelectorAll('td:not(.wide)')].map(c => c.textContent)])"
            )
            self.assertGreaterEqual(len(rows), min(10, query + 1))
            for key, dot, scaled, masked, weight, captured in rows:
                if key > query:
                    self.assertEqual(number(masked), -math.inf)
                    self.assertEqual(number(weight), 0)
                    continue
                self.near(dot, scores[key], 0.02, digits=3)
                self.near(scaled, scores[key] / math.sqrt(size), 0.01, digits=3)
                self.near(masked, scores[key] / math.sqrt(size), 0.01, digits=3)
                self.near(weight, weights[key], 2e-3, digits=4)
                self.near(captured, weights[key], WEIGHT_ERROR, digits=4)
            difference = float(
                self.browser.run("document.querySelector('.verdict').dataset.difference")
            )
            self.assertLess(difference, 2e-3)
            expected = [
                sum(w * self.vectors(tensors, "value", head, j)[d] for j, w in enumerate(weights))
                for d in range(size)
            ]
            self.compare_vector("head_output", expected)

    def test_terms_of_a_score(self):
        _, tensors = self.open("decoder", f"#step/attention={STEPPED}&head=1&query=8")
        self.shown(1, 8)
        self.browser.click(".scores tr[data-key='3'] .unfold")
        q, k = self.vectors(tensors, "query", 1, 8), self.vectors(tensors, "key", 1, 3)
        self.compare_vector("terms", [a * b for a, b in zip(q, k)], 4 * HALF_ERROR)

    def test_rest_of_the_layer(self):
        meta, tensors = self.open("decoder", f"#step/attention={STEPPED}&head=0")
        row = meta["steps"]["row"]["decoder"]
        self.shown(0, row)
        self.compare_vector("concat", tensors[f"{STEPPED}.concat"][1])
        names = [
            f"{STEPPED}.output",
            *(
                f"decoder.0.{step}"
                for step in (
                    "residual_1",
                    "norm_2",
                    "feed_forward.hidden",
                    "feed_forward.output",
                    "residual_2",
                )
            ),
        ]
        shown = self.browser.run(
            "[...document.querySelectorAll('details.vector')].map(d => d.dataset.vector)"
        )
        self.assertEqual(shown, ["decoder.0.norm_1", "query", "head_output", "concat", *names])
        for name in names:
            self.compare_vector(name, tensors[name][1])

    def test_another_query_leads_back(self):
        meta, _ = self.open("decoder", f"#step/attention={STEPPED}&head=0&query=3")
        self.shown(0, 3)
        self.assertEqual(self.browser.texts("details[data-vector='decoder.0.residual_1']"), [])
        self.browser.click("[data-go=followed]")
        self.shown(0, meta["steps"]["row"]["decoder"])

    def test_a_query_is_chosen(self):
        self.open("decoder", "#step")
        self.browser.click("[data-query='5']")
        self.shown(0, 5)


class TranslationView(PageTest):
    def panel(self, attention):
        return self.browser.run(
            f"[...document.querySelectorAll(\"[data-attention='{attention}'] .piece\")]"
            ".map(p => Number(p.dataset.weight))"
        )

    def compare(self, attention, expected):
        self.browser.wait(f"document.querySelector(\"[data-attention='{attention}'] .piece\")")
        shown = self.panel(attention)
        self.assertEqual(len(shown), len(expected))
        for a, b in zip(shown, expected):
            self.near(a, b, 2 * WEIGHT_ERROR)

    def test_three_attentions(self):
        self.browser.size(960, 640)
        _, tensors = self.open("translation", "#translation/output=3")
        weights = {
            kind: Weights(tensors, kind)
            for kind in (
                "decoder.2.cross_attention",
                "decoder.2.self_attention",
                "encoder.2.self_attention",
            )
        }
        cross = weights["decoder.2.cross_attention"].mean_row(3)
        self.compare("decoder.2.cross_attention", cross)
        self.compare("decoder.2.self_attention", weights["decoder.2.self_attention"].mean_row(3))
        self.compare(
            "encoder.2.self_attention",
            weights["encoder.2.self_attention"].mean_row(cross.index(max(cross))),
        )
        self.picture("explorer-translation")

    def test_layer_head_and_token(self):
        _, tensors = self.open("translation", "#translation")
        self.browser.choose("Layer", "1")
        self.browser.choose("Head", "2")
        self.browser.click("[data-attention='decoder.1.self_attention'] .piece[data-index='5']")
        self.assertIn("output=5", self.address())
        self.browser.wait(
            "document.querySelector(\"[data-attention='decoder.1.cross_attention'][data-row='5']\")"
        )
        self.compare(
            "decoder.1.cross_attention", Weights(tensors, "decoder.1.cross_attention").row(2, 5)
        )

    def test_alignment(self):
        meta, _ = self.open("translation", "#translation")
        self.browser.wait("document.querySelector('.bond-lines path')")
        pairs = self.browser.run(
            "[...document.querySelectorAll('.bond-lines path')].map(p => p.dataset.pair)"
        )
        self.assertEqual(pairs, [f"{s},{t}" for s, t, _ in meta["alignment"]["pairs"]])
        self.assertEqual(self.browser.texts(".words.target .word")[-2:], ["Büsche", "."])
        table = self.browser.texts(".pairs tbody td:last-child")
        for text, (_, _, weight) in zip(table, meta["alignment"]["pairs"]):
            self.near(text, weight, 0, digits=3)

    def test_it_leads_to_the_matrix(self):
        self.open("translation", "#translation/output=2")
        self.browser.click("[data-attention='decoder.2.cross_attention'] .link")
        self.assertTrue(self.address().startswith("#matrix/"))
        self.assertIn("attention=decoder.2.cross_attention&head=mean&query=2", self.address())


class VisionView(PageTest):
    GRID = 14

    def patch(self, row, column):
        return self.browser.run(
            "(() => { const b = document.querySelector('.picture').getBoundingClientRect();"
            f" return [b.left + b.width * {(column + 0.5) / self.GRID}, b.top + b.height * {(row + 0.5) / self.GRID}]; }})()"
        )

    def ready(self):
        self.browser.wait("document.querySelector('.overlay[aria-pressed=true]')")
        self.browser.frame()

    def test_rollout_and_heads(self):
        self.browser.size(960, 640)
        _, tensors = self.open("vision", "#vision")
        self.ready()
        self.picture("explorer-vision")
        rollout = tensors["rollout.encoder"][1]
        for row, column in ((0, 0), (6, 8), (13, 2)):
            self.browser.point(*self.patch(row, column))
            self.near(
                self.browser.text(".tooltip b"), rollout[1 + row * self.GRID + column], WEIGHT_ERROR
            )
        self.browser.click(".overlay[data-overlay='2']")
        self.ready()
        weights = Weights(tensors, "encoder.0.self_attention").row(2, 0)
        self.browser.point(*self.patch(4, 9))
        self.near(self.browser.text(".tooltip b"), weights[1 + 4 * self.GRID + 9], WEIGHT_ERROR)
        best = max(range(1, len(weights)), key=weights.__getitem__) - 1
        self.assertIn(
            f"patch {best // self.GRID},{best % self.GRID} ", self.browser.text(".reading-line")
        )

    def test_a_patch_is_asked(self):
        _, tensors = self.open("vision", "#vision/overlay=1")
        self.ready()
        self.browser.click_at(*self.patch(5, 3))
        token = 1 + 5 * self.GRID + 3
        self.assertIn(f"from_patch={token}", self.address())
        self.browser.wait(
            "document.querySelector('.reading-line').textContent.startsWith('From patch 5,3')"
        )
        self.browser.point(*self.patch(5, 4))
        self.near(
            self.browser.text(".tooltip b"),
            Weights(tensors, "encoder.0.self_attention").row(1, token)[token + 1],
            WEIGHT_ERROR,
        )
        self.browser.run("document.querySelector('.picture').focus()")
        self.browser.press("ArrowDown")
        self.assertIn(f"from_patch={token + self.GRID}", self.address())
        self.browser.press("Escape")
        self.assertIn("from_patch=0", self.address())

    def looked_at(self, sample):
        """The light of the patch most and of that least looked at: veiled, and without a veil."""
        _, tensors = self.open(sample, "#vision/overlay=1")
        self.ready()
        weights = Weights(tensors, "encoder.0.self_attention").row(1, 0)[1:]
        read = lambda token: self.browser.run(
            "(() => { const c = document.querySelector('.picture'); return [...c.getContext('2d').getImageData("
            f"Math.floor({(token % self.GRID + 0.5) / self.GRID} * c.width), Math.floor({(token // self.GRID + 0.5) / self.GRID} * c.height), 1, 1).data]"
            ".slice(0, 3).reduce((a, b) => a + b); })()"
        )
        most, least = (pick(range(len(weights)), key=weights.__getitem__) for pick in (max, min))
        veiled = read(most), read(least)
        self.browser.run(
            "(() => { const i = document.querySelector('input[type=range]'); i.value = 0; i.dispatchEvent(new Event('input')); })()"
        )
        self.browser.frame()
        return veiled, (read(most), read(least))

    def test_where_it_looks_there_is_no_veil(self):
        veiled, plain = self.looked_at("vision")
        self.assertEqual(veiled[0], plain[0])
        self.assertGreater(plain[1], 2 * veiled[1])

    def test_the_veil_of_a_dark_picture_is_light(self):
        veiled, plain = self.looked_at("night")
        self.assertEqual(veiled[0], plain[0])
        self.assertGreater(veiled[1], 2 * plain[1])


class GenerationView(PageTest):
    def test_alternatives(self):
        meta, _ = self.open("decoder", "#generation")
        tokens = meta["generation"]["tokens"]
        shown = self.browser.run(
            "[...document.querySelectorAll('.produced .piece')].map(p => Number(p.dataset.probability))"
        )
        self.assertEqual(shown, [token["probability"] for token in tokens])
        self.browser.click(".produced [data-produced='2']")
        shown = self.browser.run(
            "[...document.querySelectorAll('.ranking li')].map(li => [Number(li.dataset.id), li.querySelector('b').textContent])"
        )
        self.assertEqual(
            [one for one, _ in shown], [other["id"] for other in tokens[2]["alternatives"]]
        )
        for (_, text), other in zip(shown, tokens[2]["alternatives"]):
            self.near(text, other["probability"], 0, digits=3)

    def nodes(self):
        return self.browser.run(
            "[...document.querySelectorAll('[role=treeitem]')].map(n => Number(n.dataset.node))"
        )

    def test_the_tree_unfolds(self):
        meta, _ = self.open("decoder", "#generation")
        tree = meta["generation"]["tree"]
        way, at = [], tree["results"][0]
        while at >= 0:
            way.append(at)
            at = tree["nodes"][at]["parent"]
        children = lambda parent: [
            i for i, node in enumerate(tree["nodes"]) if node["parent"] == parent
        ]
        before = self.nodes()
        self.assertEqual(
            sorted(before), sorted(c for parent in [-1, *way] for c in children(parent))
        )
        folded = next(i for i in before if children(i) and i not in way)
        self.browser.click(f"[data-node='{folded}'] > .node")
        self.assertEqual(sorted(self.nodes()), sorted(before + children(folded)))
        self.browser.press("ArrowLeft")
        self.assertEqual(self.nodes(), before)
        text = self.browser.texts(f"[data-node='{folded}'] > .node .score")[0]
        self.near(text, tree["nodes"][folded]["score"], 0, digits=2)


class LensView(PageTest):
    def test_guesses(self):
        meta, _ = self.open("decoder", "#lens")
        for layer in meta["lens"][::2]:
            for position in (0, 9):
                best = layer["top"][position][0]
                cell = f"td[data-layer='{layer['name']}'][data-position='{position}']"
                label = self.browser.run(
                    f"document.querySelector(\"{cell}\").getAttribute('aria-label')"
                )
                self.assertEqual(label.split(",")[0].strip("·"), best["token"].strip() or ",")
                self.browser.point(*self.browser.middle(cell))
                for text, guess in zip(
                    self.browser.texts(".tooltip .ranking b"), layer["top"][position]
                ):
                    self.near(text, guess["probability"], 0, digits=3)


class AnatomyView(PageTest):
    def test_counts_and_shapes(self):
        meta, _ = self.open("decoder", "#anatomy")
        parts = {part["name"]: part["parameters"] for part in meta["anatomy"]["parts"]}
        shown = self.browser.run(
            "[...document.querySelectorAll('.part')].map(p => [p.dataset.part, p.querySelector('b').textContent])"
        )
        self.assertEqual(
            [name for name, _ in shown],
            [
                name
                for name in parts
                if not name.startswith(("decoder.1", "decoder.2", "decoder.3"))
            ],
        )
        for name, text in shown:
            self.assertEqual(int(text.replace(",", "")), parts[name])
        self.assertEqual(self.browser.texts(".times"), ["× 4"])
        self.browser.click("[data-part='decoder.0.feed_forward'] summary")
        self.browser.wait("document.querySelector('.weights td')")
        self.assertEqual(self.browser.texts(".weights td:nth-child(2)"), ["192 × 48", "48 × 192"])


if __name__ == "__main__":
    unittest.main()
