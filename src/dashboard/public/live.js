// @ts-check
/** Shows how far a run is, from the events of the server, and loads the page anew when the run has ended. */

/** @typedef {{ step: string, done: number, total: number | null, unit: string, applied: number, rejected: number, ratePerSecond: number | null, etaMs: number | null }} Progress */

const SPEAK_EVERY_MS = 15_000;
const block = document.querySelector('[data-events]');
let spokenAt = 0;

/** @param {string} name @param {string} text */
function show(name, text) {
  const element = block?.querySelector(`[data-live="${name}"]`);
  if (element && element.textContent !== text) element.textContent = text;
}

/** @param {number} figure @param {string} unit */
function amount(figure, unit) {
  return unit === 'bytes' ? `${(figure / 1e6).toFixed(1)} MB` : figure.toLocaleString('en');
}

/** @param {number} ms */
function duration(ms) {
  const seconds = Math.max(1, Math.ceil(ms / 1000));
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** @param {Progress} progress */
function showProgress({ step, done, total, unit, applied, rejected, ratePerSecond, etaMs }) {
  const share = total && done <= total ? done / total : null;
  const percent = share === null ? '' : `${Math.floor(share * 100)}%`;
  const known = share === null ? amount(done, unit) : `${amount(done, unit)} of ${amount(total ?? 0, unit)}`;
  const figures = unit === 'bytes' ? known : `${known} ${unit}`;
  const bar = block?.querySelector('progress');
  if (bar && share !== null) bar.value = share;
  else bar?.removeAttribute('value');
  for (const item of block?.querySelectorAll('[data-step]') ?? []) {
    if (item.getAttribute('data-step') === step) item.setAttribute('aria-current', 'step');
    else item.removeAttribute('aria-current');
  }
  const left = etaMs === null ? '' : `${duration(etaMs)} left`;
  show('percent', percent);
  show('figures', figures);
  show('rate', ratePerSecond === null ? '' : `${amount(Math.round(ratePerSecond), unit)}/s`);
  show('left', left);
  show('applied', applied.toLocaleString('en'));
  show('rejected', rejected.toLocaleString('en'));
  if (Date.now() - spokenAt < SPEAK_EVERY_MS) return;
  spokenAt = Date.now();
  show('spoken', [percent, figures, left].filter((part) => part !== '').join(', '));
}

/** @param {boolean} lost */
function showLost(lost) {
  block?.querySelector('[data-live="lost"]')?.toggleAttribute('hidden', !lost);
}

const address = block?.getAttribute('data-events');
if (address) {
  // A browser connects again by itself, unless it is answered with an error: then the page as it is by then tells why.
  const events = new EventSource(address);
  events.addEventListener('open', () => showLost(false));
  events.addEventListener('error', () => {
    showLost(true);
    if (events.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 5_000);
  });
  events.addEventListener('progress', (event) => showProgress(JSON.parse(event.data)));
  events.addEventListener('ended', () => {
    events.close();
    location.reload();
  });
}
