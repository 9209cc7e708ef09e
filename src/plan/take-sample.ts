import type { DeferredRecord, Mapped } from '../model/mapped-record.ts';
import { NOT_IN_SAMPLE } from '../model/plan.ts';
import type { Reason } from '../model/reason.ts';
import type { Sample } from '../model/run.ts';
import { sampleFlags } from '../model/shell-word.ts';
import { SourceError } from '../model/storeferry-error.ts';

const KEYS_NAMED = 3;

/**
 * Turns everything outside of a sample into skipped records. The whole source is read, so that further copies of a key
 * of the sample are found: what a sample sends, a run without it would send as well. SourceError if the source lacks a
 * key of the sample.
 */
export async function* takeSample(
  batches: AsyncIterable<readonly (Mapped | DeferredRecord)[]>,
  sample: Sample,
): AsyncGenerator<readonly (Mapped | DeferredRecord)[]> {
  const { only, limit = Number.POSITIVE_INFINITY } = sample;
  const wanted = only === undefined ? undefined : new Set(only);
  const missing = new Set(only);
  const taken = new Set<string>();
  let keyless = 0;
  const reason: Reason = {
    code: NOT_IN_SAMPLE,
    message: `not in the sample of this run (${sampleFlags(sample)})`,
  };
  const isInside = (item: Mapped | DeferredRecord): boolean => {
    const { key } = item;
    if (key === null ? wanted !== undefined : wanted?.has(key) === false) return false;
    return (key !== null && taken.has(key)) || taken.size + keyless < limit;
  };
  for await (const batch of batches) {
    yield batch.map((given) => {
      if (given.key !== null) missing.delete(given.key);
      // Rows that the mapping skips do not use up the limit, so they must be known as such.
      const item = given.kind === 'deferred' && isInside(given) ? given.map() : given;
      if (item.kind === 'skipped') return item;
      if (isInside(item)) {
        if (item.key === null) keyless++;
        else taken.add(item.key);
        return item;
      }
      const { key, rows, spans } = item;
      return { kind: 'skipped', key, rows, spans, reason };
    });
  }
  if (missing.size > 0) throw unknownKeys([...missing]);
}

function unknownKeys(keys: readonly string[]): SourceError {
  const named = keys.slice(0, KEYS_NAMED).map((key) => JSON.stringify(key));
  const more = keys.length > KEYS_NAMED ? ` and ${keys.length - KEYS_NAMED} more` : '';
  return new SourceError(
    `The source has no record with the ${keys.length === 1 ? 'key' : 'keys'} ${named.join(', ')}${more}.`,
    {
      hint: 'Name records as the mapping does: by the url of a product, by the id of a contact, or by what a job with `mode: update` matches.',
    },
  );
}
