import { expect, it } from 'vitest';
import { setupNightly } from '../support/nightly.ts';

it('runs of a job that does not exist are refused, with what there is', async () => {
  await using setup = await setupNightly(1);
  const refused = await setup.workspace.storeferry('runs', '--job', 'nightli');
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain("There is no job 'nightli' in jobs/; did you mean 'nightly'?");
  const known = await setup.workspace.storeferry('runs', '--job', 'nightly');
  expect(known.code).toBe(0);
  expect(known.stdout).toContain('No runs yet.');
});
