import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import {
  editFile,
  freeVariable,
  isUsedElsewhere,
  readEditable,
  setVariables,
  variableOf,
  writeWithVariables,
  type YamlEdit,
} from '../config/edit-file.ts';
import { API_KEY, baseUrlSchema, isName, type StoreConfig } from '../config/store-config.ts';
import { overriddenText, type Workspace } from '../config/workspace.ts';
import { placeholder } from '../config/yaml-text.ts';
import { mayDo } from '../model/action.ts';
import { withoutAbsent } from '../model/json-object.ts';
import { originOf } from '../model/remote-address.ts';
import { explainError, StoreferryError } from '../model/storeferry-error.ts';
import { STORE_VARIABLES, storesText } from '../onboarding/new-workspace.ts';
import { bullets, code, enumerated, html, styledText } from '../report/html/markup.ts';
import { probeFacts, probeStoreProperties, readProbe, testStore } from '../run/kept-probe.ts';
import { coveredWords, type IdRange, MAX_SCANNED_IDS, scanContacts } from '../run/scan-contacts.ts';
import { counted, listed } from '../text/printable.ts';
import type { Viewer } from './access/sessions.ts';
import {
  aboutField,
  besideFields,
  choice,
  controlOf,
  type EditField,
  type EditValues,
  fieldEdits,
  fieldErrors,
  fieldValue,
  mapValues,
  typedField,
} from './edit-job/edit-field.ts';
import { notFoundError } from './guard/page-error.ts';
import { buttonRow, jobLink, linkButton } from './pages/link-button.ts';
import {
  alertText,
  emptyBox,
  fact,
  foldedPart,
  type Notice,
  noticeText,
  type Page,
  type Reading,
  relativeTime,
} from './pages/page.ts';
import {
  CURRENCY_CHECK,
  checkAttributes,
  field,
  fieldset,
  formActions,
  input,
  moreFields,
  NAME_CHECK,
  namedChoices,
  postForm,
  submitButton,
  WEB_CHECK,
} from './pages/post-form.ts';
import { audit, FOR_EDITORS, type RouteParts } from './route-parts.ts';

const FILE = 'stores.yaml';
const PATH = '/stores';

type StorePage = 'edit' | 'test' | 'probe' | 'contacts';

function storeHref(store: string, page: StorePage) {
  return `${PATH}/${encodeURIComponent(store)}/${page}`;
}

/** What is done with a store in the background: it may take minutes. */
interface StoreTask {
  readonly what: string;
  readonly startedAt: number;
  progress: string;
  /** What became of it; undefined while it works. */
  end: Notice | undefined;
}

