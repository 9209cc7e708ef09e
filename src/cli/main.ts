#!/usr/bin/env node
// First, and the only one of its kind: an older Node must be refused before it meets a name that it does not know.
import './node-version.cjs';

/** Once a command is over, a connection or timer that was left open must not keep its process alive. */
const LINGER_MS = 1_000;

// A function, since Node before 14 cannot read an `await` outside of one.
async function main(): Promise<void> {
  const { enableCompileCache } = await import('node:module');
  enableCompileCache();
  const { boundNursery } = await import('./bound-nursery.ts');
  const { runCommandLine } = await import('./program.ts');
  const { processTerminal } = await import('./terminal.ts');

  boundNursery();
  process.exitCode = await runCommandLine(process.argv.slice(2), processTerminal());
  setTimeout(() => process.exit(), LINGER_MS).unref();
}

void main();
