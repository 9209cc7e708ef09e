import { isDeepStrictEqual } from 'node:util';
import type { TracedRecord, Wanted } from '../mapping/map-tables.ts';
import { type JsonObject, member, objectsIn } from '../model/json-object.ts';
import { type ImportMode, leavesOf, type TracedField } from '../model/mapped-record.ts';
import { NOT_IN_SAMPLE } from '../model/plan.ts';
import type { Run, Sample } from '../model/run.ts';
import { StateError } from '../model/storeferry-error.ts';
import { type PlannedRecord, plannedRecord, readPlan, readRejections } from '../plan/plan-file.ts';
import { takeSample } from '../plan/plan-import.ts';
import type { RecordSuggestions, RecordView } from '../report/record-view.ts';
import { loadSnapshot } from '../source/snapshot.ts';
import { importTarget, type Ledger } from '../state/state.ts';
import { nearestName } from '../text/printable.ts';
import { snapshotReading } from './import/plan-step.ts';
import {
  readSnapshotThroughMapping,
  type SnapshotReading,
  traceSnapshot,
} from './import/snapshot-reading.ts';
import type { ImportRequest, RunContext } from './run-context.ts';

/** A record of a plan, or what is near to a key that none has. */
export type FoundRecord =
  | { readonly kind: 'found'; readonly view: RecordView }
  | {
      readonly kind: 'missing';
      readonly suggestions: RecordSuggestions;
      readonly source: RecordView['source'];
    };

/** Records of a plan to begin with: by their keys, or by their place where the key cannot be read. */
export interface RecordExamples {
  readonly new: readonly string[];
  readonly changed: readonly string[];
  readonly rejected: readonly string[];
}

/** Records to begin with; undefined where the plan of the run, or its copy of the source, is gone. */
export async function recordExamples(context: RunContext, run: Run): Promise<RecordExamples | undefined> {
  const folder = context.artifacts.run(run.id);
  const plan = (await loadSnapshot(folder)) === undefined ? undefined : await readPlan(folder);
  if (plan === undefined) return undefined;
  const { examples } = plan;
  const rejected: string[] = [];
  for await (const batch of readRejections(folder)) {
    rejected.push(...batch.map(({ key, spans }) => key ?? `line ${spans[0]?.from ?? 0}`));
    if (rejected.length >= EXAMPLES_SHOWN) break;
  }
  const keys = (all: typeof examples.new) => all.map(({ key }) => key);
  return {
    new: keys(examples.new),
    changed: keys(examples.changed),
    rejected: [...new Set(rejected)].slice(0, EXAMPLES_SHOWN),
  };
}

const EXAMPLES_SHOWN = 10;

/** A key is named exactly; a row without a key by its place. */
const BY_LINE = /^(?:line|row) (\d+)$/i;
/** Copies of one key beyond this many are only counted. */
const COPIES_READ = 20;
const SUGGESTED = 5;
/** Fewer characters are in too many cells. */
const MIN_PART_LENGTH = 3;

/**
 * Shows a record of a run whose plan and copy of the source are still there: reads the copy again, in memory that does not
 * grow with it, and maps the rows of this record once more, traced. StateError when the plan or the copy is gone.
 */
export async function showRecord(
  context: RunContext,
  request: ImportRequest,
  run: Run,
  key: string,
): Promise<FoundRecord> {
  const folder = context.artifacts.run(run.id);
  using opened = new DisposableStack();
  const reading = await snapshotReading(context, request, run, opened);
  const plan = await readPlan(folder);
  if (plan === undefined)
    throw new StateError(`The plan of run ${run.id} is gone.`, {
      hint: `Plan it again: storeferry plan ${run.job}`,
    });
  const ledger = context.state.ledger(importTarget(run));
  const { product, values } = await keysOf(ledger, request, key);
  const search = recordSearch(key, values);
  const copies: TracedRecord[] = [];
  let count = 0;
  for await (const batch of traceSnapshot(reading, search.wanted)) {
    context.signal.throwIfAborted();
    const found = batch.filter((traced) => traced !== null);
    count += found.length;
    copies.push(...found.slice(0, COPIES_READ - copies.length));
    search.endBatch();
    if (copies.length > 0 && plan.duplicates === null && values.size === 1) break;
  }
  const { source } = plan;
  const [first] = copies;
  if (first === undefined) return { kind: 'missing', suggestions: search.suggestions(), source };
  const { mapped } = copies.find((copy) => copy.mapped.kind === 'record') ?? first;
  const body = mapped.kind === 'record' ? mapped.body : null;
  const planned = product ?? mapped.key;
  const isLeft = run.sample !== undefined && !(await isInSample(reading, mapped.key, run.sample));
  const known =
    planned === null
      ? null
      : await plannedRecord(folder, plan, ledger, { key: planned, mapped: body, spans: mapped.spans });
  return {
    kind: 'found',
    view: {
      ...viewOf(copies, { known, product, mode: plan.mode, isLeft }, context.redact),
      copies: count,
      source,
    },
  };
}

