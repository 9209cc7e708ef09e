import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { BlockIndex, hashKey, type KeyHash } from '../../model/block-index.ts';
import type { Plan } from '../../model/plan.ts';
import { operationsIn } from '../../model/plan.ts';
import type { Run } from '../../model/run.ts';
import { StateError } from '../../model/storeferry-error.ts';
import { BLOCKS_FILE } from '../../plan/plan-file.ts';
import { KeySet } from '../../plan/plan-import.ts';
import { writeCopy } from '../../source/snapshot.ts';
import { isName, openSealed, readWhole, sealedJson, sha256Of } from '../../state/artifacts.ts';
import { importTarget, type Lock, targetTag } from '../../state/state.ts';
import type { RunContext } from '../run-context.ts';

/** A folder of the artifacts that belongs to no run: for each job the blocks of its last run that sent everything. */
const FOLDER = 'blocks';

/** The version of the layout of a block (`src/model/block-index.ts`): increase it when that changes. */
const LAYOUT = 2;

const sealSchema = z.object({
  layout: z.literal(LAYOUT),
  target: z.string(),
  /** Of the ledger, when the run had recorded all its outcomes. */
  position: z.string(),
  /** The hashes of the keys that the store refused: blocks with them do not count. Not the keys: they may be personal data. */
  refused: z.array(z.object({ high: z.int(), low: z.int() })),
  bytes: z.int(),
  sha256: z.string(),
});

/** The blocks of the job's source that are as the ledger has them at this position; undefined if there are none. */
export async function keptBlocks(
  { state, artifacts }: RunContext,
  run: Run,
  position: string,
): Promise<BlockIndex | undefined> {
  const target = importTarget(run);
  const { sealFile, blocksFile } = filesOf(run);
  if (!isName(sealFile) || (await state.ledger(target).hasDoubts())) return undefined;
  const folder = artifacts.run(FOLDER);
  try {
    if (!(await folder.exists(sealFile))) return undefined;
    const seal = sealSchema.safeParse(openSealed(await text(await folder.read(sealFile)))).data;
    if (seal?.target !== targetTag(target) || seal.position !== position) return undefined;
    const bytes = await readWhole(folder, blocksFile, seal.bytes);
    if (sha256Of(bytes) !== seal.sha256) return undefined;
    const index = new BlockIndex(new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4));
    if (seal.refused.length > 0) {
      const refused = new KeySet();
      for (const hash of seal.refused) refused.addHash(hash, true);
      index.leaveOut((hash) => refused.hasHash(hash));
    }
    return index;
  } catch (error) {
    // Without blocks everything is read.
    if (error instanceof StateError || error instanceof SyntaxError || error instanceof RangeError)
      return undefined;
    throw error;
  }
}

/**
 * Call it before the plan is applied; what it returns is called when all operations have been recorded, under the same `lock` of
 * the target, and keeps the blocks of the plan for the job's next run. A plan after which another run has written keeps nothing.
 */
export async function keepBlocks(
  { state, artifacts }: RunContext,
  run: Run,
  { blocksPosition, shards }: Plan,
  lock: Pick<Lock, 'isHeld'>,
): Promise<() => Promise<void>> {
  const target = importTarget(run);
  const ledger = state.ledger(target);
  const { sealFile, blocksFile } = filesOf(run);
  const isCurrent =
    blocksPosition !== undefined && isName(sealFile) && (await ledger.position()) === blocksPosition;
  if (!isCurrent) return async () => {};
  return async () => {
    const { applied, rejected, deleted, left } = await state.runs.tally(run.id);
    const planned = operationsIn(shards);
    if (applied + rejected + deleted + left !== planned) return;
    const refused: KeyHash[] = [];
    for await (const page of state.runs.refusals(run.id)) refused.push(...page.map(({ key }) => hashOf(key)));
    const folder = artifacts.run(FOLDER);
    const position = await ledger.position();
    // Without the lock another job may have moved the position.
    if (!lock.isHeld()) return;
    await using ofRun = await artifacts.run(run.id).read(BLOCKS_FILE);
    try {
      const { bytes, sha256 } = await writeCopy(folder, blocksFile, BLOCKS_FILE, ofRun);
      await folder.write(sealFile, [
        sealedJson({ layout: LAYOUT, target: targetTag(target), position, refused, bytes, sha256 }),
      ]);
    } catch (error) {
      // Everything was sent, and the earlier blocks no longer count: the next run reads the whole source.
      if (!(error instanceof StateError)) throw error;
    }
  };
}

function hashOf(key: string): KeyHash {
  const hash = { high: 0, low: 0 };
  hashKey(key, hash);
  return hash;
}

function filesOf({ job }: Run) {
  return { sealFile: `${job}.json`, blocksFile: `${job}.bin` };
}
