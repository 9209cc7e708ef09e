import type { Workspace } from '../../config/workspace.ts';
import type { GuardHit } from '../../model/guard.ts';
import { plainText } from '../../model/json-object.ts';
import type { Plan } from '../../model/plan.ts';
import { operationsIn } from '../../model/plan.ts';
import { faultsOf, type Reason } from '../../model/reason.ts';
import type { RowSpan } from '../../model/row.ts';
import { isUnsentPlan, type RecordFormat, type RecordOutcome, type Run } from '../../model/run.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { type HeldRecord, readHeld, readPlan, readRejections } from '../../plan/plan-file.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import { importTarget, type LedgerTarget } from '../../state/state.ts';
import {
  csvForLanguage,
  csvStyle,
  csvText,
  INERT_CSV,
  type TypedCell,
  type WrittenTable,
  writeTable,
} from '../../tables/write-table.ts';
import { printable, truncate } from '../../text/printable.ts';
import type { RunContext } from '../run-context.ts';
import { unsentOperations } from '../send-operations.ts';
import { linesOf, versionsOfRun } from './catalog-as-of.ts';
import { readEdited } from './edited-record.ts';
import {
  isConflict,
  type ReleasableRecord,
  refuseUnlessReleasable,
  releasableRecords,
} from './plan-release.ts';
import { changesOf, ledgersOf, placeOf, type RecordChange, titleIn, versionFacts } from './record-history.ts';

export {
  type CatalogFound,
  catalogAsOf,
  catalogBodies,
  catalogContent,
} from './catalog-as-of.ts';

/** A record of a run. */
export interface RunRecord {
  /** Null where it cannot be read from its rows. */
  readonly key: string | null;
  readonly outcome: RecordOutcome;
  readonly reason: Pick<Reason, 'code' | 'message' | 'also'> | null;
  /** Where its rows are: `catalog.csv:4`. */
  readonly place: string | null;
  /** When the store's answer was recorded, in milliseconds since the epoch. */
  readonly at: number | null;
  readonly id: number | null;
  /** Whether the ledger knew no body before it. */
  readonly created: boolean;
  /** Of a record that existed before; null if they are unknown. */
  readonly changes: readonly RecordChange[] | null;
  /** What it is called, where its request still waits; only for people who may see it. */
  readonly title?: string | null;
}

/** Which records of which run; the run itself where it is still kept. */
interface RunRecordsOptions {
  readonly target: LedgerTarget;
  readonly id: string;
  readonly run: Run | undefined;
  /** All outcomes when left out. */
  readonly outcome?: RecordOutcome | undefined;
  /** Grows by all records that were read, of whatever outcome, so that a reader can stop. */
  readonly read?: { records: number };
}

/** The plan of a run and the folder of its files. */
type PlanFolder = Plan & { readonly folder: RunFolder };

/**
 * The records of a run with their outcomes, in batches: rejected ones from its files and its state, applied and deleted
 * ones from the history, as long as it keeps them, and unsent ones from the shards of an unfinished run.
 */
export async function* runRecords(
  context: RunContext,
  { target, id, run, outcome, read = { records: 0 } }: RunRecordsOptions,
): AsyncGenerator<readonly RunRecord[]> {
  const mayBe = (...outcomes: readonly RecordOutcome[]) =>
    outcome === undefined || outcomes.includes(outcome);
  const all = async function* (): AsyncGenerator<readonly RunRecord[]> {
    const folder = run && context.artifacts.run(run.id);
    const planned = folder && (await readPlan(folder));
    const plan = folder && planned && { ...planned, folder };
    if (run !== undefined && mayBe('rejected')) yield* rejectedRecords(context, run, plan);
    if (plan !== undefined && mayBe('held')) yield* heldRecords(plan);
    if (mayBe('applied', 'deleted', 'renamed')) yield* acknowledgedRecords(context, target, id);
    if (plan !== undefined && mayBe('edited')) yield* editedRecords(plan);
    if (run !== undefined && plan !== undefined && mayBe('planned', 'unsent'))
      yield* openRecords(context, run, plan);
  };
  for await (const batch of all()) {
    read.records += batch.length;
    yield outcome === undefined ? batch : batch.filter((record) => record.outcome === outcome);
  }
}

/** How many records `runRecords` gives of a run, where it can be known without reading them; further copies of rejected keys come beside. */
export async function countRunRecords(
  { state, artifacts }: RunContext,
  { target, id }: Pick<RunRecordsOptions, 'target' | 'id'>,
): Promise<number> {
  const { applied, deleted, rejected } = await state.runs.tally(id);
  const settled = applied + deleted + rejected;
  const plan = await readPlan(artifacts.run(id));
  if (plan !== undefined) {
    const { counts, shards, edited } = plan;
    const planned = operationsIn(shards);
    return Math.max(settled, planned) + counts.rejected.records + counts.held.records + (edited?.kept ?? 0);
  }
  let versions = 0;
  for await (const keys of state.history(target).keysOf(id)) versions += keys.length;
  return Math.max(settled, versions);
}

