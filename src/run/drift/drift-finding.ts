import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { StoreConfig } from '../../config/store-config.ts';
import {
  countUnder,
  isJsonObject,
  type JsonObject,
  member,
  plainText,
  sumOf,
} from '../../model/json-object.ts';
import { observeAnswer, type StoreEdit } from '../../model/observation.ts';
import { storeDifferences } from '../../model/operation.ts';
import { DRIFT_FILE } from '../../model/plan.ts';
import { formatRow, inertCell } from '../../model/row.ts';
import type { Drift, Run } from '../../model/run.ts';
import { findJson, type RunFolder } from '../../state/artifacts.ts';
import { IN_DOUBT, importTarget, type Lock } from '../../state/state.ts';
import { truncate } from '../../text/printable.ts';
import { valueAt } from '../answer-tally.ts';
import type { RunContext } from '../run-context.ts';
import { versionTime } from '../send-operations.ts';
import { type KnownRecord, knownRecords, repeatingOperation } from '../verify/verify-run.ts';

const differenceSchema = z.object({
  /** As reports name it: `variants.price`. */
  path: z.string(),
  believed: z.unknown(),
  found: z.unknown(),
});

const findingSchema = z.object({
  /** `stranger`: a product of the store that no job has sent. */
  kind: z.enum(['edited', 'deleted', 'recreated', 'stranger']),
  /** Of a stranger its url. */
  key: z.string(),
  /** In the store; of a deleted record its last one. */
  id: z.int().nullable(),
  differences: z.array(differenceSchema),
  /** The whole top-level fields that differ, as the store has them. */
  values: z.record(z.string(), z.unknown()),
});

/** A record in which a store differs from what it last answered. */
export type DriftFinding = z.infer<typeof findingSchema>;

/** The url of a product of the store; '' without one. */
export function readUrl(product: JsonObject): string {
  const url = member(product, 'url');
  return typeof url === 'string' ? url : '';
}

function readId(record: JsonObject) {
  const id = Number(member(record, 'id'));
  return Number.isSafeInteger(id) ? id : null;
}

/** A record that the store no longer has. */
export function deletedFinding({ key, mark }: KnownRecord): DriftFinding {
  return { kind: 'deleted', key, id: mark.id, differences: [], values: {} };
}

/** A product of the store that no job has sent. */
export function strangerFinding(product: JsonObject): DriftFinding {
  return { kind: 'stranger', key: readUrl(product), id: readId(product), differences: [], values: {} };
}

/** Not compared: sales change it. */
const STOCK_PATH = 'variants.quantity';

/** How the store differs from what it last answered for a record. */
export function compareFields(record: KnownRecord, found: JsonObject): Omit<DriftFinding, 'kind'> {
  const { key, body } = record;
  const believed: unknown = JSON.parse(body);
  const differing = isJsonObject(believed)
    ? storeDifferences(believed, found).filter(({ field }) => !isExpected(record, field, found))
    : [];
  const differences = differing
    .filter(({ field }) => field !== 'url' || readUrl(found) !== '')
    .flatMap(({ paths, ...one }) =>
      paths
        .filter((path) => path !== STOCK_PATH)
        .map((path) => ({ path, believed: valueAt(one.believed, path), found: valueAt(one.found, path) })),
    );
  const fields = new Set(differences.map(({ path }) => path.split('.', 1)[0]));
  return {
    key,
    id: readId(found),
    differences,
    values: Object.fromEntries(
      differing.flatMap(({ field, found: value }) => (fields.has(field) ? [[field, value]] : [])),
    ),
  };
}

/** Whether the value of a field is the one that the store has made of what it was sent, or an edit that was accepted. */
function isExpected({ body, observation }: KnownRecord, field: string, found: JsonObject) {
  const { altered, edited } = observation;
  if (altered[field] === undefined && edited[field]?.accepted !== true) return false;
  const seen = { body, sent: [], answer: found, before: observation, unaltered: [], at: 0 };
  const edit = observeAnswer(seen).edited[field];
  return edit === undefined ? altered[field] !== undefined : edit === edited[field] && edit.accepted === true;
}

