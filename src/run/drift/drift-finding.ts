import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { StoreConfig } from '../../config/store-config.ts';
import { plainText } from '../../model/json-object.ts';
import type { Contact, Mapped, Product } from '../../model/mapped-record.ts';
import { AS_ACKNOWLEDGED, type StoreEdit } from '../../model/observation.ts';
import type { UpsertProduct } from '../../model/operation.ts';
import { DRIFT_FILE, type Plan } from '../../model/plan.ts';
import { formatRow, inertCell } from '../../model/row.ts';
import type { Drift, Run, RunPart } from '../../model/run.ts';
import { StateError } from '../../model/storeferry-error.ts';
import { truncate } from '../../model/truncate.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import { FORGOTTEN_BODY, IN_DOUBT, importTarget, type Lock } from '../../state/state.ts';
import { planRecords, withoutGuards } from '../records/plan-records.ts';
import type { ImportRequest, RunContext } from '../run-context.ts';
import { versionTime } from '../send-operations.ts';

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

/** The findings of a part of the checked records. */
function partName(part: number): string {
  return `drift-${part}.jsonl`;
}

export async function hasFindings(folder: RunFolder, part: number): Promise<boolean> {
  return await folder.exists(partName(part));
}

/** Writes the findings of a part, counted from 1, which is then not checked again. */
export async function writeFindings(
  folder: RunFolder,
  part: number,
  findings: readonly DriftFinding[],
): Promise<void> {
  await folder.write(
    partName(part),
    findings.map((finding) => `${JSON.stringify(finding)}\n`),
  );
}

/** The findings of all parts, in batches. */
async function* readFindings(folder: RunFolder): AsyncGenerator<readonly DriftFinding[]> {
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
  /** Records whose fields are again as the ledger has them. */
  readonly unedited: readonly string[];
}

/**
 * Takes what the findings of a run show into the ledger, without a request: later runs know edited fields as if an answer had shown
 * them. Deleted records and strangers stay as they are.
 */
export async function noteFindings(context: RunContext, noting: Noting): Promise<void> {
  const { artifacts } = context;
  await noteBatch(
    context,
    noting,
    noting.unedited.map((key) => ({ key, id: null, kind: 'edited', differences: [], values: {} })),
  );
  for await (const batch of readFindings(artifacts.run(noting.run.id))) {
    const findings = batch.filter(({ kind }) => kind === 'edited' || (noting.accept && kind === 'recreated'));
    await noteBatch(context, noting, findings);
  }
}

async function noteBatch(
  context: RunContext,
  { run, store, lock, accept }: Noting,
  findings: readonly DriftFinding[],
): Promise<void> {
  if (findings.length === 0) return;
  const { state, clock } = context;
  const ledger = state.ledger(importTarget(run));
  const keys = findings.map(({ key }) => key);
  const [marks, bodies, views] = await Promise.all([
    ledger.marks(keys),
    ledger.bodies(keys),
    ledger.views(keys),
  ]);
  const seen = findings.flatMap((finding, index) => {
    const [mark, body] = [marks[index], bodies[index]];
    if (mark === undefined || body === undefined || mark.fingerprint === IN_DOUBT) return [];
    const { altered, edited } = views[index]?.observation ?? AS_ACKNOWLEDGED;
    const found = Object.entries(finding.values).map(([field, value]): [string, StoreEdit] => {
      const known = edited[field];
      const isKnown = known !== undefined && isDeepStrictEqual(known.value, value);
      const { accepted: _, ...edit } = isKnown ? known : { value, since: clock() };
      return [field, { ...edit, ...(accept && { accepted: true }) }];
    });
    // What was found before and is found no more is as the ledger has it.
    const kept = Object.entries(edited).filter(([, edit]) => edit.accepted === true);
    const observation = { altered, edited: Object.fromEntries([...kept, ...found]) };
    return [{ finding, mark, body, observation }];
  });
  const again = seen.filter(({ finding }) => finding.kind === 'recreated' && finding.id !== null);
  if (again.length > 0) {
    const results = again.map(({ finding: { key, id }, mark: { fingerprint, memo }, body }, index) => {
      const known = { key, body, fingerprint, memo, knownId: id };
      const operation: UpsertProduct = { kind: 'upsert-product', index, rows: 0, spans: [], ...known };
      return { operation, outcome: { kind: 'applied' as const, id } };
    });
    await state.runs.record(run, 1, results, 0, lock.fence, versionTime(context, store));
  }
  await ledger.observe(
    seen.map(({ finding: { key }, mark: { fingerprint }, observation }) => ({
      key,
      fingerprint,
      observation,
    })),
  );
}

