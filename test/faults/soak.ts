import { once } from 'node:events';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startProcess } from '../support/processes.ts';

const VITEST = join(import.meta.dirname, '..', '..', 'node_modules', 'vitest', 'vitest.mjs');
const CONFIG = join(import.meta.dirname, 'vitest.config.ts');

/** The tests that are the longer the more is asked for; the others say the same however often they run. */
const SOAKED = ['killed-process', 'chaos-on-redis', 'chaos-embedded', 'hostile-sources', 'whole-files'];

const USAGE = `npm run soak -- [options]: the long version of the tests of faults
  --minutes <n>   how long faults of all kinds strike two workers, and one process (30)
  --kills <n>     how often a process is killed and continued (50)
  --rows <n>      rows of the largest source (5000000)
  --seed <n>      of all chance, to see a failure again
  --only <name>   one of ${SOAKED.join(', ')}
`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    kills: { type: 'string', default: '50' },
    rows: { type: 'string', default: '5000000' },
    seed: { type: 'string', default: '' },
    only: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  process.stdout.write(USAGE);
} else {
  const files = SOAKED.filter((name) => values.only === undefined || name.includes(values.only));
  const paths = files.map((name) => `test/faults/${name}`);
  const child = startProcess(process.execPath, [VITEST, 'run', '--config', CONFIG, ...paths], {
    stdio: 'inherit',
    env: {
      ...process.env,
      STOREFERRY_SOAK: '1',
      STOREFERRY_SOAK_MINUTES: values.minutes,
      STOREFERRY_SOAK_KILLS: values.kills,
      STOREFERRY_SOAK_ROWS: values.rows,
      STOREFERRY_SEED: values.seed,
    },
  });
  const [code] = await once(child, 'close');
  process.exitCode = Number(code ?? 1);
}
