import type { RunFolder } from '../../state/artifacts.ts';
import { PLAN_FILE } from '../plan-file.ts';
import { REJECTIONS_FILE } from './rejection-writer.ts';

/** Removes what an earlier attempt has written. The plan itself goes first: while it is there, its shards must be. */
export async function removePlanFiles(folder: RunFolder): Promise<void> {
  await folder.remove([PLAN_FILE]);
  const shards = (await folder.list()).filter((name) => /^(shard|delete)-\d+\.jsonl$/.test(name));
  await folder.remove([...shards, REJECTIONS_FILE]);
}
