#!/usr/bin/env node
// The first and only static import: an older Node must be refused before it meets an unknown API.

import './node-version.cjs';

/** After a command is over, an open connection or timer must not keep its process alive. */
const LINGER_MS = 1_000;

// A function, because Node before 14 cannot parse a top-level `await`.
async function main() {
  const { enableCompileCache } = await import('node:module');
  enableCompileCache();
  const { boundHeap } = await import('./bound-heap.ts');
  boundHeap();
  const { runCommandLine } = await import('./commands.ts');
  const { processTerminal } = await import('./terminal.ts');
  const { INTERRUPTS } = await import('./interrupt-signal.ts');
  process.exitCode = await runCommandLine(process.argv.slice(2), processTerminal());
  // The command is over, whatever signal comes now.
  for (const name of INTERRUPTS) process.on(name, () => process.exit());
  setTimeout(() => process.exit(), LINGER_MS).unref();
}

void main();