/**
 * The ledger that a run wrote to: of the run itself, or of the one with this id, or its first characters, in the history, which
 * remembers runs that are no longer kept.
 */
export async function findRunLedger(
  { state }: RunContext,
  workspace: Pick<Workspace, 'storeNames' | 'store'>,
  run: Run | undefined,
  id: string,
): Promise<(Pick<RunRecordsOptions, 'target' | 'id'> & Pick<Run, 'store' | 'job'>) | undefined> {
  if (run !== undefined) {
    const exports = run.resource === 'orders' || run.resource === 'subscriber-lists';
    return exports ? undefined : { target: importTarget(run), id: run.id, store: run.store, job: run.job };
  }
  const places = await Promise.all(
    ledgersOf(workspace.storeNames().map((name) => workspace.store(name))).map(async (place) => ({
      ...place,
      runs: await state.history(place.target).runs(),
    })),
  );
  const found = places.flatMap(({ store, target, runs }) =>
    runs
      .filter((known) => known.id.startsWith(id))
      .map((known) => ({ target, id: known.id, store, job: known.job })),
  );
  const exact = found.find((known) => known.id === id);
  if (exact !== undefined || found.length < 2) return id === '' ? undefined : (exact ?? found[0]);
  throw new UsageError(`${found.length} runs of the history begin with ${id}.`, {
    hint: 'Type more of the id.',
  });
}

async function* rejectedRecords(
  { state }: RunContext,
  run: Run,
  plan: PlanFolder | undefined,
): AsyncGenerator<readonly RunRecord[]> {
  const files = plan?.source.files ?? [];
  const record = ({
    key,
    spans,
    reason,
  }: Pick<RunRecord, 'key' | 'reason'> & { spans: readonly RowSpan[] }) =>
    ({ ...NOTHING, key, outcome: 'rejected', reason, place: placeOf(spans, files) }) satisfies RunRecord;
  if (plan !== undefined) for await (const batch of readRejections(plan.folder)) yield batch.map(record);
  for await (const batch of state.runs.refusals(run.id)) yield batch.map(record);
}

const NOTHING = { reason: null, place: null, at: null, id: null, created: false, changes: null } as const;

async function* heldRecords(plan: PlanFolder): AsyncGenerator<readonly RunRecord[]> {
  for await (const batch of readHeld(plan.folder, plan)) yield batch.map((held) => heldRecord(held, plan));
}

async function* editedRecords({ folder }: PlanFolder): AsyncGenerator<readonly RunRecord[]> {
  for await (const batch of readEdited(folder)) {
    yield batch.map(({ key, edited }) => {
      const values = Object.entries(edited).map(([field, { value }]) => `${field}: ${cutValue(value)}`);
      const reason = {
        code: 'edited-in-store',
        message: `edited in the store, and kept: ${values.join('; ')}`,
      };
      return { ...NOTHING, key, outcome: 'edited' as const, place: null, reason };
    });
  }
}

const MAX_VALUE_LENGTH = 80;

function cutValue(value: unknown) {
  return truncate(valueText(value ?? null), MAX_VALUE_LENGTH);
}

function heldRecord({ operation: { key, spans }, before, hits }: HeldRecord, plan: Pick<Plan, 'source'>) {
  return {
    ...NOTHING,
    key,
    outcome: 'held' as const,
    place: placeOf(spans, plan.source.files),
    created: before === null,
    reason: { code: 'held', message: heldWords(hits) },
    changes: hits.map(({ field, what, old, new: now }) => ({ field, variant: what, old, new: now })),
  };
}

/** A record that a run held, with the held values as its changes, and what a release would do with it. */
export type HeldRunRecord = ReturnType<typeof heldRecord> &
  Pick<ReleasableRecord, 'isSent' | 'refusal'> & {
    /** Fields of it were changed in the store as well, other than the url. */
    readonly edited: boolean;
  };

/** The records that a run holds, as a release would now find them. UsageError if it has nothing to release. */
export async function* heldRunRecords(
  context: RunContext,
  run: Run,
): AsyncGenerator<readonly HeldRunRecord[]> {
  await refuseUnlessReleasable(context, run, { of: run.id });
  const plan = await readPlan(context.artifacts.run(run.id));
  if (plan === undefined) return;
  for await (const batch of releasableRecords(context, run, plan)) {
    yield batch.map((held) => ({
      ...heldRecord(held, plan),
      isSent: held.isSent,
      refusal: held.refusal,
      edited: isConflict(held.hits),
    }));
  }
}

/** Why a record is held that the store has under another url. */
export const OTHER_URL =
  'has another url in the store, so that sending it would create a second product (change the url back there, or in the source)';

function heldWords(hits: readonly GuardHit[]) {
  const causes = Map.groupBy(hits, (hit) => {
    if (hit.edited === true)
      return hit.field === 'url' ? OTHER_URL : 'changed in the store and in the source';
    // No guard watches it.
    return hit.field === 'url' ? 'may be a product under another url' : 'held by a guard';
  });
  return [...causes]
    .map(([cause, found]) => {
      const changes = found.map(({ what, edited: _, ...hit }) =>
        changeText({ ...hit, variant: what, old: hit.old ?? valueText(null) }),
      );
      return `${cause}: ${changes.join('; ')}`;
    })
    .join('; ');
}

