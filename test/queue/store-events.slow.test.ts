import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { manyOrders, setupExports } from '../support/exports.ts';
import { freePort } from '../support/free-port.ts';
import { delay } from '../support/store/faults.ts';
import { until } from '../support/until.ts';

const RUNS = z.object({
  runs: z.array(z.object({ startedAt: z.coerce.date(), finishedAt: z.coerce.date().nullable() })),
});
const SECRET = 'a-secret-of-some-length';

it('runs the export once for many events, and again for one that comes while it reads', async () => {
  const port = await freePort();
  const job = 'export: orders\ndestination: { path: "out/{number}.csv", mode: new }\n';
  await using setup = await setupExports({ fresh: job }, {}, { EVENTS_SECRET: SECRET });
  const { store, workspace } = setup;
  const event = async () => {
    const address = `http://127.0.0.1:${port}/events/fresh?secret=${SECRET}`;
    expect((await fetch(address, { method: 'POST', body: '{"event":"order_created"}' })).status).toBe(202);
  };
  const files = async () =>
    (await readdir(join(workspace.dir, 'out')).catch(() => [])).filter((name) => name.endsWith('.csv'));
  store.shop.orders.push(...manyOrders(3));
  const worker = workspace.start('worker', '--listen', String(port));
  await worker.printed('listening');
  store.misbehave({ does: delay(60_000) });
  for (let events = 0; events < 10; events++) await event();
  await until(() => store.requests.length > 0);
  await event();
  store.behave();
  await until(() => store.requests.length === 2);
  await until(async () => (await files()).length > 0);
  const { runs } = RUNS.parse((await workspace.storeferry('runs', 'fresh', '--json')).json());
  expect(runs).toHaveLength(2);
  // Events that never end do not keep the store busy: a quarter of the time at most.
  const [second, first] = runs.map(({ startedAt, finishedAt }) => ({
    from: startedAt.getTime(),
    to: finishedAt?.getTime() ?? 0,
  }));
  if (first === undefined || second === undefined) throw new Error('no runs');
  expect(second.from - first.to).toBeGreaterThan(2 * (first.to - first.from));
  worker.process.kill('SIGTERM');
  expect((await worker.ended).code).toBe(0);
  expect(worker.stderr()).not.toContain(SECRET);
});
