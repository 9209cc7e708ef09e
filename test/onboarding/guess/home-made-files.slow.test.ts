import { globSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeWorkspace } from '../../support/workspace.ts';
import { HOME_MADE_FILES } from './home-made-files.ts';

/** The bodies that a plan would send, without `type`. */
function planned(dir: string): unknown[] {
  return (
    globSync(join(dir, '.storeferry/artifacts/*/shard-*.jsonl'))
      .sort()
      // Behind a zero byte are the bodies once more, packed.
      .flatMap((file) => readFileSync(file, 'latin1').split('\0', 1))
      .flatMap((lines) => Buffer.from(lines, 'latin1').toString().trim().split('\n'))
      .map((line) => {
        const { type, ...body } = JSON.parse(line.split('\t')[1] ?? 'null');
        expect(type).toBe('physical');
        return body;
      })
  );
}

describe('files that shops and suppliers make themselves', () => {
  it.each(HOME_MADE_FILES)('$name is planned right, with no more edits than it says', async (file) => {
    await using shop = await makeWorkspace({});
    const source = join(shop.dir, file.name);
    await writeFile(source, file.bytes);
    const init = async (...edits: readonly string[]) => {
      const args = ['init', '--sandbox', '--source', source, '--yes', ...edits];
      const { code, stdout, stderr } = await shop.storeferry(...args);
      return { code, said: stdout + stderr };
    };
    if (file.edits.length > 0) {
      const refused = await init();
      expect(refused.code, refused.said).toBe(2);
      for (const question of file.asks ?? []) expect(refused.said).toContain(question);
    }
    const made = await init(...file.edits);
    expect(made.code, made.said).toBe(0);
    expect(planned(shop.dir), made.said).toEqual(file.sends);
  });

  it('are twenty-three, of which at least nineteen need no edit', () => {
    expect(HOME_MADE_FILES).toHaveLength(23);
    expect(HOME_MADE_FILES.filter(({ edits }) => edits.length === 0).length).toBeGreaterThanOrEqual(19);
  });
});
