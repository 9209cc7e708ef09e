import { describe, expect, it } from 'vitest';
import {
  encodeBefore,
  encodeVersion,
  restoreVersions,
  type StoredVersion,
  versionHead,
} from '../../src/state/stored-version.ts';

const BODIES = ['{"price":12}', '{"price":11}', '{"price":10}'];

/** Three versions of a record, newest first. */
function stored(owner?: string): StoredVersion[] {
  return BODIES.map((after, index) => {
    const body = BODIES[index + 1];
    const before = body === undefined ? null : encodeBefore(() => ({ body, after }));
    const head = versionHead({ kind: 'acknowledged', id: 7, spans: [{ file: 0, from: 4, to: 6 }], owner });
    const run = { id: `run-${index}`, job: 'nightly', at: 0, files: [] };
    return { run, at: 1_000 - index, content: encodeVersion(head, before) };
  });
}

describe('a stored version', () => {
  it('has its owner, whatever its name', () => {
    const [plain] = restoreVersions(stored(), BODIES[0] ?? null);
    expect(plain?.owner).toBeUndefined();
    for (const owner of ['catalog', 'Köln, "B" & 50 %', "it's\n(a) job!*~"]) {
      const versions = restoreVersions(stored(owner), BODIES[0] ?? null);
      expect(versions).toMatchObject(
        BODIES.map((body) => ({ owner, body, id: 7, spans: [{ file: 0, from: 4, to: 6 }] })),
      );
    }
  });

  it('that is damaged ends what is known of its record, and keeps the newer ones', () => {
    const heads = ['', 'garbage', 'a7 4-6 %E4\n', 'a', '\n', 'z7 4-6\n'];
    for (const content of heads.map((head) => Buffer.from(head))) {
      const rows = stored().map((row, index) => (index === 1 ? { ...row, content } : row));
      const versions = restoreVersions(rows, BODIES[0] ?? null);
      expect(versions.map(({ body }) => body)).toEqual([BODIES[0], BODIES[1], undefined]);
      expect(versions[1]?.before).toBeUndefined();
    }
  });
});
