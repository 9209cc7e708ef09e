import { StateError } from '../../src/model/storeferry-error.ts';
import { folderArtifacts } from '../../src/state/folder-artifacts.ts';

/** Writes an artifact that does not fit on the disk, and prints what is said about it. */
const folder = folderArtifacts(String(process.argv[2])).run('run-1');
await folder.write('before', ['fits']);
try {
  await folder.write(
    'shard',
    Array.from({ length: 1_000 }, () => 'x'.repeat(1_000)),
  );
} catch (error) {
  const hint = error instanceof StateError ? error.hint : String(error);
  process.stdout.write(JSON.stringify({ error: error instanceof Error ? error.name : '', hint }));
}