function viewOf(
  copies: readonly TracedRecord[],
  {
    known,
    product,
    mode,
    isLeft,
  }: {
    readonly known: PlannedRecord | null;
    readonly product: string | null;
    readonly mode: ImportMode;
    /** It is in the source, and not in the sample of the plan. */
    readonly isLeft: boolean;
  },
  redact: RunContext['redact'],
): Omit<RecordView, 'copies' | 'source'> {
  const records = copies.flatMap(({ mapped, trace }) =>
    mapped.kind === 'record' ? [{ mapped, trace }] : [],
  );
  const [copy] = copies;
  const mapped = records[0]?.mapped ?? copy?.mapped;
  const body = known?.body ?? records[0]?.mapped.body ?? null;
  const traced = records.flatMap(({ mapped: record, trace }) =>
    mode === 'update' ? placed(trace.fields, record.body, body) : trace.fields,
  );
  // What the plan neither sends nor rejects is unchanged, or known to a job that only creates.
  const left = isLeft ? 'not-in-sample' : mode === 'create' ? 'skipped' : 'unchanged';
  const fallback = isLeft || mapped === undefined || mapped.kind === 'record' ? left : mapped.kind;
  const standing = known?.standing ?? fallback;
  const own = isLeft || mapped === undefined || mapped.kind === 'record' ? null : mapped.reason;
  const reason = known?.reason ?? own;
  const none = { changed: [], removed: [] };
  const changes = standing === 'unchanged' ? none : (known?.changes ?? none);
  const old = new Map(changes.changed.map((change) => [change.path, change.old]));
  const id =
    body !== null && !('variants' in body) ? traced.filter(({ path }) => path === 'id').slice(0, 1) : [];
  const fields = body === null ? [] : [...id, ...leavesOf(body).map((leaf) => fieldOf(leaf, traced))];
  return {
    key: product ?? mapped?.key ?? null,
    standing,
    rows: copies.flatMap(({ trace }) => trace.rows),
    fields: fields.map((field) => {
      const before = old.get(field.path);
      return before === undefined ? field : { ...field, old: before };
    }),
    removed: changes.removed,
    reason: reason === null ? null : { ...reason, message: redact(reason.message) },
    inDoubt: known?.inDoubt ?? false,
  };
}

/** What a value of the body was made of: in whichever copy it is the same, since copies may have been merged. */
function fieldOf(
  { path, value }: Pick<TracedField, 'path' | 'value'>,
  traced: readonly TracedField[],
): TracedField {
  const [top = ''] = path.split(/[.[]/);
  const same = traced.filter((field) => field.value === value && field.path.startsWith(top));
  const found = same.find((field) => field.path === path) ?? (top === 'variants' ? undefined : same[0]);
  return { path, value, cells: found?.cells ?? [], steps: found?.steps ?? [] };
}

/** Whether the record is in the sample of a plan, by reading the source to it as the plan has. */
async function isInSample(reading: SnapshotReading, key: string | null, sample: Sample) {
  if (key === null) return sample.only === undefined;
  for await (const batch of takeSample(readSnapshotThroughMapping(reading).open(), sample)) {
    const found = batch.find((item) => item.key === key);
    if (found !== undefined) return !(found.kind === 'skipped' && found.reason.code === NOT_IN_SAMPLE);
  }
  return false;
}

/** With `mode: update` a row may name its product by a SKU or an id: the product, and the values that name it. */
async function keysOf(ledger: Ledger, { job: { mode, match = 'url' } }: ImportRequest, key: string) {
  if (mode !== 'update' || match === 'url') return { product: null, values: new Set([key]) };
  const [[found = key] = []] = await ledger.keysBy(match, [key]);
  const [[mark], [body]] = await Promise.all([ledger.marks([found]), ledger.bodies([found])]);
  if (mark === undefined) return { product: null, values: new Set([key]) };
  const named =
    match === 'sku' ? objectsIn(JSON.parse(body ?? 'null'), 'variants').map(({ sku }) => sku) : [mark.id];
  return { product: found, values: new Set([key, ...named.map(String)]) };
}

/** The fields of an update at the places that its variants have in the merged product. */
function placed(fields: readonly TracedField[], own: object, merged: object | null) {
  if (merged === null) return fields;
  const [changes, whole] = [objectsIn(own, 'variants'), objectsIn(merged, 'variants')];
  const places = changes.map((change) => {
    const same = (name: string) => (variant: JsonObject) =>
      member(change, name) !== undefined && isDeepStrictEqual(member(variant, name), member(change, name));
    const bySku = whole.findIndex(same('sku'));
    return bySku >= 0 ? bySku : Math.max(0, whole.findIndex(same('options')));
  });
  return fields.map((field) => ({
    ...field,
    path: field.path.replace(
      /^variants\[(\d+)\]/,
      (_, index: string) => `variants[${places[Number(index)] ?? index}]`,
    ),
  }));
}

/** Chooses the records of a key, and collects what is near to it meanwhile. */
function recordSearch(key: string, values: ReadonlySet<string>) {
  const named = BY_LINE.exec(key)?.[1];
  const line = named === undefined ? null : Number(named);
  const part = key.trim().toLowerCase();
  let keys: string[] = [];
  const nearest: string[] = [];
  const containing: RecordSuggestions['containing'][number][] = [];
  const wanted: Wanted = (found, { rows, spans }) => {
    if (found !== null && values.has(found)) return true;
    if (line !== null) return spans.some(({ from, to }) => from <= line && line <= to);
    if (found !== null) keys.push(found);
    if (containing.length >= SUGGESTED || part.length < MIN_PART_LENGTH) return false;
    for (const { table, line: at, cells } of rows) {
      const slot = cells.findIndex((text) => text?.toLowerCase().includes(part));
      if (slot < 0) continue;
      const column = table.headers[slot] ?? null;
      containing.push({ key: found, cell: { file: table.file, line: at, column, text: cells[slot] ?? '' } });
      break;
    }
    return false;
  };
  return {
    wanted,
    /** Of each batch only the nearest key is remembered. */
    endBatch(): void {
      const near = nearestName(key, keys);
      keys = [];
      if (near !== undefined) nearest.push(near);
    },
    suggestions(): RecordSuggestions {
      const left = new Set(nearest);
      const found: string[] = [];
      while (found.length < SUGGESTED) {
        const next = nearestName(key, [...left]);
        if (next === undefined) break;
        found.push(next);
        left.delete(next);
      }
      return { nearest: found, containing };
    },
  };
}