/** The stores: added, changed, tested, probed, and searched for the ids of their contacts. */
export function storeRoutes(app: FastifyInstance, { dashboard }: RouteParts): void {
  const { context, readWorkspace, redact } = dashboard;
  const tasks = new Map<string, StoreTask>();

  const storesPage = async (
    { viewer, reading }: FastifyRequest,
    notice: Notice | null = null,
  ): Promise<Page> => {
    const workspace = readWorkspace();
    const names = namesIn(workspace);
    const cards = names.map(async (name) => html`<li>${await cardOf(workspace, name, viewer, reading)}</li>`);
    return {
      title: 'Stores',
      section: 'stores',
      body: html`${notice !== null && html`<p class="notice ${notice.tone}" role="status">${notice.text}</p>`}
${names.length === 0 ? emptyBox('No store yet', 'Jobs write to a store and read from it. It is named once, with its address and its key.') : html`<ul class="cards">${await Promise.all(cards)}</ul>`}
${mayDo(viewer.role, 'edit-store') && buttonRow(linkButton(`${PATH}/new`, { label: 'Add a store', weight: 'primary' }))}`,
    };
  };
  const cardOf = async (workspace: Workspace, name: string, viewer: Viewer, reading: Reading) => {
    const found = workspace.inspection.store(name);
    const store = found?.value;
    const probe = store && (await readProbe(context.artifacts, store).catch(() => undefined));
    const learned = probe && probeFacts(probe);
    const jobs = workspace.jobNames().filter((job) => workspace.inspectJob(job).job?.store === name);
    const problems = [
      ...(found?.problems ?? []).map(({ message }) => redact(message)),
      ...(found?.unset ?? []).map(
        (one) => `${one.name} is not set: choose Change, and give the address and the key`,
      ),
    ];
    const task = tasks.get(name);
    const button = (page: StorePage, label: string) => linkButton(storeHref(name, page), { label }, name);
    const test = { style: 'inline', body: submitButton('Test', { weight: '', about: name }) } as const;
    return html`<article class="card"><h2>${name}</h2>
${problems.length > 0 && noticeText(`This store cannot be used: ${listed(problems)}.`, 'bad')}
${task !== undefined && taskNotice(task, reading)}
<dl class="facts">${fact('Address', store === undefined ? 'not known' : code(store.baseUrl))}
${fact('Key', problems.length === 0 ? 'set; it is not shown' : 'see above')}
${fact('Sells in', store?.currency ?? 'no currency said')}
${fact('Weights', store?.weightUnit ?? '')}
${fact('Jobs', jobs.length === 0 ? 'none' : enumerated(jobs.map(jobLink)))}</dl>
${
  learned === undefined
    ? styledText('quiet', 'It is not known yet what this store does beyond its API document.')
    : html`${learned.warnings.map((text) => noticeText(text, 'warning'))}${foldedPart(
        html`What this store does, found out ${relativeTime(probe?.at ?? 0, reading)}`,
        html`<dl class="settings">${learned.properties.map((one) => fact(code(one.name), `${one.words}: ${one.value}`))}</dl>`,
      )}`
}
${mayDo(viewer.role, 'edit-store') && html`<div class="actions">${button('edit', 'Change')} ${postForm({ action: storeHref(name, 'test'), ...test }, viewer)} ${button('probe', 'Find out what it does')} ${button('contacts', 'Find the ids of contacts')}</div>`}
</article>`;
  };
  const storeOf = (name: string) => {
    const workspace = readWorkspace();
    refuseUnknown(workspace, name);
    return workspace.store(name);
  };
  const begin = (name: string, what: string, work: (task: StoreTask) => Promise<string>) => {
    const current = tasks.get(name);
    if (current !== undefined && current.end === undefined) return;
    const task: StoreTask = { what, startedAt: context.clock(), progress: '', end: undefined };
    tasks.set(name, task);
    const failed = (error: unknown): Notice => {
      dashboard.log.error({ store: name, err: error }, what);
      const text = error instanceof StoreferryError ? explainError(error) : 'It failed; the log says why.';
      return { tone: 'bad', text: redact(text) };
    };
    void work(task)
      .then((text): Notice => ({ tone: 'good', text }), failed)
      .then((end) => {
        task.end = end;
      });
  };

  app.get(PATH, async (request, reply) => reply.sendPage(await storesPage(request)));

  app.post(`${PATH}/:store/test`, async (request, reply) => {
    const { message, hint, verdict } = await testStore(context, storeOf(request.subject));
    const tone = verdict === 'ok' ? 'good' : verdict === 'error' ? 'bad' : 'warning';
    const text = redact(`${message}. ${hint ?? ''}`.trim());
    return reply.sendPage(await storesPage(request, { tone, text }));
  });

  app.get(`${PATH}/:store/probe`, FOR_EDITORS, (request, reply) =>
    reply.sendPage(probePage(storeOf(request.subject), request.viewer)),
  );
  app.post(`${PATH}/:store/probe`, async (request, reply) => {
    const store = storeOf(request.subject);
    await audit(dashboard, request, { action: 'probe' });
    begin(store.name, 'Finding out what the store does', async () => {
      const { requests } = await probeStoreProperties(context, { store, contactId: null });
      return `Found out what ${store.name} does, by ${counted(requests, 'request')}.`;
    });
    return reply.redirect(PATH, 303);
  });

  app.get(`${PATH}/:store/contacts`, FOR_EDITORS, (request, reply) =>
    reply.sendPage(scanPage(storeOf(request.subject), '', undefined, request.viewer)),
  );
  app.post(`${PATH}/:store/contacts`, async (request, reply) => {
    const store = storeOf(request.subject);
    const typed = (request.fields['ids'] ?? '').trim();
    const range = rangeOf(typed);
    if (range === undefined)
      return reply.sendPage(
        scanPage(store, typed, 'Give one range such as 1000-1400, or leave it empty.', request.viewer),
        422,
      );
    await audit(dashboard, request, { action: 'scan-contacts' });
    begin(store.name, 'Searching the ids of contacts', async (task) => {
      const { requests, found, file, covered } = await scanContacts(context, {
        store,
        ranges: range,
        onProgress(asked, hits) {
          task.progress = `${counted(asked, 'id')} asked, ${counted(hits, 'contact')} found`;
        },
      });
      const ids = coveredWords(covered);
      const kept = ids === undefined ? '' : ` Asked for so far: ids ${ids}.`;
      return `${counted(found, 'contact')} found by ${counted(requests, 'request')}, written to ${file}.${kept} Jobs that find contacts by their e-mail addresses use it.`;
    });
    return reply.redirect(PATH, 303);
  });

  const formOf = ({ subject }: Pick<FastifyRequest, 'subject'>): StoreForm => {
    const name = subject || undefined;
    const workspace = readWorkspace();
    if (name !== undefined) refuseUnknown(workspace, name);
    const file = existsSync(workspace.path(FILE)) ? readEditable(workspace, FILE) : undefined;
    const fields = storeFields(name ?? '');
    const firstValue = (one: EditField) =>
      file === undefined || name === undefined
        ? (one.choices && one.defaultValue) || ''
        : fieldValue(file, one);
    const store = name === undefined ? undefined : workspace.inspection.store(name)?.value;
    const shown = {
      name: name ?? '',
      address: store?.baseUrl ?? '',
      ...Object.fromEntries(fields.map((one) => [one.name, firstValue(one)])),
    };
    return {
      name,
      file,
      workspace,
      store,
      fields,
      shown,
      values: shown,
      errors: new Map(),
      mayBeUntested: false,
    };
  };

  /** The form again, where something is wrong; undefined where the store was saved. */
  const save = async (request: FastifyRequest, form: StoreForm): Promise<StoreForm | undefined> => {
    const { file, fields, workspace } = form;
    const sent = request.fields;
    const key = (sent['apiKey'] ?? '').trim();
    const values = mapValues(form.shown, (value, name) => (sent[name] ?? value).trim());
    // A typed key is not sent back, also not in the words of a store.
    const hide = (text: string) => redact(key === '' ? text : text.replaceAll(key, '***'));
    const again = (errors: EditValues, mayBeUntested = false): StoreForm => ({
      ...form,
      values,
      mayBeUntested,
      errors: fieldErrors(mapValues(errors, hide)),
    });
    if (sent['version'] !== versionOf(form)) return again({ '': OUTDATED });
    const wanted = wantedStore(form, values, key);
    if ('errors' in wanted) return again(wanted.errors);
    const { store, variables, edits } = wanted;
    const [overridden] = dashboard.newStore.known().overridden(variables);
    if (overridden !== undefined) return again({ '': overriddenText(overridden) });
    if (sent['do'] !== 'untested' && Object.keys(variables).length + edits.length > 0) {
      const { answer, verdict, message, hint = '' } = await testStore(context, store);
      const isDown = answer === 'unreachable' || answer === 'failing';
      if (verdict === 'error')
        return again({ [answer === 'wrong-key' ? 'apiKey' : 'address']: `${message}. ${hint}` }, isDown);
      // The store may have been asked for long.
      const now = formOf(request);
      if (versionOf(now) !== versionOf(form))
        return { ...again({ '': OUTDATED }), file: now.file, store: now.store };
    }
    const paths = new Map(fields.map((one) => [one.name, [one.path]]));
    const check = (inspection: Workspace['inspection']) => inspection.store(store.name)?.problems ?? [];
    if (file === undefined) {
      const text = storesText(wanted.weightUnit, wanted.currency, store.name);
      const path = workspace.path(FILE);
      writeWithVariables(workspace.dir, { path, content: { text }, existing: 'refuse' }, variables);
    } else {
      const { sha256 } = file;
      const change = {
        sha256,
        edits,
        fields: fields.map(({ path }) => path),
        check,
        variables,
        isNew: form.name === undefined,
      };
      const saved = edits.length === 0 ? null : editFile(workspace, FILE, change);
      if (saved?.kind === 'outdated') return again({ '': OUTDATED });
      if (saved?.kind === 'refused')
        return { ...again({}), errors: besideFields(saved.problems, paths, hide) };
      if (saved === null) setVariables(workspace.dir, variables);
    }
    await audit(dashboard, request, { action: 'edit-store' });
    return undefined;
  };

  for (const path of [`${PATH}/new`, `${PATH}/:store/edit`] as const) {
    app.get(path, FOR_EDITORS, (request, reply) =>
      reply.sendPage(storeFormPage(formOf(request), request.viewer)),
    );
    app.post(path, async (request, reply) => {
      const refused = await save(request, formOf(request));
      if (refused !== undefined) return reply.sendPage(storeFormPage(refused, request.viewer), 422);
      return reply.redirect(PATH, 303);
    });
  }
}

