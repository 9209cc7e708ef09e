import { afterAll, aroundEach } from 'vitest';
import { endAll, runOwning } from './processes.ts';

// Of vitest's `setupFiles`: what a test starts ends with it, also when it times out.
aroundEach(runOwning);
afterAll(endAll);
