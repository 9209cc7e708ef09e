// @ts-check
/** Checks what was typed before it is sent, fills in the time zone of the browser, renders the matching of a new job again after each change, and hides fields that do not apply. Without it a button does so. */

const form = /** @type {HTMLFormElement | null} */ (document.querySelector('form.draft'));
let latest = 0;
const SAID_AFTER_MS = 250;

/** Shows a field only while another field has, or has not, one of some values: `data-when="schedule=day|week"`. */
function showFields() {
  for (const element of form?.querySelectorAll('[data-when], [data-unless]') ?? []) {
    const [name = '', value = ''] = (
      element.getAttribute('data-when') ??
      element.getAttribute('data-unless') ??
      ''
    ).split('=');
    const control = form?.elements.namedItem(name);
    const isField = control instanceof HTMLSelectElement || control instanceof HTMLInputElement;
    const is = isField && value.split('|').includes(control.value);
    element.toggleAttribute('hidden', element.hasAttribute('data-when') ? !is : is);
  }
}

/** Whether it has another value than the server has sent; text that is still being typed is said by its `change`. @param {Element} control */
function isChanged(control) {
  if (control instanceof HTMLSelectElement) {
    const sent = [...control.options].findIndex((option) => option.defaultSelected);
    return control.selectedIndex !== Math.max(0, sent);
  }
  if (!(control instanceof HTMLInputElement)) return false;
  if (control.type === 'radio') return control.checked !== control.defaultChecked;
  return control !== document.activeElement && control.value !== control.defaultValue;
}

/** @param {Element} box */
function fieldNames(box) {
  return [...box.querySelectorAll('[name]')].map((field) => field.getAttribute('name')).join();
}

/** Shows the settings as they are asked for now, with the key that was typed: it is not sent along. @param {Element} settings @param {Element} wanted */
function replaceSettings(settings, wanted) {
  const key = settings.querySelector('#apiKey');
  const same = wanted.querySelector('#apiKey');
  if (key && same) same.replaceWith(key);
  settings.replaceWith(wanted);
  fillTimezone();
  showFields();
}

function fillTimezone() {
  for (const field of document.querySelectorAll('[data-browser-timezone]')) {
    if (field instanceof HTMLInputElement) field.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
  }
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
  const focused = document.activeElement?.id;
  const settings = document.querySelector('#settings');
  const wanted = page.querySelector('#settings');
  if (!settings && wanted) {
    location.reload();
    return;
  }
  // What an answer has made of the file may ask for more.
  if (settings && wanted && fieldNames(settings) !== fieldNames(wanted)) replaceSettings(settings, wanted);
  const { scrollLeft = 0, scrollTop = 0 } = rendered.querySelector('[data-keeps-scroll]') ?? {};
  rendered.replaceChildren(...fresh.childNodes);
  rendered.querySelector('[data-keeps-scroll]')?.scrollTo(scrollLeft, scrollTop);
  showMore();
  rendered.removeAttribute('aria-busy');
  for (const button of rendered.querySelectorAll('[data-without-script]'))
    button.toggleAttribute('hidden', true);
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

/** Says of a table that is wider than the page that it has more columns, and fades the edge beyond which they are. */
function showMore() {
  for (const table of document.querySelectorAll('[data-keeps-scroll]')) {
    const { scrollWidth, clientWidth, scrollLeft } = table;
    table.previousElementSibling?.toggleAttribute('hidden', scrollWidth <= clientWidth);
    table.toggleAttribute('data-more', scrollWidth - clientWidth - scrollLeft > 1);
  }
}

/** @typedef {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} Control */

/** @param {unknown} element @returns {element is Control} */
function isControl(element) {
  return (
    element instanceof HTMLInputElement ||
    element instanceof HTMLSelectElement ||
    element instanceof HTMLTextAreaElement
  );
}

/** What is wrong with a control, in the words that the server has sent along; '' for nothing. @param {Control} control */
function wrongWith(control) {
  if (control.disabled || control.type === 'hidden' || control.closest('[hidden]')) return '';
  if (control.value.trim() === '')
    return control.dataset.missing ?? (control.required ? 'Fill in this field.' : '');
  const { patternMismatch, typeMismatch } = control.validity;
  if (patternMismatch || typeMismatch) return control.title || control.validationMessage;
  if (control.dataset.check !== 'timezone') return control.validationMessage;
  try {
    return Intl.DateTimeFormat('en', { timeZone: control.value.trim() }) && '';
  } catch {
    return 'Give the name of a time zone, such as Europe/London or UTC.';
  }
}

/** Shows beside a control what is wrong with it; '' takes that away. @param {Control} control @param {string} wrong */
function showWrong(control, wrong) {
  const id = `wrong-${control.id || control.name}`;
  const others = (control.getAttribute('aria-describedby') ?? '')
    .split(' ')
    .filter((one) => one && one !== id);
  const shown = document.getElementById(id);
  if (wrong === '' && !shown) return;
  const about = shown ?? document.createElement('span');
  about.id = id;
  about.className = 'field-error';
  about.textContent = wrong;
  if (wrong === '') about.remove();
  else if (!shown) control.after(about);
  control.toggleAttribute('aria-invalid', false);
  if (wrong !== '') control.setAttribute('aria-invalid', 'true');
  const described = wrong === '' ? others : [id, ...others];
  if (described.length === 0) control.removeAttribute('aria-describedby');
  else control.setAttribute('aria-describedby', described.join(' '));
}

/** Checks a form that is about to be sent, and leads to the first control that is wrong. @param {SubmitEvent} event */
function checkForm(event) {
  const { target, submitter } = event;
  const skips = submitter instanceof HTMLButtonElement && submitter.formNoValidate;
  if (skips || !(target instanceof HTMLFormElement)) return;
  const controls = [...target.elements].filter(isControl);
  for (const control of controls) showWrong(control, wrongWith(control));
  const first = controls.find((control) => wrongWith(control) !== '');
  if (!first) return;
  event.preventDefault();
  for (let box = first.closest('details'); box; box = box.parentElement?.closest('details') ?? null)
    box.open = true;
  first.focus();
}

showMore();
addEventListener('resize', showMore);
document.addEventListener('scroll', showMore, true);
// The words of the browser in a bubble are not beside the field, and go away.
for (const one of document.forms) one.noValidate = true;
document.addEventListener('submit', checkForm);
document.addEventListener('input', ({ target }) => {
  if (isControl(target) && wrongWith(target) === '') showWrong(target, '');
});
document.addEventListener('change', ({ target }) => {
  if (!isControl(target)) return;
  // After the click that has left the field: words that appear move the button away from below it.
  setTimeout(() => {
    // A field that is still to be filled in is not wrong yet.
    if (target.value.trim() !== '') showWrong(target, wrongWith(target));
  }, SAID_AFTER_MS);
});
fillTimezone();
if (form) {
  form.addEventListener('input', showFields);
  form.addEventListener('change', (event) => {
    showFields();
    if (event.target instanceof Element && event.target.hasAttribute('data-renders')) void renderAgain();
  });
  for (const button of form.querySelectorAll('[data-without-script]')) button.toggleAttribute('hidden', true);
  showFields();
  // What was chosen or typed while this script was still loading.
  if ([...form.querySelectorAll('[data-renders]')].some(isChanged)) void renderAgain();
}