/** What a form was made from: the address may be in `.env`. */
function versionOf({ file, store }: StoreForm) {
  return file === undefined ? '' : hash('sha256', `${file.sha256} ${store?.baseUrl}`);
}

const OUTDATED = `The store or ${FILE} was changed after this form was shown. Nothing was written: look at the values, and save again.`;

/** The names of the stores, also in a file with errors. */
function namesIn({ inspection }: Workspace): readonly string[] {
  return inspection.stores().names ?? [];
}

function refuseUnknown(workspace: Workspace, name: string) {
  if (!namesIn(workspace).includes(name)) throw notFoundError(`There is no store ${name}.`);
}

/** The form of a store, and what it was made from. */
interface StoreForm {
  /** Undefined for a new store. */
  readonly name: string | undefined;
  /** Undefined where there is no store yet. */
  readonly file: ReturnType<typeof readEditable> | undefined;
  readonly workspace: Workspace;
  readonly store: StoreConfig | undefined;
  readonly fields: readonly EditField[];
  readonly shown: EditValues;
  readonly values: EditValues;
  readonly errors: ReadonlyMap<string, readonly string[]>;
  /** The store could not be reached: what was typed can be saved without a test. */
  readonly mayBeUntested: boolean;
}

const KEY_MISSING = 'Give the key of the store.';
const KEY_WRONG = 'The key has a space or another character that no key has.';
const WEIGHT_UNITS = ['kg', 'g', 'lb', 'oz'] as const;

