import { describe, expect, it } from 'vitest';
import { availableMappings } from '../../src/config/workspace.ts';
import { InterruptedError } from '../../src/model/storeferry-error.ts';
import {
  explainGuess,
  guessIsolated,
  guessSource,
  lookAtSource,
  previewIsolated,
  previewRecords,
} from '../../src/onboarding/preview-source.ts';
import { workspaceWith } from '../source/folder-on-disk.ts';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';

const NEVER = new AbortController().signal;
const FILES = {
  'shopify.csv': shopifyCatalog(manyProducts(1_000)),
  'unknown.csv': `Artikelnummer,Bezeichnung,Preis,Größe\n${'A-1,Lampe,"1,50",M\n'.repeat(2_000)}`,
};

describe('a large file, which is examined in a thread', () => {
  it.each(Object.keys(FILES))('gets the same guess and preview (%s)', async (name) => {
    await using workspace = await workspaceWith(FILES);
    const look = await lookAtSource(`${workspace.workspaceDir}/${name}`);
    const known = availableMappings(workspace.workspaceDir, {});
    const options = { params: {}, weightUnit: 'kg', now: 0 } as const;
    const request = { look, known, ...options, mapping: undefined, imports: undefined, answers: {} };
    const guess = await guessIsolated(request, NEVER);
    expect(guess).toEqual(await guessSource(request));
    // It tells the best of the fitting mappings by identity.
    expect(explainGuess(guess.recognised)).toEqual(explainGuess((await guessSource(request)).recognised));
    const { spec = known[0]?.spec } = guess;
    if (spec === undefined) throw new Error('no mapping');
    const preview = await previewIsolated(look, spec, options, NEVER).catch(String);
    expect(preview).toEqual(await previewRecords(look, spec, options).catch(String));
  });

  it('ends at a signal', async () => {
    await using workspace = await workspaceWith(FILES);
    const look = await lookAtSource(`${workspace.workspaceDir}/shopify.csv`);
    const stop = new AbortController();
    const options = { params: {}, weightUnit: 'kg', now: 0 } as const;
    const request = { look, known: [], ...options, mapping: undefined, imports: undefined, answers: {} };
    const guess = guessIsolated(request, stop.signal);
    const reason = new InterruptedError('Interrupted by SIGTERM.');
    stop.abort(reason);
    await expect(guess).rejects.toBe(reason);
  });
});
