#!/usr/bin/env node
// First, and the only static import: an older Node must be refused before it meets a name that it does not know.
import './node-version.cjs';

/** Once a command is over, a connection or timer that was left open must not keep its process alive. */
const LINGER_MS = 1_000;

// A function, since Node before 14 cannot read an `await` outside of one.
async function main(): Promise<void> {
  const { enableCompileCache } = await import('node:module');
  enableCompileCache();
  await boundNursery();
  const { runCommandLine } = await import('./run-command-line.ts');
  const { processTerminal } = await import('./terminal.ts');
  process.exitCode = await runCommandLine(process.argv.slice(2), processTerminal());
  setTimeout(() => process.exit(), LINGER_MS).unref();
}

/** Large enough that what a run makes is dead before it is collected; the same as the default of older versions of Node. */
const NURSERY_BYTES = 32 * 1024 * 1024;
const NURSERY_POLL_MS = 10;

/**
 * Keeps V8's nursery from growing once it is large enough. By default it takes up to 128 MiB, a quarter of the memory of a
 * run of any size, and is no faster with it (test/bench/README.md). Its limit is a flag of the command line, which a
 * script cannot set for itself; the factor by which it grows can be changed at any time.
 */
async function boundNursery(): Promise<void> {
  const { getHeapSpaceStatistics, setFlagsFromString } = await import('node:v8');
  const polling = setInterval(() => {
    const nursery = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    if (nursery === undefined || nursery.space_size < NURSERY_BYTES) return;
    setFlagsFromString('--semi-space-growth-factor=1');
    clearInterval(polling);
  }, NURSERY_POLL_MS).unref();
}

void main();
