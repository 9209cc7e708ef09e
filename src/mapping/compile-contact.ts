import type { Mutable } from '../model/json-object.ts';
import { CONTACT_TEXT_FIELDS, type Contact, type ContactProperty } from '../model/mapped-record.ts';
import type { UnmatchedCode } from '../model/reason.ts';
import { didYouMean } from '../text/printable.ts';
import type { Crosswalk } from './lookup-table.ts';
import type { BuildRecord, RecordRows } from './record-rows.ts';
import { familyAt, mapDefined, type Scope } from './scope.ts';
import type { ContactSpec, PropertiesSpec } from './spec/mapping-spec.ts';
import { type Cell, type Expression, type Item, isList, refuse } from './values/cell.ts';
import { compileField, compileFlag, compileHeader } from './values/compile-value.ts';

/** Compiles the fields of a contact (storefront-api.md, section 4.2). Only fields that are not empty are sent. */
export function compileContact(scope: Scope, contact: ContactSpec): BuildRecord {
  const { faults } = scope;
  const field = (
    name: (typeof CONTACT_TEXT_FIELDS)[number] | 'tags' | 'subscriberLists',
    wanted: 'text' | 'text[]' | 'number[]',
  ) =>
    mapDefined(contact[name], (value) =>
      faults.field(name, compileField(scope, ['contact', name], value, wanted)),
    );
  checkMatch(scope, contact);
  const texts = CONTACT_TEXT_FIELDS.flatMap(
    (name) => mapDefined(field(name, 'text'), (read) => ({ name, read })) ?? [],
  );
  const propertiesOf = faults.field('properties', compileProperties(scope, contact.properties));
  const tagsOf = field('tags', 'text[]');
  const isSubscribed = mapDefined(contact.subscribed, (flag) =>
    faults.field('subscribed', compileFlag(scope, ['contact', 'subscribed'], flag)),
  );
  const listsOf = mapDefined(field('subscriberLists', 'number[]'), (read) =>
    faults.field('subscriberLists', (rows: RecordRows) => idsIn(read(rows, 0), rows.head?.line)),
  );
  return (rows) => {
    const { head } = rows;
    const draft: Mutable<Contact> = {};
    for (const { name, read } of texts) {
      const text = filledText(read(rows, 0));
      if (text !== undefined) draft[name] = text;
    }
    const properties = propertiesOf(rows, 0) ?? [];
    if (properties.length > 0) draft.properties = properties;
    const tags = filledList(tagsOf?.(rows, 0));
    if (tags !== undefined) draft.tags = tags.map(String);
    const subscribed = head && isSubscribed?.(head, 0);
    if (typeof subscribed === 'boolean') draft.subscribed = subscribed;
    const ids = listsOf?.(rows, 0);
    if (ids !== undefined) draft.subscriberLists = ids;
    if (Object.keys(draft).length > 0) return { body: draft };
    const skipped = { code: 'nothing-to-send', message: 'all fields are blank' };
    return { skipped: head === undefined ? skipped : { ...skipped, line: head.line } };
  };
}

/** Reports errors of `match` in mappings of jobs without a crosswalk too, which alone uses it. */
function checkMatch(scope: Scope, contact: ContactSpec) {
  for (const [name, value] of Object.entries(contact.match ?? {})) {
    const path = ['contact', 'match', name];
    compileField(scope, path, value, 'text');
    if (CONTACT_TEXT_FIELDS.some((field) => field === name && contact[field] !== undefined)) {
      scope.problems.add(
        path,
        `the contact has a field ${name}, and a crosswalk that matches ${name} takes that`,
      );
    }
  }
}

function idsIn(cell: Cell, line: number | undefined): readonly number[] | undefined {
  const ids = filledList(cell);
  if (ids === undefined || ids.every(isId)) return ids;
  return refuse('not-an-id', 'the id of a subscriber list must be a whole number', line);
}

function isId(item: Item): item is number {
  return typeof item === 'number' && Number.isSafeInteger(item) && item >= 0;
}

/** A text with more than white space; the API ignores an empty one (section 4.2). */
function filledText(cell: Cell) {
  return typeof cell === 'string' && cell.trim() !== '' ? cell : undefined;
}

/** A list without blank texts and repeats; undefined if nothing remains. */
function filledList(cell: Cell): readonly Item[] | undefined {
  if (!isList(cell)) return undefined;
  const items = new Set(cell.filter((item) => typeof item !== 'string' || item.trim() !== ''));
  return items.size === 0 ? undefined : [...items];
}

/**
 * Compiles the custom properties of a contact: named ones, pairs of columns, and the columns that nothing else uses.
 * Blank ones are left out; if two have the same name, both values are kept in order.
 */
