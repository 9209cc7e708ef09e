import { StateError } from '../../src/model/storeferry-error.ts';
import { openSqliteState } from '../../src/state/sqlite/open-sqlite-state.ts';
import { applied, range, sampleRun, upsert } from './samples.ts';

/** Records until the state refuses, and prints how many outcomes were acknowledged and what it said. */
const state = await openSqliteState(String(process.argv[2]));
let recorded = 0;
try {
  for (let shard = 0; ; shard++) {
    const results = range(100).map((index) => applied(upsert(index, `key-${shard}-${index}`), index));
    await state.runs.record(sampleRun(), shard, results, 100);
    recorded += results.length;
  }
} catch (error) {
  const hint = error instanceof StateError ? error.hint : String(error);
  process.stdout.write(JSON.stringify({ recorded, error: error instanceof Error ? error.name : '', hint }));
}
process.exit();
