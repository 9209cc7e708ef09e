import { startStore } from '../support/store.ts';
import { FAR_STORES, HIDDEN_LIMITS } from './hidden-limits.ts';

/** A store with one of the hidden limits, in a process of its own (`fork`): prints its address, then serves. */
const hidden = [...HIDDEN_LIMITS, ...FAR_STORES].find(({ name }) => name === process.argv[2]);
if (hidden === undefined) throw new Error(`no hidden limit is called ${process.argv[2]}`);
const store = await startStore({ apiKey: 'key', latencyMs: hidden.latencyMs, capacity: hidden.capacity });
process.send?.(store.baseUrl);
process.once('disconnect', () => process.exit());
