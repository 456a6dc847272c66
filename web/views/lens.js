// The logit lens: what each layer would already have answered.
import { inkOn, weightColour } from '../colour.js';
import { el } from '../dom.js';
import { percent, shorten, tokenText, visible } from '../text.js';

const MOST = 96; // positions in the table

/** @param {import('../app.js').Context} context @param {any[]} guesses best first */
function cell({ palette, tooltip }, guesses, layer, position) {
  const best = guesses?.[0];
  if (!best) return el('td', {});
  const shown = best.token ?? best.text ?? best.label;
  const td = el('td', {
    tabindex: 0,
    data: { layer, position },
    'aria-label': `${visible(shown)}, ${percent(best.probability)}`,
  }, el('bdi', {}, shorten(visible(shown), 10)));
  td.style.backgroundColor = weightColour(palette(), best.probability ** 2);
  td.style.color = inkOn(palette(), best.probability ** 2);
  const tell = (place) =>
    tooltip.show(
      place,
      el(
        'ol',
        { class: 'ranking' },
        guesses.map((guess) =>
          el(
            'li',
            {},
            tokenText(guess.token ?? guess.text ?? guess.label),
            el('b', {}, percent(guess.probability)),
          )
        ),
      ),
    );
  td.addEventListener('pointermove', tell);
  td.addEventListener('pointerleave', () => tooltip.hide());
  td.addEventListener('blur', () => tooltip.hide());
  td.addEventListener('focus', () => {
    const box = td.getBoundingClientRect();
    tell({ clientX: box.left, clientY: box.bottom });
  });
  return td;
}

/** @type {import('../app.js').View} */
export const lensView = {
  id: 'lens',
  title: 'Logit lens',
  applies: ({ meta }) => Boolean(meta.lens?.length),
  open(context) {
    const { capture } = context;
    const { lens } = capture.meta;
    const side = lens[0].name.startsWith('encoder') ? 'encoder' : 'decoder';
    const count = lens[0].top.length;
    const all = capture.tokens(side);
    const tokens = all.slice(Math.max(0, all.length - count)).slice(0, MOST);
    const rows = [...lens].reverse().map(({ name, top }) =>
      el(
        'tr',
        {},
        el('th', { scope: 'row' }, name.replace(/^.*\./, 'layer ')),
        top.slice(0, MOST).map((guesses, position) => cell(context, guesses, name, position)),
      )
    );
    return {
      element: el(
        'section',
        { class: 'card lens-view' },
        el('h2', {}, 'What each layer would already answer'),
        el(
          'p',
          { class: 'note' },
          'Every layer’s output, read with the model’s own output matrix: the line at the bottom is what it reads, the one at the top what it says. The stronger the colour, the surer.',
        ),
        el(
          'div',
          { class: 'sideways', tabindex: 0, role: 'region', 'aria-label': 'Logit lens' },
          el(
            'table',
            { class: 'lens' },
            el('tbody', {}, rows),
            el(
              'tfoot',
              {},
              el(
                'tr',
                {},
                el('th', { scope: 'row' }, 'reads'),
                tokens.map(({ text }) =>
                  el('th', { scope: 'col' }, el('bdi', {}, shorten(visible(text), 10)))
                ),
              ),
            ),
          ),
        ),
      ),
    };
  },
};
