#!/usr/bin/env node
// The first and only static import: an older Node must be refused before it meets an unknown API.
import './node-version.cjs';

/** After a command is over, an open connection or timer must not keep its process alive. */
const LINGER_MS = 1_000;

// A function, because Node before 14 cannot parse a top-level `await`.
async function main(): Promise<void> {
  const { enableCompileCache } = await import('node:module');
  enableCompileCache();
  await boundNursery();
  const { runCommandLine } = await import('./run-command-line.ts');
  const { processTerminal } = await import('./terminal.ts');
  process.exitCode = await runCommandLine(process.argv.slice(2), processTerminal());
  setTimeout(() => process.exit(), LINGER_MS).unref();
}

/**
 * Large enough that most objects of a run are dead before they are collected; the default of older versions of Node.
 */
const NURSERY_BYTES = 32 * 1024 * 1024;
const NURSERY_POLL_MS = 10;

/**
 * Stops the growth of V8's nursery at a sufficient size. By default it grows to 128 MiB, a quarter of the memory of
 * any run, and is no faster (test/bench/README.md). Its limit is a command-line flag that a script cannot set for
 * itself, but the growth factor can be changed at any time.
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
