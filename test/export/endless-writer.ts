import { openDestination } from '../../src/export/open-destination.ts';

/** Absolute paths say themselves where they may be. */
const ANYWHERE = { workspaceDir: '/nowhere' };

/** Writes the file named on its command line without ever coming to an end. */
const [path = ''] = process.argv.slice(2);

async function* endless(): AsyncGenerator<string> {
  for (let line = 0; ; line++) {
    yield `new line ${line}\n`;
    if (line === 1_000) process.stdout.write('writing\n');
    if (line > 1_000) await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const destination = await openDestination({ path }, ANYWHERE);
await destination.write(endless(), { signal: new AbortController().signal });
