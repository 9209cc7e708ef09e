// @ts-check
/** Shows how far a run is, from the events of the server, and the page of the run when it has ended. */

/** @typedef {{ step: string, share: number | null, applied: number, rejected: number, words: { percent: string, figures: string, rate: string, left: string } }} Progress */

const SPEAK_EVERY_MS = 15_000;
const block = document.querySelector('[data-events]');
let spokenAt = 0;

/** Shows the run that has ended in place, so that the focus stays where it is, or comes to the content where that is gone. */
async function showEnd() {
  const answer = await fetch(location.href).catch(() => null);
  const page = new DOMParser().parseFromString(answer?.ok ? await answer.text() : '', 'text/html');
  const [main, fresh] = [document, page].map((one) => one.getElementById('main'));
  if (!main || !fresh || fresh.querySelector('[data-events]')) return location.reload();
  const focused = main.contains(document.activeElement) ? document.activeElement : null;
  const href = focused?.getAttribute('href');
  document.title = page.title;
  main.replaceChildren(...fresh.childNodes);
  if (!focused) return;
  const same =
    document.getElementById(focused.id) ?? (href && main.querySelector(`a[href="${CSS.escape(href)}"]`));
  if (same instanceof HTMLElement) same.focus();
  else main.focus();
}

/** @param {string} name @param {string} text */
function show(name, text) {
  const element = block?.querySelector(`[data-live="${name}"]`);
  if (element && element.textContent !== text) element.textContent = text;
}

/** @param {Progress} progress */
function showProgress({ step, share, applied, rejected, words }) {
  const bar = block?.querySelector('progress');
  if (bar && share !== null) bar.value = share;
  else bar?.removeAttribute('value');
  for (const item of block?.querySelectorAll('[data-step]') ?? []) {
    if (item.getAttribute('data-step') === step) item.setAttribute('aria-current', 'step');
    else item.removeAttribute('aria-current');
  }
  for (const [name, text] of Object.entries(words)) show(name, text);
  show('applied', applied.toLocaleString('en'));
  show('rejected', rejected.toLocaleString('en'));
  if (Date.now() - spokenAt < SPEAK_EVERY_MS) return;
  spokenAt = Date.now();
  show('spoken', [words.percent, words.figures, words.left].filter((part) => part !== '').join(', '));
}

/** @param {boolean} lost */
function showLost(lost) {
  block?.querySelector('[data-live="lost"]')?.toggleAttribute('hidden', !lost);
}

const address = block?.getAttribute('data-events');
if (address) {
  // A browser connects again by itself, unless it is answered with an error: then the reloaded page shows the reason.
  const events = new EventSource(address);
  events.addEventListener('open', () => showLost(false));
  events.addEventListener('error', () => {
    showLost(true);
    if (events.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 5_000);
  });
  events.addEventListener('progress', (event) => showProgress(JSON.parse(event.data)));
  events.addEventListener('ended', () => {
    events.close();
    void showEnd();
  });
}