const EXAMPLES_KEPT = 20;
const VALUE_LENGTH = 60;

/** The figures of all findings, with the first of each kind. `quotes`: with values, which are personal data of contacts. */
export async function tallyFindings(
  folder: RunFolder,
  { quotes }: { readonly quotes: boolean },
): Promise<
  Pick<Drift, 'edited' | 'fields' | 'deleted' | 'recreated' | 'strangers' | 'byField' | 'examples'>
> {
  const counts = { edited: 0, deleted: 0, recreated: 0, stranger: 0 };
  const byField = new Map<string, number>();
  const examples: Drift['examples'][number][] = [];
  for await (const batch of readFindings(folder)) {
    for (const { kind, key, differences } of batch) {
      counts[kind] += 1;
      if (kind === 'edited') {
        for (const { path } of differences) byField.set(path, (byField.get(path) ?? 0) + 1);
      }
      if (counts[kind] > EXAMPLES_KEPT) continue;
      const fields = differences.map(({ path, believed, found }) => ({
        path,
        ...(quotes && { believed: valueText(believed), found: valueText(found) }),
      }));
      examples.push({ kind, key, fields });
    }
  }
  const { stranger: strangers, ...records } = counts;
  return {
    ...records,
    strangers,
    fields: [...byField.values()].reduce((sum, one) => sum + one, 0),
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

function valueText(value: unknown): string {
  return value === null ? '' : truncate(plainText(value), VALUE_LENGTH);
}

/**
 * Plans to send what the ledger has of records that a comparison has found edited, deleted or made again in the store. What
 * was sent since is left out, and so are products whose url was changed there: they would be created a second time.
 */
export async function planRestore(
  context: RunContext,
  { job }: ImportRequest,
  run: Run,
  { of }: RunPart,
): Promise<Plan> {
  const { artifacts, signal, state } = context;
  const compared = await state.runs.get(of);
  if (compared === undefined) throw new StateError(`The comparison ${of} is gone.`);
  const ledger = state.ledger(importTarget(run));
  const folder = artifacts.run(of);
  const openMapped = async function* (): AsyncGenerator<readonly Mapped[]> {
    for await (const batch of readFindings(folder)) {
      signal.throwIfAborted();
      const findings = batch.filter(({ kind }) => kind !== 'stranger');
      const keys = findings.map(({ key }) => key);
      const [bodies, since] = await Promise.all([
        ledger.bodies(keys),
        ledger.writtenSince(compared.endPosition ?? '', keys),
      ]);
      yield findings.flatMap((finding, index) => restored(finding, bodies[index], since.has(finding.key)));
    }
  };
  return await planRecords(context, run, {
    job: withoutGuards(job, job.mode === 'update' ? 'update' : 'upsert'),
    openMapped,
    whole: true,
    resend: true,
    retry: true,
  });
}

function restored(
  { kind, key, differences }: DriftFinding,
  body: string | undefined,
  isWritten: boolean,
): readonly Mapped[] {
  const left = (code: string, message: string): readonly Mapped[] => [
    { kind: 'skipped', key, rows: 0, spans: [], reason: { code, message } },
  ];
  if (body === undefined || body === FORGOTTEN_BODY)
    return left('forgotten', 'its values are no longer known');
  if (isWritten) return left('changed-since', 'it was sent since the comparison');
  if (differences.some(({ path }) => path === 'url')) {
    return left(
      'other-url',
      'its url was changed in the store, so that sending it would create a second product',
    );
  }
  // The body was acknowledged, so it is what it claims to be; it is serialised to the same bytes again.
  const value: Product | Contact = JSON.parse(body);
  // Contacts are not created again.
  const isGone = kind === 'deleted' && 'title' in value;
  return [
    {
      kind: 'record',
      key,
      body: value,
      rows: 0,
      spans: [],
      inStore: isGone
        ? null
        : differences.map(({ path, believed, found }) => ({ field: path, old: found, new: believed })),
      ...(isGone && { notes: ['was deleted in the store: is created again, under a new id'] }),
    },
  ];
}
