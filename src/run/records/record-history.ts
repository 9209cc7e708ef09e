import type { StoreConfig } from '../../config/store-config.ts';
import { headerPlaces } from '../../mapping/compile-mapping.ts';
import { type MappingSpec, matchOfMapping, matchValue } from '../../mapping/spec/mapping-spec.ts';
import { isJsonObject, type JsonObject, member, memberNames } from '../../model/json-object.ts';
import { RESOURCES } from '../../model/mapped-record.ts';
import { isSameEmail } from '../../model/operation.ts';
import { storeIdentity } from '../../model/remote-address.ts';
import { type RowSpan, rowPlace } from '../../model/row.ts';
import type { SourceLook } from '../../onboarding/preview-source.ts';
import { fieldChanges, type VariantPairs, variantName } from '../../plan/plan-file.ts';
import {
  type History,
  type HistoryRun,
  IN_DOUBT,
  type LedgerTarget,
  type Version,
  type VersionKind,
} from '../../state/state.ts';
import { counted, grouped } from '../../text/printable.ts';
import type { RunContext } from '../run-context.ts';
import { heldValues, isConflict } from './plan-release.ts';

/** A record that the ledger or the history knows. */
export interface FoundRecord {
  /** The name of its store. */
  readonly store: string;
  readonly target: LedgerTarget;
  readonly key: string;
  /** The title of a product, the name or address of a contact; null where its body is gone. */
  readonly title: string | null;
  /** Of a contact; null as above. */
  readonly email: string | null;
  /** The id that the store last answered. */
  readonly id: number | null;
}

/**
 * The records that match a text, at most `limit`: those with exactly this key, else with this id or SKU, else contacts with exactly
 * this address, else those whose url, title, name or e-mail address contains it, in upper or lower case.
 */
export async function findRecords(
  context: RunContext,
  stores: readonly StoreConfig[],
  text: string,
  limit: number,
): Promise<readonly FoundRecord[]> {
  const wanted = text.trim();
  if (wanted === '') return [];
  const places = ledgersOf(stores);
  for (const find of [withKey, withHandle, withAddress, containing]) {
    const found: FoundRecord[] = [];
    for (const place of places) found.push(...(await find(context, place, wanted, limit - found.length)));
    if (found.length > 0) return found;
  }
  return [];
}

/** A resource of a store. */
type Place = Pick<FoundRecord, 'store' | 'target'>;

/** Each ledger of the stores once, whatever names its store has. */
export function ledgersOf(stores: readonly StoreConfig[]): Place[] {
  const byIdentity = new Map(stores.toReversed().map((store) => [storeIdentity(store), store.name]));
  return [...byIdentity].flatMap(([storeId, store]) =>
    RESOURCES.map((resource) => ({ store, target: { storeId, resource } })),
  );
}

async function withKey({ state }: RunContext, place: Place, text: string): Promise<FoundRecord[]> {
  const [mark] = await state.ledger(place.target).marks([text]);
  if (mark !== undefined) return await described(state, place, [text]);
  const [versions = []] = await state.history(place.target).versions([text]);
  const [newest] = versions;
  if (newest === undefined) return [];
  return [{ ...place, key: text, ...namesIn(newest.before ?? undefined), id: newest.id }];
}

async function withHandle(
  { state }: RunContext,
  place: Place,
  text: string,
  limit: number,
): Promise<FoundRecord[]> {
  if (place.target.resource !== 'products') return [];
  const ledger = state.ledger(place.target);
  const found = await Promise.all([ledger.keysBy('id', [text]), ledger.keysBy('sku', [text])]);
  return await described(state, place, [...new Set(found.flat(2))].slice(0, limit));
}

async function containing(
  { state }: RunContext,
  place: Place,
  text: string,
  limit: number,
): Promise<FoundRecord[]> {
  if (place.target.resource === 'products')
    return await described(state, place, await state.ledger(place.target).keysNamed(text, limit));
  const part = text.toLowerCase();
  return await contactsWith(state, place, limit, (key, body) => {
    // Most bodies do not contain the text: those are not parsed.
    const mayHave = key.toLowerCase().includes(part) || body.toLowerCase().includes(escaped(part));
    return mayHave && [key, ...textsOf(body)].some((name) => name.toLowerCase().includes(part));
  });
}

async function withAddress({ state }: RunContext, place: Place, text: string, limit: number) {
  if (place.target.resource === 'products' || !text.includes('@')) return [];
  return await contactsWith(state, place, limit, (_, body) => isSameEmail(emailIn(body), text));
}

