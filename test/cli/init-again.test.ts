import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Asking, askJob } from '../../src/cli/init/ask-job.ts';
import { INIT_OPTIONS, type InitOptions } from '../../src/cli/init/init-options.ts';
import type { Prompter } from '../../src/cli/init/prompter.ts';
import { availableMappings } from '../../src/config/workspace.ts';

const NO_OPTIONS = Object.fromEntries(
  Object.entries(INIT_OPTIONS).map(([key, { fallback }]) => [key, fallback]),
) as InitOptions;

const unexpected = (message: string) => Promise.reject(new Error(`unexpected question: ${message}`));

/** Asks for a job in a folder; only the file is typed. */
async function askFor(dir: string, options: Partial<InitOptions>, text: Prompter['text'] = unexpected) {
  const said: string[] = [];
  const asking: Asking = {
    options: { ...NO_OPTIONS, sandbox: true, yes: true, ...options },
    prompter: { text, choose: unexpected, secret: unexpected, confirm: unexpected },
    setting: {
      dir,
      mappings: availableMappings(dir, {}),
      stores: undefined,
      known: { url: undefined, apiKey: undefined, overridden: () => [] },
      sandbox: { url: 'http://127.0.0.1:4010', apiKey: 'sandbox-key' },
      isVisitor: false,
      now: 0,
    },
    knownProducts: () => Promise.resolve(null),
    say: (line) => void said.push(line),
    signal: new AbortController().signal,
  };
  return { made: await askJob(asking), said };
}

describe('a file that init asks for', () => {
  it('is read again after it was refused and corrected', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'storeferry-again-'));
    try {
      const path = join(dir, 'list.csv');
      await writeFile(path, '');
      let asked = 0;
      const { made, said } = await askFor(dir, { job: 'list' }, async (message, { check } = {}) => {
        expect(message).toContain('The file to import');
        asked += 1;
        if (asked === 2) await writeFile(path, 'Title,Price,SKU\nMug,4.00,m1\n');
        expect(asked).toBeLessThan(3);
        await check?.(path);
        return path;
      });
      expect(said.join('\n')).toContain('This file cannot be imported.');
      expect([asked, made.job.name]).toEqual([2, 'list']);
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  });

  it('may not be an address where it has the ids of contacts: the advice names that key of the job', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'storeferry-again-'));
    try {
      const source = join(dir, 'people.csv');
      await writeFile(source, 'Name,Email\nAda,ada@example.com\n');
      const options = {
        source,
        mapping: 'new',
        import: 'contacts',
        crosswalk: 'https://crm.example/ids.csv',
      };
      await expect(askFor(dir, options)).rejects.toThrow('by `crosswalk: { url: … }`');
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  });
});