/** The findings of a part of the checked records. */
function partName(part: number) {
  return `drift-${part}.jsonl`;
}

export async function hasFindings(folder: RunFolder, part: number): Promise<boolean> {
  return await folder.exists(partName(part));
}

const partNotesSchema = z.object({
  /** When the comparison began, in ms since the epoch: what the ledger has learned since is newer. */
  comparedAt: z.number().default(0),
  /** Records that were edited when they were last seen, and are no more. */
  unedited: z.array(z.string()),
  /** Records that changed in the ledger meanwhile, or that the store did not answer. */
  unchecked: z.int(),
  /** The whole list was read: it says which products no job has sent. */
  isListed: z.boolean(),
});

/** What the comparison of a part has shown beside its findings. */
type PartNotes = z.infer<typeof partNotesSchema>;

export function emptyNotes(comparedAt: number): PartNotes {
  return { comparedAt, unedited: [], unchecked: 0, isListed: false };
}

function notesName(part: number) {
  return `drift-${part}.json`;
}

/** The notes of all parts, in order. */
async function readNotes(folder: RunFolder): Promise<readonly PartNotes[]> {
  const all: PartNotes[] = [];
  for (let part = 1; await hasFindings(folder, part); part += 1)
    all.push((await findJson(folder, notesName(part), partNotesSchema)) ?? emptyNotes(0));
  return all;
}

/** Writes what a part, counted from 1, has shown; its findings last: it is then not checked again. */
export async function writeFindings(
  folder: RunFolder,
  part: number,
  findings: readonly DriftFinding[],
  notes: PartNotes,
): Promise<void> {
  await folder.write(notesName(part), [JSON.stringify(notes)]);
  await folder.write(
    partName(part),
    findings.map((finding) => `${JSON.stringify(finding)}\n`),
  );
}

/** The findings of all parts, in batches. */
export async function* readFindings(folder: RunFolder): AsyncGenerator<readonly DriftFinding[]> {
  for (let part = 1; await hasFindings(folder, part); part += 1) {
    const lines = (await text(await folder.read(partName(part)))).split('\n').slice(0, -1);
    yield lines.map((line) => findingSchema.parse(JSON.parse(line)));
  }
}

/** What may write the ledger after a comparison. */
interface Noting {
  readonly run: Run;
  readonly store: StoreConfig;
  /** The lock of the target. */
  readonly lock: Lock;
  /** Somebody accepts what was found: edits are reported no more, and a record that was made again has its new id. */
  readonly accept: boolean;
}

/**
 * Takes what the findings of a run show into the ledger, without a request: later runs know edited fields as if an answer had shown
 * them. Deleted records and strangers stay as they are; those made again too, unless they are accepted.
 */
