// The page starts here: the captures inside it are opened and the explorer drawn over them.
import { openApp } from './app.js';
import { Capture } from './capture.js';
import { el } from './dom.js';
import { allEmbedded } from './source.js';

const root = document.getElementById('app');
try {
  openApp(root, allEmbedded(document).map((source) => new Capture(source)));
} catch (error) {
  root.replaceChildren(
    el('p', { class: 'note', role: 'alert' }, `This page cannot be shown: ${error.message}`),
  );
}
