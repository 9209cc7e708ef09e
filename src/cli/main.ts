#!/usr/bin/env node
import { enableCompileCache } from 'node:module';

enableCompileCache();
const { boundNursery } = await import('./bound-nursery.ts');
const { runCommandLine } = await import('./program.ts');
const { processTerminal } = await import('./terminal.ts');

boundNursery();
process.exitCode = await runCommandLine(process.argv.slice(2), processTerminal());
