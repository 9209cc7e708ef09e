import type { Observation } from '../../model/observation.ts';
import type { Plan } from '../../model/plan.ts';
import type { Run } from '../../model/run.ts';
import { EDITED_SHOWN, type EditedFound } from '../../model/run.ts';
import { readParsed, readShard } from '../../plan/plan-file.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import { importTarget } from '../../state/state.ts';
import type { RunContext } from '../run-context.ts';

/** The records of a run that keep edits, one JSON object a line. */
const EDITED_FILE = 'edited.jsonl';

/** A record whose edits in the store a run has left there. */
export interface EditedRecord {
  readonly key: string;
  readonly edited: Observation['edited'];
}

/**
 * The edits in the store that an ended run has found: those that its plan held or overwrote, and those that stayed, which it
 * lists in its folder. Undefined if there are none.
 */
export async function editedByRun(
  { state, artifacts }: RunContext,
  run: Run,
  plan: Plan | null,
): Promise<EditedFound | undefined> {
  if (plan === null || plan.resource !== 'products' || run.kind === 'plan') return plan?.edited;
  const edits = new Map<string, Observation['edited']>();
  for await (const page of state.ledger(importTarget(run)).edited())
    for (const { key, observation } of page) edits.set(key, observation.edited);
  const folder = artifacts.run(run.id);
  const { held = 0, overwritten = 0, records = [] } = plan.edited ?? {};
  const kept: EditedRecord[] = [];
  /** Those of which nothing else was to be sent, once the shards are read. */
  const unsent = new Set(records.flatMap(({ key, how }) => (how === 'kept' ? [key] : [])));
  for (const shard of edits.size === 0 ? [] : plan.shards.filter(({ kind }) => kind === 'upserts')) {
    const outcomes = await state.runs.outcomes(run.id, shard.number);
    for (const { key, index } of await readShard(folder, shard)) {
      unsent.delete(key);
      const edited = edits.get(key);
      if (edited !== undefined && outcomes.get(index) === 'applied') kept.push({ key, edited });
    }
  }
  for (const key of unsent) {
    const edited = edits.get(key);
    if (edited !== undefined) kept.push({ key, edited });
  }
  if (kept.length > 0)
    await folder.write(EDITED_FILE, [kept.map((record) => `${JSON.stringify(record)}\n`).join('')]);
  if (kept.length + held + overwritten === 0) return undefined;
  const named = kept.map(({ key, edited }) => ({ key, how: 'kept' as const, fields: Object.keys(edited) }));
  const others = records.filter(({ how }) => how !== 'kept');
  return { kept: kept.length, held, overwritten, records: [...others, ...named].slice(0, EDITED_SHOWN) };
}

/** The records of a run that keep edits, in batches. */
export async function* readEdited(folder: RunFolder): AsyncGenerator<readonly EditedRecord[]> {
  if (!(await folder.exists(EDITED_FILE))) return;
  yield* readParsed(folder, EDITED_FILE, (line): EditedRecord => JSON.parse(line));
}