function storeFields(store: string): readonly EditField[] {
  const limit = (name: string, label: string, defaultValue: string) =>
    typedField([store, 'limits', name], label, '', {
      name,
      defaultValue,
      pattern: '[0-9]+([.][0-9]+)?',
      wrong: 'Give a number.',
    });
  const currencyHint = 'A code such as EUR: prices in another currency are rejected.';
  return [
    choice([store, 'weightUnit'], 'The store shows weights in', namedChoices(WEIGHT_UNITS), {
      name: 'weightUnit',
    }),
    typedField([store, 'currency'], 'Currency of the store', currencyHint, {
      name: 'currency',
      defaultValue: 'not said',
      ...CURRENCY_CHECK,
    }),
    limit('concurrency', 'Most requests at once', '16'),
    limit('requestsPerSecond', 'Most requests per second', 'no limit'),
    limit('timeoutSeconds', 'Seconds until a request is given up', '40'),
  ];
}

type WantedStore =
  | { readonly errors: EditValues }
  | {
      readonly store: Pick<StoreConfig, 'name' | 'baseUrl' | 'apiKey'>;
      /** For `.env`: the key, and the address where the file takes it from there. */
      readonly variables: Readonly<Record<string, string>>;
      readonly edits: readonly YamlEdit[];
      readonly weightUnit: StoreConfig['weightUnit'];
      readonly currency: string | undefined;
    };

