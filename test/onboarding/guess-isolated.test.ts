import { describe, expect, it } from 'vitest';
import { availableMappings } from '../../src/config/workspace.ts';
import { InterruptedError } from '../../src/model/storeferry-error.ts';
import { candidateOf, recogniseFile } from '../../src/onboarding/guess-mapping.ts';
import {
  examineIsolated,
  explainGuess,
  fileToGuess,
  guessSource,
  lookAtSource,
  previewSource,
} from '../../src/onboarding/preview-source.ts';
import { workspaceWith } from '../source/folder-on-disk.ts';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';

const NEVER = new AbortController().signal;
const FILES = {
  'shopify.csv': shopifyCatalog(manyProducts(1_000)),
  'unknown.csv': `Artikelnummer,Bezeichnung,Preis,Größe\n${'A-1,Lampe,"1,50",M\n'.repeat(2_000)}`,
};

it('of a wide file fewer rows are looked at', async () => {
  const header = Array.from({ length: 10_000 }, (_, index) => `c${index}`).join(',');
  await using workspace = await workspaceWith({ 'wide.csv': `${header}\n${'a,b\n'.repeat(5_000)}` });
  const { rows, rowCount } = await lookAtSource(`${workspace.workspaceDir}/wide.csv`);
  expect({ rows: rows.length, rowCount }).toEqual({ rows: 100, rowCount: 5_000 });
});

it('a charset that a job or its mapping names is for CSV alone', async () => {
  await using workspace = await workspaceWith({ 'goods.json': '[{"sku":"a"},{"sku":"b"}]' });
  const look = (options: Parameters<typeof lookAtSource>[1]) =>
    lookAtSource(`${workspace.workspaceDir}/goods.json`, options);
  expect((await look({ encoding: 'windows-1252' })).rowCount).toBe(2);
  expect((await look({ csv: { encoding: 'windows-1252' } })).rowCount).toBe(2);
});

describe('a large file, which is examined in a thread', () => {
  it.each(Object.keys(FILES))('gets the same guesses and preview (%s)', async (name) => {
    await using workspace = await workspaceWith(FILES);
    const look = await lookAtSource(`${workspace.workspaceDir}/${name}`);
    const known = availableMappings(workspace.workspaceDir, {}).map(candidateOf);
    const options = { params: {}, weightUnit: 'kg', now: 0 } as const;
    const request = { look, known, ...options, mapping: undefined, imports: undefined, answers: {} };
    const guess = await examineIsolated(look, NEVER, 'guess', request);
    expect(guess).toEqual(await guessSource(request));
    // It tells the best of the fitting mappings by identity.
    expect(explainGuess(guess.recognised)).toEqual(explainGuess((await guessSource(request)).recognised));
    const { spec = known[0]?.spec } = guess;
    if (spec === undefined) throw new Error('no mapping');
    const preview = await examineIsolated(look, NEVER, 'preview', look, spec, options).catch(String);
    expect(preview).toEqual(await previewSource(look, spec, options).catch(String));
    const file = fileToGuess(look);
    expect(await examineIsolated(look, NEVER, 'recognise', file, known)).toEqual(recogniseFile(file, known));
  });

  it('ends at a signal', async () => {
    await using workspace = await workspaceWith(FILES);
    const look = await lookAtSource(`${workspace.workspaceDir}/shopify.csv`);
    const stop = new AbortController();
    const options = { params: {}, weightUnit: 'kg', now: 0 } as const;
    const request = { look, known: [], ...options, mapping: undefined, imports: undefined, answers: {} };
    const guess = examineIsolated(look, stop.signal, 'guess', request);
    const reason = new InterruptedError('Interrupted by SIGTERM.');
    stop.abort(reason);
    await expect(guess).rejects.toBe(reason);
  });
});