async function contactsWith(
  state: RunContext['state'],
  place: Place,
  limit: number,
  matches: (key: string, body: string) => boolean,
) {
  const keys: string[] = [];
  for await (const page of state.ledger(place.target).allBodies()) {
    for (const { key, body } of page) {
      if (keys.length >= limit) break;
      if (matches(key, body)) keys.push(key);
    }
    if (keys.length >= limit) break;
  }
  return await described(state, place, keys);
}

/** A text as JSON contains it. */
function escaped(text: string) {
  return JSON.stringify(text).slice(1, -1);
}

async function described(
  state: RunContext['state'],
  place: Place,
  keys: readonly string[],
): Promise<FoundRecord[]> {
  if (keys.length === 0) return [];
  const ledger = state.ledger(place.target);
  const [marks, bodies] = await Promise.all([ledger.marks(keys), ledger.bodies(keys)]);
  return keys.map((key, index) => ({
    ...place,
    key,
    ...namesIn(bodies[index]),
    id: marks[index]?.id ?? null,
  }));
}

/** The title, name or address in a body; null if it has none. */
export function titleIn(body: string | undefined): string | null {
  return (body === undefined ? undefined : textsOf(body)[0]) ?? null;
}

function namesIn(body: string | undefined): Pick<FoundRecord, 'title' | 'email'> {
  return { title: titleIn(body), email: body === undefined ? null : emailIn(body) };
}

function emailIn(body: string) {
  return textsOf(body, ['email'])[0] ?? null;
}

/** The title, name or address of a record. */
function textsOf(body: string, names = ['title', 'name', 'email']) {
  const parsed: unknown = JSON.parse(body);
  if (!isJsonObject(parsed)) return [];
  return names.flatMap((name) => {
    const value = member(parsed, name);
    return typeof value === 'string' && value !== '' ? [value] : [];
  });
}

/** A field that a version changed; null where a body has no such field. */
export interface RecordChange {
  /** With its path: `title`, `variants.price`. */
  readonly field: string;
  /** Of a product with several variants, the one that changed. */
  readonly variant: string | null;
  readonly old: unknown;
  readonly new: unknown;
}

/** A version of a record, for people and programs. */
export interface RecordVersion {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly run: string;
  readonly job: string;
  readonly kind: VersionKind;
  readonly id: number | null;
  /** The file and the line (row, number of the record) that it came from; null where no row did, as for a delete. */
  readonly file: string | null;
  readonly line: number | null;
  /** File and place as people write them: `catalog.csv:4`, `prices.xlsx Prices row 8`. */
  readonly place: string | null;
  /** Whether the ledger knew no body before it. */
  readonly created: boolean;
  /** Of a product that got a new url the other key: the one before, or after a delete the new one. */
  readonly renamed?: string;
  /** Null where the bodies cannot be read. Empty where the same body was acknowledged again. */
  readonly changes: readonly RecordChange[] | null;
  /** The acknowledged body; null after a delete, undefined where it cannot be read. */
  readonly body: string | null | undefined;
}

/** The versions of a record, newest first; with a field only those that changed it, and only their changes of it. */
export async function recordHistory(
  { state }: RunContext,
  target: LedgerTarget,
  key: string,
  field?: string,
): Promise<readonly RecordVersion[]> {
  const all = (await versionsAcrossKeys(state.history(target), key)).map(recordVersion);
  if (field === undefined) return all;
  return all.flatMap((version) => {
    const changes = version.changes?.filter((change) => isWithin(change.field, field)) ?? null;
    return changes?.length === 0 ? [] : [{ ...version, changes }];
  });
}

/** A product may be renamed back and forth. */
const MAX_KEYS = 50;

/** The versions of a record, newest first, and before them those of the keys that it had. */
async function versionsAcrossKeys(history: History, newest: string): Promise<readonly Version[]> {
  const all: Version[] = [];
  let key = newest;
  let [versions = []] = await history.versions([key]);
  for (let keys = 1; keys < MAX_KEYS; keys++) {
    const begins = versions.findIndex(
      ({ kind, renamed }) => kind === 'acknowledged' && renamed !== undefined,
    );
    const begun = versions[begins];
    if (begun?.renamed === undefined) break;
    const [ofOld = []] = await history.versions([begun.renamed]);
    // The old key is deleted after the new one is acknowledged, and may have been sent again since.
    const end = ofOld.findLastIndex(({ at, renamed }) => renamed === key && at >= begun.at);
    const earlier = end === -1 ? ofOld.filter(({ at }) => at <= begun.at) : ofOld.slice(end + 1);
    const before = end === -1 ? earlier[0]?.body : ofOld[end]?.before;
    all.push(...versions.slice(0, begins), { ...begun, before: before ?? begun.before });
    key = begun.renamed;
    versions = earlier;
  }
  return [...all, ...versions];
}

