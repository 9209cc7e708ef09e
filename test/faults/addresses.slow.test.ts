import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { figure, skipFault } from '../support/figure.ts';
import { atLeast, none } from '../support/measure.ts';
import { runProcess } from '../support/processes.ts';
import { SCALE } from './scale.ts';

const SCRIPT = join(import.meta.dirname, 'metadata-address.ts');
const PREPARE =
  'ip link set lo up && ip addr add 8.8.4.99/32 dev lo && ip addr add 169.254.169.254/32 dev lo';
const ADDRESSES = 3;

const said = z.object({ asked: z.int(), led: z.int(), refused: z.int(), planned: z.int() });

function inOwnNetwork(command: string, ...args: readonly string[]) {
  return runProcess('unshare', ['--net', 'sh', '-c', `${PREPARE} && exec "$@"`, 'sh', command, ...args]);
}

it('a source never leads to the address at which a cloud serves its secrets, directly or by a redirect', {
  timeout: SCALE.patienceMs,
}, async (context) => {
  if ((await inOwnNetwork('true').catch(() => undefined))?.code !== 0) {
    skipFault(context, {
      invariant: 25,
      reason: 'an address of a cloud takes a network of its own (unshare, ip)',
    });
    return;
  }
  const { stdout, stderr } = await inOwnNetwork(process.execPath, SCRIPT);
  expect(stdout, stderr).not.toBe('');
  const { asked, led, refused, planned } = said.parse(JSON.parse(stdout));
  figure(context, {
    invariant: 25,
    seed: null,
    fired: { 'redirects to a metadata address': led, 'metadata address as the source': 1 },
    measured: [
      none('requests that a metadata address has seen', asked),
      none('plans made of its answer', planned),
      atLeast(ADDRESSES, 'sources refused by name of the danger', refused),
    ],
  });
});
