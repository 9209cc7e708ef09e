import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { setupNightly } from '../support/nightly.ts';
import { patience } from '../support/pace.ts';
import { seedOf } from '../support/seed.ts';
import { seededRandom } from '../support/store/random.ts';

const PRODUCTS = 60;
const DAMAGES = 12;
const MOST_BITS = 40;
/**
 * What a command says of damage. A flipped bit in a serial or in the lineage is seen as a state that is older than its witness,
 * one in the number of the schema as the state of another version.
 */
const SAYS_DAMAGE = /damaged|cannot be read|state is older than|state has lost|this Storeferry knows version/;

it('says what is damaged and what to do when bits of the state are flipped, or ends as it should', {
  timeout: patience(300_000),
}, async (context) => {
  const random = seededRandom(seedOf(context));
  await using setup = await setupNightly(PRODUCTS);
  const { store, workspace } = setup;
  const first = await workspace.storeferry('run', 'nightly', '--json');
  expect(first.json()).toMatchObject({ status: 'done', applied: PRODUCTS });
  const planned = String((await workspace.storeferry('plan', 'nightly', '--resend', '--json')).json()['run']);
  const folder = join(workspace.dir, '.storeferry');
  const kept = join(workspace.dir, 'kept');
  await cp(folder, kept, { recursive: true });
  const sound = await readFile(join(kept, 'state.db'));
  const commands = [
    ['run', 'nightly', '--json'],
    ['plan', 'nightly', '--json'],
    ['approve', planned, '--json'],
    ['retry', String(first.json()['run']), '--json'],
    ['runs'],
    ['runs', planned],
  ];
  for (let number = 0; number < DAMAGES; number++) {
    const damaged = Buffer.from(sound);
    for (let bits = 1 + Math.floor(random() * MOST_BITS); bits > 0; bits--) {
      const at = Math.floor(random() * damaged.length);
      damaged[at] = (damaged[at] ?? 0) ^ (1 << Math.floor(random() * 8));
    }
    await rm(folder, { recursive: true });
    await cp(kept, folder, { recursive: true });
    await writeFile(join(folder, 'state.db'), damaged);
    const command = commands[number % commands.length] ?? [];
    const ended = await workspace.storeferry(...command);
    const { code, stdout, stderr } = ended;
    const shown = { number, command: command.join(' '), code, output: stdout + stderr };
    expect(shown).toMatchObject({ code: expect.toSatisfy((value) => [0, 1, 2].includes(Number(value))) });
    expect(shown.output, `damage ${number}`).not.toMatch(/bug in Storeferry|^ +at .*:\d+:\d+/m);
    if (command.includes('--json')) {
      const { error } = ended.json();
      expect({ number, failed: code !== 0 }).toEqual({ number, failed: error !== null });
    }
    if (code === 1) expect(shown).toMatchObject({ output: expect.stringMatching(SAYS_DAMAGE) });
  }
  expect(store.shop.products.size).toBe(PRODUCTS);
  expect(store.figures().duplicates).toBe(0);
});