/** What a form asks for. A key is sent to no other server than the one that it was typed for. */
function wantedStore(form: StoreForm, values: EditValues, key: string): WantedStore {
  const { file, fields, shown, store: before, workspace } = form;
  const name = form.name ?? values['name'] ?? '';
  const address = baseUrlSchema.safeParse(values['address'] ?? '');
  const currency = values['currency'] ?? '';
  const weightUnit = WEIGHT_UNITS.find((unit) => unit === values['weightUnit']);
  const isNew = form.name === undefined;
  const isOther =
    !address.success || before === undefined || originOf(before.baseUrl) !== originOf(address.data);
  const at = (part: string) => (isNew ? undefined : variableOf(file?.at([name, part])));
  const [keyName, addressName] = [at('apiKey'), at('baseUrl')];
  const isShared = (variable: string | undefined, part: string) =>
    variable !== undefined && isUsedElsewhere(workspace, FILE, variable, [name, part]);
  const errors = Object.fromEntries(
    withoutAbsent<readonly [field: string, why: string]>([
      isNew && !isName(name) && ['name', 'Give letters, digits, dots, - and _, such as main.'],
      isNew && namesIn(workspace).includes(name) && ['name', 'There is already a store with this name.'],
      !address.success && ['address', address.error.issues[0]?.message ?? ''],
      isOther &&
        key === '' && [
          'apiKey',
          before === undefined
            ? KEY_MISSING
            : 'Give the key of this server: the one that is known was typed for another.',
        ],
      key !== '' && !API_KEY.test(key) && ['apiKey', KEY_WRONG],
      !isNew &&
        key !== '' &&
        keyName === undefined && [
          'apiKey',
          `The file names its key in a way that is not changed here: edit ${FILE}.`,
        ],
      weightUnit === undefined && ['weightUnit', 'Choose a unit.'],
      currency !== '' && !/^[A-Za-z]{3}$/.test(currency) && ['currency', CURRENCY_CHECK.wrong],
    ]),
  );
  if (Object.keys(errors).length > 0 || !address.success || weightUnit === undefined) return { errors };
  const baseUrl = address.data;
  const store = { name, baseUrl, apiKey: key === '' ? (before?.apiKey ?? '') : key };
  const more = { weightUnit, currency: currency === '' ? undefined : currency.toUpperCase() };
  if (isNew) {
    const isFirst = file === undefined;
    const variable = isFirst ? STORE_VARIABLES.apiKey : keyVariable(workspace, name);
    const variables = { [variable]: key, ...(isFirst && { [STORE_VARIABLES.url]: baseUrl }) };
    const given = storeFields(name).filter((one) => (values[one.name] ?? '') !== '');
    const edits = [
      { set: [name], value: { baseUrl } },
      { set: [name, 'apiKey'], template: placeholder(variable) },
      ...fieldEdits({ at: () => undefined }, given, {}, values),
    ];
    return { store, variables, edits, ...more };
  }
  const isMoved = baseUrl !== before?.baseUrl;
  const ownAddress = isShared(addressName, 'baseUrl') ? undefined : addressName;
  // Whoever is killed between the two files must not have left the key of the new address for the old one.
  const isNewKey = isShared(keyName, 'apiKey') || (isMoved && ownAddress === undefined);
  const variable = isNewKey ? keyVariable(workspace, name) : keyName;
  return {
    store,
    ...more,
    variables: {
      ...(key !== '' && variable !== undefined && { [variable]: key }),
      ...(isMoved && ownAddress !== undefined && { [ownAddress]: baseUrl }),
    },
    edits: withoutAbsent([
      isMoved && ownAddress === undefined && { set: [name, 'baseUrl'], value: baseUrl },
      key !== '' &&
        variable !== undefined &&
        variable !== keyName && { set: [name, 'apiKey'], template: placeholder(variable) },
      ...fieldEdits(file ?? { at: () => undefined }, fields, shown, values),
    ]),
  };
}

/** A variable for the key of a new store that has no value yet. */
function keyVariable({ hasVariable }: Workspace, store: string) {
  const base = `STORE_${store.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')}_API_KEY`;
  return freeVariable(base, (name) => !hasVariable(name));
}

function taskNotice({ what, startedAt, progress, end }: StoreTask, reading: Reading) {
  if (end !== undefined) return noticeText(end.text, end.tone);
  return html`<p class="notice">${what}, since ${relativeTime(startedAt, reading)}${progress !== '' && `: ${progress}`}. <a href="${PATH}">Load again</a></p>`;
}

