// @ts-check
/** Fills in the time zone of the browser, renders the matching of a new job again after each change, and hides fields that do not apply. Without it a button does so. */

const form = /** @type {HTMLFormElement | null} */ (document.querySelector('form.draft'));
let latest = 0;

/** Shows a field only while another field has, or has not, a value: `data-when="schedule=other"`. */
function showFields() {
  for (const element of form?.querySelectorAll('[data-when], [data-unless]') ?? []) {
    const [name = '', value] = (
      element.getAttribute('data-when') ??
      element.getAttribute('data-unless') ??
      ''
    ).split('=');
    const control = form?.elements.namedItem(name);
    const isField = control instanceof HTMLSelectElement || control instanceof HTMLInputElement;
    const is = isField && control.value === value;
    element.toggleAttribute('hidden', element.hasAttribute('data-when') ? !is : is);
  }
}

/** Whether another option is selected than the server has sent. @param {Element} control */
function isChanged(control) {
  if (control instanceof HTMLInputElement) return control.checked !== control.defaultChecked;
  if (!(control instanceof HTMLSelectElement)) return false;
  const sent = [...control.options].findIndex((option) => option.defaultSelected);
  return control.selectedIndex !== Math.max(0, sent);
}

async function renderAgain() {
  if (!form) return;
  latest += 1;
  const mine = latest;
  const fields = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (typeof value === 'string' && name !== 'apiKey') fields.append(name, value);
  }
  const rendered = form.querySelector('[data-rendered]');
  rendered?.setAttribute('aria-busy', 'true');
  const answer = await fetch(form.action, { method: 'POST', body: fields }).catch(() => null);
  // A later change has been sent, and its answer replaces this one.
  if (mine !== latest) return;
  if (!answer?.ok) {
    form.requestSubmit(/** @type {HTMLElement} */ (form.querySelector('[data-without-script]')));
    return;
  }
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const fresh = page.querySelector('[data-rendered]');
  if (mine !== latest || !fresh || !rendered) return;
  if (!document.querySelector('#settings') && page.querySelector('#settings')) {
    location.reload();
    return;
  }
  const focused = document.activeElement?.id;
  const { scrollLeft = 0, scrollTop = 0 } = rendered.querySelector('[data-keeps-scroll]') ?? {};
  rendered.replaceChildren(...fresh.childNodes);
  rendered.querySelector('[data-keeps-scroll]')?.scrollTo(scrollLeft, scrollTop);
  rendered.removeAttribute('aria-busy');
  for (const button of rendered.querySelectorAll('[data-without-script]'))
    button.toggleAttribute('hidden', true);
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

for (const field of document.querySelectorAll('[data-browser-timezone]')) {
  if (field instanceof HTMLInputElement) field.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
}
if (form) {
  form.addEventListener('input', showFields);
  form.addEventListener('change', (event) => {
    showFields();
    if (event.target instanceof Element && event.target.hasAttribute('data-renders')) void renderAgain();
  });
  for (const button of form.querySelectorAll('[data-without-script]')) button.toggleAttribute('hidden', true);
  showFields();
  // What was chosen while this script was still loading.
  if ([...form.querySelectorAll('select[data-renders], input[type=radio][data-renders]')].some(isChanged))
    void renderAgain();
}
