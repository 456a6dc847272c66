// The model as blocks, with shapes and counts.
import { bar, el } from '../dom.js';
import { grouped, inBytes, percent, rounded, tokenText } from '../text.js';

const NAMES = {
  embedding: 'Embedding',
  head: 'Head',
  self_attention: 'Self-attention',
  cross_attention: 'Cross-attention',
  feed_forward: 'Feed-forward',
};

/** "encoder.3.self_attention" → ["encoder", "3", "self_attention"]; what is in no layer has no number. */
function placeOf(name) {
  const match = /^(.*?)\.(\d+)\.(.+)$/.exec(name);
  return match
    ? { stack: match[1], layer: Number(match[2]), part: match[3] }
    : { stack: '', layer: -1, part: name };
}

/** Blocks in the order of the model: single parts, and runs of layers that are all alike. */
function blocksOf(parts) {
  const blocks = [];
  for (const part of parts) {
    const place = placeOf(part.name);
    const last = blocks.at(-1);
    if (place.layer < 0) {
      blocks.push({ title: NAMES[part.name] ?? part.name, parts: [part], layers: 0 });
    } else if (last?.stack === place.stack && last.layer === place.layer) last.parts.push(part);
    else blocks.push({ stack: place.stack, layer: place.layer, parts: [part], layers: 1 });
  }
  return blocks.reduce((merged, block) => {
    const last = merged.at(-1);
    const sizes = (one) => one.parts.map(({ parameters }) => parameters).join();
    if (last?.stack && last.stack === block.stack && sizes(last) === sizes(block)) last.layers += 1;
    else merged.push(block);
    return merged;
  }, []);
}

/** The weights of one part, with their shapes. */
function weightTable(weights) {
  return el(
    'div',
    { class: 'sideways' },
    el(
      'table',
      { class: 'weights' },
      el(
        'tbody',
        {},
        weights.map(({ name, shape, type, stored_name: stored }) =>
          el(
            'tr',
            { title: stored },
            el('th', { scope: 'row' }, name),
            el('td', {}, shape.join(' × ')),
            el('td', {}, type),
          )
        ),
      ),
    ),
  );
}

/** "4 of 768 × 768": the matrices among the weights. */
function shapesOf(weights) {
  const counts = new Map();
  for (const { shape } of weights) {
    const text = shape.join(' × ');
    if (shape.length > 1) counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts].map(([text, count]) => (count > 1 ? `${count} of ${text}` : text)).join(', ');
}

function partRow({ name, parameters, bytes }, total, weights) {
  const { part, layer } = placeOf(name);
  const own = weights.filter((weight) => weight.name.startsWith(`${name}.`));
  const details = el(
    'details',
    { class: 'part', data: { part: name, parameters } },
    el(
      'summary',
      {},
      el(
        'span',
        { class: 'part-name' },
        layer < 0
          ? NAMES[name] ?? name.replaceAll('.', ' ')
          : NAMES[part] ?? part.replace('_', ' ').replace(/^norm/, 'Norm'),
      ),
      el('span', { class: 'shape' }, shapesOf(own)),
      bar(parameters / total),
      el('b', {}, grouped(parameters)),
      el('span', { class: 'bytes' }, inBytes(bytes)),
    ),
  );
  details.addEventListener('toggle', () => {
    if (/** @type {HTMLDetailsElement} */ (details).open && details.children.length === 1) {
      details.append(weightTable(own));
    }
  });
  return details;
}

function blockCard(block, total, weights) {
  const sum = block.parts.reduce((count, { parameters }) => count + parameters, 0);
  if (!block.stack) {
    return el(
      'section',
      { class: 'card block' },
      block.parts.map((part) => partRow(part, total, weights)),
    );
  }
  const last = block.layer + block.layers - 1;
  return el(
    'section',
    { class: `card block${block.layers > 1 ? ' stacked' : ''}` },
    el(
      'header',
      {},
      el(
        'h3',
        {},
        block.layers > 1
          ? `${block.stack}, layers ${block.layer} – ${last}`
          : `${block.stack}, layer ${block.layer}`,
      ),
      block.layers > 1 ? el('span', { class: 'times' }, `× ${block.layers}`) : null,
      el(
        'span',
        { class: 'block-sum' },
        `${grouped(sum)} each, ${percent((sum * block.layers) / total)} of the model`,
      ),
    ),
    block.parts.map((part) => partRow(part, total, weights)),
  );
}

/** @type {import('../app.js').View} */
export const anatomyView = {
  id: 'anatomy',
  title: 'Anatomy',
  applies: ({ meta }) => Boolean(meta.anatomy?.parts?.length),
  open({ capture }) {
    const { anatomy, model } = capture.meta;
    const total = Math.max(1, anatomy.parts.reduce((sum, { parameters }) => sum + parameters, 0));
    const bytes = anatomy.parts.reduce((sum, part) => sum + part.bytes, 0);
    const blocks = blocksOf(anatomy.parts);
    return {
      element: el(
        'div',
        { class: 'anatomy-view' },
        el(
          'div',
          { class: 'facts' },
          [
            [rounded(total), 'parameters'],
            [inBytes(bytes), 'of weights'],
            ...(anatomy.costs ?? []).map((
              { stack, per_token: cost },
            ) => [rounded(cost), `FLOPs a token, ${stack}`]),
          ]
            .map(([value, what]) =>
              el('div', { class: 'fact' }, el('b', {}, value), el('span', {}, what))
            ),
        ),
        el(
          'ul',
          { class: 'words-about' },
          (model.description ?? []).map((line) => el('li', {}, tokenText(line))),
        ),
        el(
          'div',
          { class: 'flow' },
          blocks.map((block) => blockCard(block, total, anatomy.weights ?? [])),
        ),
      ),
    };
  },
};
