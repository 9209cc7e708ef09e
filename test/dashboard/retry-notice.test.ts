import { expect, it } from 'vitest';
import { retryNotice } from '../../src/dashboard/actions/correct-routes.ts';
import { NO_TOTALS } from '../../src/report/run-facts.ts';
import type { RunContext } from '../../src/run/run-context.ts';
import { facts } from '../report/run-facts.ts';

it.each([
  ['done', 2, 'has sent rows of this run already'],
  ['done-with-rejects', 0, 'has sent no row of this run'],
  ['running', 0, 'is sending rows of this run now'],
] as const)('says of a retry that is %s and has sent %d what it did', async (status, applied, words) => {
  const retry = {
    ...facts({ kind: 'retry', status, retryOf: 'k1' }).run,
    totals: { ...NO_TOTALS, applied },
  };
  const state = { runs: { list: async () => [retry] } } as unknown as RunContext['state'];
  const notice = await retryNotice({ state }, { ...retry, id: 'k1' });
  expect(notice?.text).toContain(`a retry, ${words}.`);
});
