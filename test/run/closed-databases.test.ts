import { DatabaseSync } from 'node:sqlite';
import { expect, it, vi } from 'vitest';
import { openContext } from '../../src/cli/open-context.ts';
import { readImportRequest } from '../../src/cli/read-request.ts';
import { executeRun } from '../../src/run/execute-run.ts';
import { showRecord } from '../../src/run/show-record.ts';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';

/** Of each database of a crosswalk that was opened since: whether it still is. */
function watchCrosswalks(): () => readonly boolean[] {
  const { calls, contexts } = vi.spyOn(DatabaseSync.prototype, 'prepare').mock;
  return () =>
    contexts.flatMap((database, index) =>
      database instanceof DatabaseSync && calls[index]?.[0].includes('INTO ids') === true
        ? [database.isOpen]
        : [],
    );
}

it('a run closes the database of its crosswalk, and so does a record that is shown', async () => {
  const areOpen = watchCrosswalks();
  await using store = await startStore({ seed: 1 });
  await using workspace = await makeWorkspace({
    'stores.yaml': `main: { baseUrl: "${store.baseUrl}", apiKey: "\${STORE_API_KEY}" }\n`,
    'mappings/crm.yaml': 'import: contacts\ncolumns: { email: E-mail }\ncontact: { email: email }\n',
    'jobs/crm.yaml':
      'import: contacts\nstore: main\nsource: { path: crm.csv }\nmapping: crm\ncrosswalk: { path: ids.csv, match: email }\n',
    'crm.csv': 'E-mail\nann@mail.example\n',
    'ids.csv': 'id,email\n7,ann@mail.example\n',
    '.env': `STORE_API_KEY=${store.apiKey}\n`,
  });
  await using open = await openContext(workspace.dir, () => {}, new AbortController().signal);
  const readRequest = () => readImportRequest(open.workspace, 'crm', false);
  const request = await readRequest();
  const { run } = await executeRun(open.context, { kind: 'run', request });
  expect(run).toMatchObject({ totals: { new: 1 } });
  expect(areOpen()).toEqual([false]);

  const { run: plan } = await executeRun(open.context, { kind: 'plan', request });
  const shown = async () => await showRecord(open.context, await readRequest(), plan, '7');
  expect(await shown()).toMatchObject({ kind: 'found' });
  // The request that has planned keeps its own: a record that it shows is read at once.
  expect(areOpen()).toEqual([false, true, false]);
  expect(await showRecord(open.context, request, plan, '7')).toMatchObject({ kind: 'found' });
  expect(areOpen()).toHaveLength(3);
});