function isWithin(field: string, asked: string) {
  return field === asked || field.startsWith(`${asked}.`);
}

function recordVersion(version: Version): RecordVersion {
  return { ...versionFacts(version), changes: changesOf(version.before, version.body) };
}

/** A version as it is shown to people, without its changes. */
export function versionFacts(version: Version): Omit<RecordVersion, 'changes'> {
  const { at, run, kind, id, spans, body, before, renamed } = version;
  const [first] = spans;
  return {
    at,
    run: run.id,
    job: run.job,
    kind,
    id,
    body,
    file: first === undefined ? null : (run.files[first.file]?.name ?? null),
    line: first?.from ?? null,
    place: placeOf(spans, run.files),
    created: before === null && kind === 'acknowledged' && renamed === undefined,
    ...(renamed !== undefined && { renamed }),
  };
}

/** Where rows are, as people name them: the first of them, and where it ends. */
export function placeOf(spans: readonly RowSpan[], files: HistoryRun['files']): string | null {
  const [first] = spans;
  if (first === undefined) return null;
  const { name = `file ${first.file + 1}`, places } = files[first.file] ?? {};
  if (places !== undefined && places.format !== 'jsonl')
    return `${name} ${rowPlace(first.from, null, places)}`;
  return `${name}:${first.from}${first.to === first.from ? '' : `-${first.to}`}`;
}

/** The differences between two bodies of a record, variants one by one; every field if one body is missing. */
export function changesOf(
  before: string | null | undefined,
  after: string | null | undefined,
): readonly RecordChange[] | null {
  if (before === undefined || after === undefined) return null;
  if (before === null || after === null) {
    const made = fieldsOf(after).map(({ field, variant, value }) => changeOf(field, variant, null, value));
    return [
      ...made,
      ...fieldsOf(before).map(({ field, variant, value }) => changeOf(field, variant, value, null)),
    ];
  }
  let paired: VariantPairs | undefined;
  const changes = fieldChanges(before, after, (variants) => {
    paired = variants;
  });
  const ofVariants = paired === undefined || paired.isOnly ? [] : paired.pairs.flatMap(variantChanges);
  const inVariants = new Set(ofVariants.map(({ field }) => field));
  return [
    ...changes.flatMap(({ field, old, new: now }) =>
      inVariants.has(field) ? [] : [changeOf(field, null, old, now)],
    ),
    ...ofVariants,
  ];
}

function variantChanges([before, after]: readonly [JsonObject, JsonObject]): RecordChange[] {
  const name = variantName(after) ?? variantName(before);
  return [...memberNames(after, before)].flatMap((field) => {
    const [old, now] = [member(before, field), member(after, field)];
    return JSON.stringify(old) === JSON.stringify(now) ? [] : [changeOf(`variants.${field}`, name, old, now)];
  });
}

function changeOf(field: string, variant: string | null, old: unknown, now: unknown): RecordChange {
  return { field, variant, old: old ?? null, new: now ?? null };
}

/** Every field of a body, variants one by one. */
function fieldsOf(body: string | null): Omit<RecordField, 'setBy'>[] {
  if (body === null) return [];
  const parsed: unknown = JSON.parse(body);
  if (!isJsonObject(parsed)) return [];
  return Object.entries(parsed).flatMap(([field, value]) => {
    if (field !== 'variants' || !Array.isArray(value)) return [{ field, variant: null, value }];
    return value.filter(isJsonObject).flatMap((variant) => {
      const name = value.length === 1 ? null : variantName(variant);
      return Object.keys(variant).map((part) => ({
        field: `variants.${part}`,
        variant: name,
        value: member(variant, part),
      }));
    });
  });
}

/** A field of an acknowledged body, and the version that last changed it. */
export interface RecordField {
  readonly field: string;
  readonly variant: string | null;
  readonly value: unknown;
  /** Null if the history begins later. */
  readonly setBy: Pick<RecordVersion, 'at' | 'run' | 'job' | 'place'> | null;
}

