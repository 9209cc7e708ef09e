#!/usr/bin/env node
import { enableCompileCache } from 'node:module';

/** Once a command is over, a connection or timer that was left open must not keep its process alive. */
const LINGER_MS = 1_000;

enableCompileCache();
const { boundNursery } = await import('./bound-nursery.ts');
const { runCommandLine } = await import('./program.ts');
const { processTerminal } = await import('./terminal.ts');

boundNursery();
process.exitCode = await runCommandLine(process.argv.slice(2), processTerminal());
setTimeout(() => process.exit(), LINGER_MS).unref();