export async function noteFindings(context: RunContext, { run, store, lock, accept }: Noting): Promise<void> {
  const { artifacts, state, clock } = context;
  const ledger = state.ledger(importTarget(run));
  const note = async (
    findings: readonly Pick<DriftFinding, 'kind' | 'key' | 'id' | 'values'>[],
    comparedAt: number,
  ) => {
    if (findings.length === 0) return;
    const records = await knownRecords(
      ledger,
      findings.map(({ key }) => key),
    );
    const seen = findings.flatMap((finding, index) => {
      const record = records[index];
      if (record === undefined || record.mark.fingerprint === IN_DOUBT) return [];
      const { altered, edited } = record.observation;
      const body: object = JSON.parse(record.body);
      const found = Object.entries(finding.values).map(([field, value]): [string, StoreEdit] => {
        const known = edited[field];
        const isKnown = known !== undefined && isDeepStrictEqual(known.value, value);
        const { accepted: _, ...edit } = isKnown ? known : { value, since: clock() };
        return [field, { ...edit, ...(accept && { accepted: true }) }];
      });
      // What was found before and is found no more is as the ledger has it; what it does not have is not compared.
      const accepted = Object.entries(edited).filter(
        ([field, edit]) => edit.accepted === true || !Object.hasOwn(body, field),
      );
      const newer = Object.entries(edited).filter(([, { since }]) => since > comparedAt);
      const now = Object.fromEntries([...accepted, ...found, ...newer]);
      return [{ finding, record, observation: { altered, edited: now } }];
    });
    const again = seen.filter(({ finding }) => finding.kind === 'recreated' && finding.id !== null);
    if (again.length > 0) {
      const results = again.map(({ finding: { id }, record }, index) => ({
        operation: repeatingOperation({ ...record, mark: { ...record.mark, id } }, 'products', index),
        outcome: { kind: 'applied' as const, id },
      }));
      await state.runs.record(run, 1, results, 0, lock.fence, versionTime(context, store));
    }
    await ledger.observe(
      seen.map(({ record, observation }) => ({
        key: record.key,
        fingerprint: record.mark.fingerprint,
        observation,
      })),
    );
  };
  const folder = artifacts.run(run.id);
  const parts = await readNotes(folder);
  for (const { unedited, comparedAt } of parts) {
    const gone = unedited.map((key) => ({ kind: 'edited' as const, key, id: null, values: {} }));
    await note(gone, comparedAt);
  }
  let part = 0;
  for await (const batch of readFindings(folder)) {
    const noted = batch.filter(({ kind }) => kind === 'edited' || (accept && kind === 'recreated'));
    await note(noted, parts[part++]?.comparedAt ?? 0);
  }
}

const EXAMPLES_KEPT = 20;
const VALUE_LENGTH = 60;

/** The figures of all findings, with the first few of each kind. `quotes`: with values, which are personal data of contacts. */
export async function tallyFindings(
  folder: RunFolder,
  { quotes }: { readonly quotes: boolean },
): Promise<
  Pick<Drift, 'edited' | 'fields' | 'deleted' | 'recreated' | 'strangers' | 'byField' | 'examples'> & {
    readonly unchecked: number;
  }
> {
  const counts = { edited: 0, deleted: 0, recreated: 0, stranger: 0 };
  const byField = new Map<string, number>();
  const examples: Drift['examples'][number][] = [];
  for await (const batch of readFindings(folder)) {
    for (const { kind, key, differences } of batch) {
      counts[kind] += 1;
      if (kind === 'edited') {
        for (const { path } of differences) countUnder(byField, path);
      }
      if (counts[kind] > EXAMPLES_KEPT) continue;
      const fields = differences.map(({ path, believed, found }) => ({
        path,
        ...(quotes && { believed: valueText(believed), found: valueText(found) }),
      }));
      examples.push({ kind, key, fields });
    }
  }
  const { stranger, ...records } = counts;
  const parts = await readNotes(folder);
  return {
    ...records,
    strangers: parts.some(({ isListed }) => isListed) ? stranger : null,
    unchecked: sumOf(parts, (part) => part.unchecked),
    fields: sumOf(byField.values()),
    byField: [...byField]
      .map(([field, found]) => ({ field, records: found }))
      .sort((one, other) => other.records - one.records || (one.field < other.field ? -1 : 1)),
    examples,
  };
}

/** Writes the table of all findings. `quotes`: with values, which are personal data of contacts. */
export async function writeDriftTable(
  folder: RunFolder,
  { quotes }: { readonly quotes: boolean },
): Promise<void> {
  await folder.write(DRIFT_FILE, rows());

  async function* rows(): AsyncGenerator<string> {
    yield `\uFEFF${formatRow(['finding', 'key', 'id', 'field', 'last answered', 'now'], ',')}\n`;
    for await (const batch of readFindings(folder)) {
      for (const { kind, key, id, differences } of batch) {
        const cells = [kind, key, String(id ?? '')];
        const lines = differences.length > 0 ? differences : [{ path: '', believed: null, found: null }];
        for (const { path, believed, found } of lines) {
          const values = quotes ? [valueText(believed), valueText(found)] : ['', ''];
          yield `${formatRow([...cells, path, ...values].map(inertCell), ',')}\n`;
        }
      }
    }
  }
}

function valueText(value: unknown) {
  return value === null ? '' : truncate(plainText(value), VALUE_LENGTH);
}