/** The facts of the ledger and the history about a record. */
export interface RecordState {
  /** `in-doubt`: a later request may have arrived; the body is the one acknowledged before it. */
  readonly state: 'acknowledged' | 'in-doubt' | 'unknown';
  readonly id: number | null;
  /** The job that the record belongs to; null where the ledger does not have it. */
  readonly job: string | null;
  readonly body: string | null;
  readonly fields: readonly RecordField[];
  /** Values that guards of jobs hold, with the runs that can be released. */
  readonly held: readonly (Pick<RecordVersion, 'run' | 'job'> & {
    readonly changes: readonly RecordChange[];
    /** Fields of it were changed in the store as well, other than the url. */
    readonly edited: boolean;
    /** The store has it under another url. */
    readonly moved: boolean;
  })[];
  /** Fields that somebody edited in the store. */
  readonly edited: readonly {
    readonly field: string;
    readonly value: unknown;
    /** When it was first seen, ISO 8601. */
    readonly since: string;
  }[];
  readonly versions: readonly RecordVersion[];
}

/** The current facts about a record. */
export async function recordState(
  context: RunContext,
  target: LedgerTarget,
  key: string,
): Promise<RecordState> {
  const ledger = context.state.ledger(target);
  const [versions, [mark], [body = null], [view]] = await Promise.all([
    recordHistory(context, target, key),
    ledger.marks([key]),
    ledger.bodies([key]),
    ledger.views([key]),
  ]);
  const known = mark === undefined ? 'unknown' : 'acknowledged';
  const held = await heldValues(context, target, key);
  return {
    state: mark?.fingerprint === IN_DOUBT ? 'in-doubt' : known,
    id: mark?.id ?? null,
    job: mark?.job ?? null,
    body,
    fields:
      body === null ? [] : fieldsOf(body).map((field) => ({ ...field, setBy: setterOf(field, versions) })),
    edited: Object.entries(view?.observation?.edited ?? {}).map(([field, { value, since }]) => ({
      field,
      value: value ?? null,
      since: new Date(since).toISOString(),
    })),
    held: held.map(({ hits, ...by }) => ({
      ...by,
      edited: isConflict(hits),
      moved: hits.some(({ field, edited }) => edited === true && field === 'url'),
      changes: hits.map(({ field, what, old, new: now }) => changeOf(field, what, old, now)),
    })),
    versions,
  };
}

/** The newest version that changed the field. */
function setterOf(
  { field, variant }: Omit<RecordField, 'setBy'>,
  versions: readonly RecordVersion[],
): RecordField['setBy'] {
  const setter = versions.find(({ changes }) =>
    changes?.some(
      (change) =>
        // A change of `variants` as a whole added or removed some; one of `properties.Stage` is of `properties`.
        (isWithin(change.field, field) || isWithin(field, change.field)) &&
        (change.variant === null || change.variant === variant),
    ),
  );
  if (setter === undefined) return null;
  const { at, run, job, place } = setter;
  return { at, run, job, place };
}

const MAX_SKUS = 1000;

/**
 * What the ledger of a store knows of the products that a file changes, as a sentence; null for a mapping that finds none by
 * SKU. `state` and `store`: null for a new store, to which no job has sent anything.
 */
export async function knownProducts(
  state: RunContext['state'] | null,
  store: StoreConfig | null,
  spec: MappingSpec,
  { header, rows }: SourceLook,
): Promise<string | null> {
  if (spec.import !== 'products' || matchOfMapping(spec) !== 'sku') return null;
  const column = [matchValue(spec, 'sku')].flat()[0];
  const [index = -1] = (typeof column === 'string' && headerPlaces(spec.columns, header).get(column)) || [];
  const cells = rows.map((row) => (row.cells[index] ?? '').trim()).filter((cell) => cell !== '');
  const skus = [...new Set(cells)].slice(0, MAX_SKUS);
  if (skus.length === 0) return null;
  const found =
    store === null || state === null
      ? []
      : await state.ledger({ storeId: storeIdentity(store), resource: 'products' }).keysBy('sku', skus);
  const known = found.filter((keys) => keys.length > 0).length;
  const all = counted(skus.length, 'SKU');
  if (known === 0)
    return `No job has sent products with these SKUs to this store, and a job can change only what has been sent: each row would be rejected. First import the catalog, with the names and prices of the products, by another job for this store; then plan this job again.`;
  return known === skus.length
    ? `${all}: ${known === 1 ? 'it belongs' : 'all belong'} to products that jobs have sent to this store.`
    : `${grouped(known)} of ${all} belong to products that jobs have sent to this store; rows with the others are rejected.`;
}
