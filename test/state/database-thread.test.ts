import { expect, it } from 'vitest';
import { runProcess } from '../support/processes.ts';

const THREAD = new URL('../../src/state/sqlite/database-thread.ts', import.meta.url).href;
const ENDED = 4;

it('a process waits for the close of its database, also while a call is in progress', async () => {
  const script = `
    const { startDatabaseThread } = await import(${JSON.stringify(THREAD)});
    const { calls, close } = await startDatabaseThread(':memory:');
    const entry = calls.entry('none');
    await close();
    await entry;
    process.exitCode = ${ENDED};
  `;
  const { code, stderr } = await runProcess(process.execPath, ['--input-type=module', '--eval', script]);
  expect({ code, stderr }).toEqual({ code: ENDED, stderr: '' });
});