async function* acknowledgedRecords(
  { state }: RunContext,
  target: LedgerTarget,
  id: string,
): AsyncGenerator<readonly RunRecord[]> {
  for await (const keys of versionsOfRun(state.history(target), id)) {
    yield keys.flatMap(([key, versions]) =>
      versions.flatMap((version): RunRecord[] => {
        // A record that the store does not have was refused, so it is among the rejected ones.
        if (version.run.id !== id || version.kind === 'absent') return [];
        const { at, place, created, renamed } = versionFacts(version);
        const base = { ...NOTHING, key, place, at, id: version.id };
        if (version.kind === 'deleted') {
          // The pair is listed once, under its new key.
          return renamed === undefined ? [{ ...base, outcome: 'deleted' }] : [];
        }
        if (renamed !== undefined) {
          const changes = [{ field: 'url', variant: null, old: renamed, new: key }];
          return [{ ...base, outcome: 'renamed', changes }];
        }
        return [
          {
            ...base,
            outcome: 'applied',
            created,
            // Only where they are shown: a page counts thousands of records and shows fifty.
            get changes() {
              return created ? null : changesOf(version.before, version.body);
            },
          },
        ];
      }),
    );
  }
}

/** Records of shards that a later run or an approval may still send. */
async function* openRecords(
  context: RunContext,
  run: Run,
  { folder, shards, source }: PlanFolder,
): AsyncGenerator<readonly RunRecord[]> {
  const waits = isUnsentPlan(run);
  for (const shard of shards) {
    if (!(await folder.exists(shard.name))) continue;
    const open = await unsentOperations(context, run, shard);
    yield open.map(({ key, spans, ...operation }) => ({
      ...NOTHING,
      key,
      title: 'body' in operation ? titleIn(operation.body) : null,
      outcome: waits ? ('planned' as const) : ('unsent' as const),
      place: placeOf(spans, source.files),
    }));
  }
}

/**
 * Records as a table, a JSON object each, or lines for people. `open` opens them, each time from the first; `languages` are those of
 * the browser that asks for CSV.
 */
export function recordContent(
  open: () => AsyncIterable<readonly RunRecord[]>,
  format: RecordFormat | 'text',
  languages?: string,
): AsyncIterable<Uint8Array | string> {
  switch (format) {
    case 'text':
      return linesOf(open(), textLine);
    case 'jsonl':
      return linesOf(open(), (record) => `${JSON.stringify(shown(record))}\n`);
    case 'csv': {
      const options = languages === undefined ? undefined : csvForLanguage(languages);
      return csvText(tableOf(open, false), options ? csvStyle(options) : INERT_CSV, options?.decimal);
    }
    case 'xlsx':
    case 'parquet':
      return writeTable(tableOf(open, true), format);
    default:
      return format satisfies never;
  }
}

function textLine({ key, outcome, reason, place, created, changes }: RunRecord) {
  const changed = created ? 'new' : (changes ?? []).map(changeText).join('; ');
  const parts = [
    outcome.padEnd(8),
    key ?? '(no key)',
    place ?? '',
    reason === null ? changed : allMessages(reason),
  ];
  return `${printable(parts.filter((part) => part !== '').join('  '))}\n`;
}

function allMessages(reason: NonNullable<RunRecord['reason']>) {
  return faultsOf(reason)
    .map(({ message }) => message)
    .join(' / ');
}

const COLUMNS = ['key', 'outcome', 'code', 'reason', 'place', 'at', 'id', 'changes'];

/** `hasTypes`: times are times, and not their text. */
function tableOf(open: () => AsyncIterable<readonly RunRecord[]>, hasTypes: boolean): WrittenTable {
  const cellsOf = (record: RunRecord): readonly TypedCell[] => {
    const { key, outcome, reason, place, at, id, created, changes } = record;
    return [
      key,
      outcome,
      reason?.code ?? null,
      reason && allMessages(reason),
      place,
      hasTypes && at !== null ? new Date(at) : shown(record).at,
      id === null ? null : { number: String(id) },
      created ? 'new' : (changes ?? []).map(changeText).join('; '),
    ];
  };
  return {
    name: 'Records',
    columns: COLUMNS,
    // It lists what has changed, for people.
    cutsTexts: true,
    rows: async function* () {
      for await (const batch of open()) yield batch.map(cellsOf);
    },
  };
}

function shown({ key, outcome, at, title: _, ...more }: RunRecord) {
  return { key, outcome, at: at === null ? null : new Date(at).toISOString(), ...more };
}

/** `variants.price (Red / L): 10 → 12`. */
export function changeText({ field, variant, old, new: now }: RecordChange): string {
  return `${field}${variant === null ? '' : ` (${variant})`}: ${old === null ? 'not sent before' : valueText(old)} → ${valueText(now)}`;
}

/** A value of a record for people. */
export function valueText(value: unknown): string {
  return value === null ? 'none' : plainText(value);
}
