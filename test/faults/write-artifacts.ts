import { createHash } from 'node:crypto';
import { StoreferryError } from '../../src/model/storeferry-error.ts';
import { folderArtifacts } from '../../src/state/folder-artifacts.ts';

/**
 * Writes artifacts repeatedly, each ending with the digest of what is before it, so that a part of one can be
 * recognised. Prints a line for each: written, or refused, or `bug` for an error that is not ours.
 */
const [, , root = '', rounds = '0'] = process.argv;
const folder = folderArtifacts(root).run('run-1');
for (let round = 0; round < Number(rounds); round++) {
  const pieces = Array.from({ length: 1 + (round % 7) }, (_, piece) =>
    `${round}-${piece} `.repeat(3_000 * (1 + (round % 5))),
  );
  const digest = createHash('sha256').update(pieces.join('')).digest('hex');
  const said = await folder.write(`file-${round % 5}`, [...pieces, digest]).then(
    () => 'written',
    (error: unknown) => (error instanceof StoreferryError ? 'refused' : 'bug'),
  );
  process.stdout.write(`${said}\n`);
}
