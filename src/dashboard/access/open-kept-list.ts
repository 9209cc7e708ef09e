import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { writeWhole } from '../../config/edit-file.ts';
import { errorCode, UsageError } from '../../model/storeferry-error.ts';
import type { RunContext } from '../../run/run-context.ts';

/** The name of a person or a token; as a browser checks it too. */
const KEPT_NAME = /^[\w.@+\-]{1,64}$/v;
export const keptName = z.string().regex(KEPT_NAME);
export const KEPT_NAME_CHECK = {
  pattern: KEPT_NAME.source,
  wrong: "Give letters, digits, '.', '_', '-', '@' and '+', at most 64.",
  required: true,
} as const;

/** A list with unique names in the workspace, which gives access to the dashboard. */
interface KeptListOptions<Entry> {
  /** Its key in the file. */
  readonly kind: 'people' | 'tokens';
  readonly file: string;
  readonly entry: z.ZodType<Entry>;
  readonly max: number;
}

/** What of a context a list needs. */
export type KeptListContext = Pick<RunContext, 'workspaceDir' | 'clock' | 'state' | 'newRunId'>;

/** A list in a file that only its owner can read. It is read each time: a command or another dashboard may have changed it. */
export function openKeptList<Entry extends { readonly name: string }>(
  { workspaceDir, state: { locks }, newRunId }: KeptListContext,
  { kind, file: name, entry, max }: KeptListOptions<Entry>,
) {
  const file = join(workspaceDir, '.storeferry', name);
  const schema = z.object({ version: z.literal(1), [kind]: z.unknown() });
  const entriesSchema = z.array(entry);
  const one = kind === 'people' ? 'person' : 'token';
  const list = (): readonly Entry[] => {
    try {
      return entriesSchema.parse(schema.parse(JSON.parse(readFileSync(file, 'utf8')))[kind]);
    } catch (cause) {
      if (errorCode(cause) === 'ENOENT') return [];
      const hint = `Remove it, and make new ${kind}: storeferry ${kind}`;
      // Without the folder of the workspace: visitors see it before they have signed in.
      throw new UsageError(`.storeferry/${name}: the ${kind} of the dashboard cannot be read.`, {
        cause,
        hint,
      });
    }
  };
  const change = async (changed: (entries: readonly Entry[]) => readonly Entry[]): Promise<void> => {
    const holder = { job: kind, run: newRunId() };
    const lock = { signal: AbortSignal.timeout(LOCK_WITHIN_MS), onWait() {} };
    await using _lock = await locks.acquire(file, holder, lock);
    const entries = changed(list());
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeWhole(file, [`${JSON.stringify({ version: 1, [kind]: entries }, null, 2)}\n`], {
      mode: 0o600,
    });
  };
  const unknown = (wanted: string): UsageError =>
    new UsageError(`There is no ${one} ${wanted}.`, { hint: `\`storeferry ${kind}\` lists them.` });
  return {
    list,
    /** UsageError for a name that is taken. */
    add: async (made: Entry): Promise<void> =>
      await change((entries) => {
        if (entries.some((known) => known.name === made.name))
          throw new UsageError(`There is a ${one} ${made.name} already.`, {
            hint: `Remove it first, or choose another name. \`storeferry ${kind}\` lists them.`,
          });
        if (entries.length >= max)
          throw new UsageError(`There are ${max} ${kind}.`, { hint: 'Remove those that are not used.' });
        return [...entries, made];
      }),
    /** Removes the entries that match, if there are any. */
    removeAll: async (matches: (known: Entry) => boolean): Promise<void> => {
      if (list().some(matches)) await change((entries) => entries.filter((known) => !matches(known)));
    },
    /** UsageError if there is none of this name. */
    replace: async (wanted: string, by: (known: Entry) => Entry | undefined): Promise<void> =>
      await change((entries) => {
        if (entries.every((known) => known.name !== wanted)) throw unknown(wanted);
        return entries.flatMap((known) => (known.name === wanted ? (by(known) ?? []) : known));
      }),
  };
}

const LOCK_WITHIN_MS = 10_000;
