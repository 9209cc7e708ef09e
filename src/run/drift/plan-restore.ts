import type { Contact, Mapped, Product } from '../../model/mapped-record.ts';
import type { Plan } from '../../model/plan.ts';
import type { Run, RunPart } from '../../model/run.ts';
import { StateError } from '../../model/storeferry-error.ts';
import { FORGOTTEN_BODY, importTarget } from '../../state/state.ts';
import { adaptJobToBodies, planRecords } from '../records/plan-records.ts';
import type { ImportRequest, RunContext } from '../run-context.ts';
import { type DriftFinding, readFindings } from './drift-finding.ts';

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
    job: adaptJobToBodies(job, job.mode === 'update' ? 'update' : 'upsert'),
    origin: { kind: 'bodies' },
    openMapped,
    resend: true,
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
