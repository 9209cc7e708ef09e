import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { setupNightly } from '../support/nightly.ts';

it('says that the state was lost until a run has sent everything again, whichever run noticed it first', async () => {
  await using setup = await setupNightly(5);
  const { workspace } = setup;
  const says = async (...args: string[]) => {
    const { stdout, stderr } = await workspace.storeferry(...args);
    return (stdout + stderr).replaceAll(/\s+/g, ' ').includes('The state is new');
  };
  expect(await says('run', 'nightly')).toBe(false);
  for (const end of ['', '-wal', '-shm'])
    await rm(join(workspace.dir, `.storeferry/state.db${end}`), { force: true });
  expect(await says('plan', 'nightly')).toBe(true);
  expect(await says('plan', 'nightly')).toBe(true);
  expect(await says('run', 'nightly')).toBe(true);
  expect(await says('run', 'nightly')).toBe(false);
});
