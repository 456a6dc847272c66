// The page starts here: the capture inside it is opened and the explorer drawn over it.
import { openApp } from './app.js';
import { Capture } from './capture.js';
import { el } from './dom.js';
import { openEmbedded } from './source.js';

const root = document.getElementById('app');
try {
  openApp(root, new Capture(openEmbedded(document)));
} catch (error) {
  root.replaceChildren(
    el('p', { class: 'note', role: 'alert' }, `This page cannot be shown: ${error.message}`),
  );
}