function storeFormPage(form: StoreForm, viewer: Viewer): Page {
  const { name, fields, errors, mayBeUntested } = form;
  const isNew = name === undefined;
  const control = (one: Parameters<typeof controlOf>[0]) => controlOf(one, form);
  const hint = 'Kept on the machine of this dashboard, readable for its owner only, and never shown again.';
  const { text: about, attributes } = aboutField({ name: 'apiKey', hint }, form);
  const key = input('apiKey', {
    type: 'password',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: !isNew && 'unchanged',
    ...checkAttributes({
      pattern: String.raw`\s*${API_KEY.source.slice(1, -1)}\s*`,
      wrong: KEY_WRONG,
      ...(isNew && { missing: KEY_MISSING }),
    }),
    ...attributes,
  });
  const moved = isNew
    ? 'Of the site itself, such as https://shop.example.'
    : 'With another address it is another store: what was sent before is not compared, and the next run of each job sends everything again.';
  const [first, second, ...limits] = fields;
  const body = html`${isNew && control({ name: 'name', label: 'Name in this workspace', hint: 'Such as main, or outlet.', ...NAME_CHECK })}
${control({ name: 'address', label: 'Address', hint: moved, ...WEB_CHECK, required: true, missing: 'Give the address of the store.' })}
${field('apiKey', isNew ? 'API key' : 'New API key', key, about)}
${[first, second].map((one) => one !== undefined && control(one))}
${moreFields(
  'Limits of requests',
  limits.map(control),
  limits.some((one) => errors.has(one.name)),
)}
${styledText('hint', 'The store is asked once, by a request that reads, before anything is saved.')}
${buttonRow(submitButton('Test and save'), mayBeUntested && submitButton('Save without a test', { name: 'do', value: 'untested', weight: '' }), linkButton(PATH, { label: 'Cancel' }))}`;
  return {
    title: isNew ? 'Add a store' : `Change the store ${name}`,
    section: 'stores',
    form: true,
    notice: errors.size > 0 ? { tone: 'bad', text: 'Nothing was saved: see below.' } : null,
    body: html`${(errors.get('') ?? []).map((text) => alertText(text))}
${postForm({ action: isNew ? `${PATH}/new` : storeHref(name, 'edit'), style: 'draft', fields: { version: versionOf(form) }, body: fieldset('Store', body) }, viewer)}`,
  };
}

const PROBE_EFFECTS = [
  'Sends at most 40 requests: reads first, then writes to one hidden product of its own, which is deleted again.',
  'Takes some seconds. The result is on the page of the stores.',
];
const SCAN_EFFECT =
  'A store that lists its contacts is read. Any other is asked for each id by an update that changes nothing; it may still do what it does after any update of a contact, such as start an automation: try one id first.';

function probePage({ name, baseUrl }: StoreConfig, viewer: Viewer): Page {
  const body = formActions('Find out now', PATH);
  return {
    title: `Find out what ${name} does?`,
    section: 'stores',
    lead: html`Learns what the store <b>${name}</b> (${baseUrl}) does where its API document leaves it open: whether it lists products, keeps fields that an update does not have, and more. Comparing and adopting need it.`,
    body: html`${bullets(PROBE_EFFECTS, 'does')}
${postForm({ action: storeHref(name, 'probe'), style: 'confirm', body }, viewer)}`,
  };
}

function scanPage({ name }: StoreConfig, typed: string, problem: string | undefined, viewer: Viewer): Page {
  const hint = 'Empty: around the ids that orders name, until 200 in a row are absent.';
  const errors = fieldErrors(problem === undefined ? {} : { ids: problem });
  const ids = controlOf({ name: 'ids', label: 'Ids', hint }, { shown: {}, values: { ids: typed }, errors });
  return {
    title: `Find the ids of the contacts of ${name}?`,
    section: 'stores',
    lead: 'Contacts are updated by their ids. This finds them by e-mail address.',
    body: html`${bullets([SCAN_EFFECT, html`Writes <code>contacts-of-${name}.csv</code>, which has e-mail addresses: treat it as the contacts themselves.`], 'does')}
${postForm({ action: storeHref(name, 'contacts'), style: 'confirm', body: html`${ids}${formActions('Search now', PATH)}` }, viewer)}`,
  };
}

/** One range of ids; null for none, undefined for what is no range. */
function rangeOf(typed: string): readonly IdRange[] | null | undefined {
  if (typed === '') return null;
  const [, first, last = first] = /^(\d{1,15})\s*(?:-\s*(\d{1,15}))?$/.exec(typed) ?? [];
  const range = { from: Number(first), to: Number(last) };
  const isRange = range.from >= 1 && range.to >= range.from && range.to - range.from < MAX_SCANNED_IDS;
  return isRange ? [range] : undefined;
}