function compileProperties(
  scope: Scope,
  spec: PropertiesSpec | undefined,
): Expression<readonly ContactProperty[], RecordRows> {
  const fields = Object.entries(spec?.fields ?? {}).map(([name, value]) => ({
    name,
    read: compileField(scope, ['contact', 'properties', 'fields', name], value, 'text'),
  }));
  const [names, values] = (['names', 'values'] as const).map((key) =>
    mapDefined(spec?.[key], (name) => familyAt(scope, ['contact', 'properties', key], name)),
  );
  if ((names === undefined) !== (values === undefined)) {
    scope.problems.add(['contact', 'properties'], 'names and values go together');
  }
  const read = (rows: RecordRows): readonly ContactProperty[] => {
    const found = new Map<string, string>();
    const add = (name: string | undefined, value: string | undefined) => {
      if (name === undefined || value === undefined) return;
      const known = found.get(name);
      found.set(name, known === undefined || known === value ? value : `${known}, ${value}`);
    };
    for (const { name, read } of fields) add(name, filledText(read(rows, 0)));
    const cells = rows.head?.cells ?? [];
    for (const [number, slot] of names?.slots ?? []) {
      add(scope.clean(cells[slot]), scope.clean(cells[values?.slots.get(number) ?? -1]));
    }
    for (const [header, slot] of scope.columns.rest) add(header, scope.clean(cells[slot]));
    return Array.from(found, ([name, value]) => ({ name, value }));
  };
  const { trace } = scope;
  const path = ['contact', 'properties'];
  return trace === undefined ? read : (rows) => trace.evaluate(path, undefined, () => read(rows));
}

const NO_MATCH: UnmatchedCode = 'crosswalk-no-match';
const SEVERAL: UnmatchedCode = 'ambiguous-match';
const NOTHING_TO_MATCH: UnmatchedCode = 'crosswalk-nothing-to-match';

/** Compiles the id of a contact: from the crosswalk if the job has one, otherwise from the mapping's `id`. */
export function compileContactId(
  scope: Scope,
  contact: ContactSpec,
  crosswalk: Crosswalk | undefined,
): Expression<Cell, RecordRows> {
  if (crosswalk === undefined) {
    if (contact.id === undefined) {
      return () => refuse('id-missing', 'the mapping has no id, and the job no crosswalk');
    }
    const id = compileField(scope, ['contact', 'id'], contact.id, 'text', 'reject');
    return (rows) => asId(id(rows, 0));
  }
  const known = CONTACT_TEXT_FIELDS.find((name) => name === crosswalk.match);
  const sent = known === undefined ? undefined : contact[known];
  const value = sent ?? new Map(Object.entries(contact.match ?? {})).get(crosswalk.match);
  if (value === undefined) {
    const names = [...CONTACT_TEXT_FIELDS, ...Object.keys(contact.match ?? {})];
    scope.problems.add(
      ['contact'],
      `the crosswalk matches ${crosswalk.match}, which this mapping does not fill${didYouMean(crosswalk.match, names)}`,
    );
    return () => undefined;
  }
  const path = ['contact', ...(sent === undefined ? ['match'] : []), crosswalk.match];
  const matched = compileField(scope, path, value, 'text');
  const headerIn = compileHeader(scope, path, value);
  const { match, file, isOfStore, keyOfNew, whyNotNew } = crosswalk;
  const absent =
    isOfStore === true
      ? `no contact of the store has this ${match}; create it there, then retry${whyNotNew === undefined ? '' : ` (${whyNotNew})`}`
      : `no contact in ${file} has this ${match}; create it in the store, or add it to the crosswalk, then retry`;
  return (rows) => {
    const found = matched(rows, 0);
    if (typeof found !== 'string' || found.trim() === '') {
      return refuse(
        NOTHING_TO_MATCH,
        `the ${match} is blank, but the crosswalk finds contacts by it; fill it in, or update this contact by hand`,
        rows.head?.line,
        headerIn(rows.head),
      );
    }
    const id = crosswalk.find(found);
    if (id === undefined) return keyOfNew?.(found) ?? refuse(NO_MATCH, absent, rows.head?.line);
    if (!Number.isNaN(id)) return String(id);
    return isOfStore === true
      ? refuse(
          SEVERAL,
          `several contacts of the store have this ${match}; leave one of them`,
          rows.head?.line,
        )
      : refuse('id-not-a-number', `the id in ${file} for this ${match} is not a whole number`);
  };
}

function asId(cell: Cell): Cell {
  if (typeof cell !== 'string') return cell;
  const digits = /^0*([0-9]{1,15})(?:\.0+)?$/.exec(cell)?.[1];
  return digits ?? refuse('id-not-a-number', "the contact's id is not a whole number");
}
