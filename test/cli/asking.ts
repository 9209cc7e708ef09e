import { tmpdir } from 'node:os';
import type { Asking } from '../../src/cli/init/ask-job.ts';
import { INIT_OPTIONS, type InitOptions } from '../../src/cli/init/init-options.ts';
import type { Prompter } from '../../src/cli/init/prompter.ts';
import { availableMappings } from '../../src/config/workspace.ts';

/** As a command line without options gives them. */
export const NO_OPTIONS = Object.fromEntries(
  Object.entries(INIT_OPTIONS).map(([key, { fallback }]) => [key, fallback]),
) as InitOptions;

const SHIPPED = availableMappings(tmpdir(), {});

/** What asks for a job in a folder that is no workspace yet; what it says is dropped. */
export function askingOf(options: Partial<InitOptions>, prompter: Prompter | null, dir: string): Asking {
  return {
    options: { ...NO_OPTIONS, ...options },
    prompter,
    setting: {
      dir,
      mappings: SHIPPED,
      stores: undefined,
      known: { url: undefined, apiKey: undefined, overridden: () => [] },
      sandbox: { url: 'http://127.0.0.1:4010', apiKey: 'sandbox-key' },
      isVisitor: false,
      now: 0,
    },
    knownProducts: () => Promise.resolve(null),
    say: () => undefined,
    signal: new AbortController().signal,
  };
}
