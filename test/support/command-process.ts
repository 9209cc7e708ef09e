import { flushCompileCache } from 'node:module';
import { join } from 'node:path';

// The process of `WarmCommand`: it has the program loaded, and runs one command after the other as a process of its own would.

type Main = typeof import('../../src/cli/commands.ts') & typeof import('../../src/cli/terminal.ts');

/** What is to be run, and with which environment. */
export interface CommandRequest {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Printed after the output, to both streams: nothing of this command comes after it. */
  readonly end: string;
}

const [folder = '', extension = ''] = process.argv.slice(2);
const { runCommandLine }: Pick<Main, 'runCommandLine'> = await import(join(folder, `commands${extension}`));
const { processTerminal }: Pick<Main, 'processTerminal'> = await import(join(folder, `terminal${extension}`));
const terminal = processTerminal();
// It is killed in the end, when nothing is written any more.
flushCompileCache();

process.on('message', async ({ args, env, end }: CommandRequest) => {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  const code = await runCommandLine(args, terminal);
  process.stdout.write(end);
  process.stderr.write(end);
  process.send?.(code);
});
