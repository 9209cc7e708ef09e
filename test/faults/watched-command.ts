import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import type { Watched } from '../support/watch-process.ts';
import { type CommandResult, makeWorkspace } from '../support/workspace.ts';

const WATCH = pathToFileURL(join(import.meta.dirname, '..', 'support', 'watch-process.ts')).href;

const watchedSchema = z.object({
  maxRssMib: z.number(),
  loopDelayMs: z.number(),
  loopWorkMs: z.number(),
  polluted: z.array(z.string()),
}) satisfies z.ZodType<Watched>;

/** Runs a command in a workspace of these files, and gives what its process used besides how it ended. */
export async function watchedCommand(
  files: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>>,
  prepare: (dir: string) => Promise<void>,
  ...args: readonly string[]
): Promise<{ readonly ended: CommandResult; readonly watched: Watched }> {
  const folder = await mkdtemp(join(tmpdir(), 'storeferry-watch-'));
  const file = join(folder, 'watched.json');
  const artifacts = join(folder, 'artifacts');
  try {
    await using workspace = await makeWorkspace(files, {
      ...env,
      NODE_OPTIONS: `--import=${WATCH}`,
      STOREFERRY_WATCH: file,
      STOREFERRY_WATCH_FROM: artifacts,
      ARTIFACTS_URL: artifacts,
    });
    await prepare(workspace.dir);
    const ended = await workspace.storeferry(...args);
    return { ended, watched: watchedSchema.parse(JSON.parse(await readFile(file, 'utf8'))) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
