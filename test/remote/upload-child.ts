import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RemoteAddress } from '../../src/model/remote-address.ts';
import { openRemote } from '../../src/remote/remote-kinds.ts';

const CHUNK = Buffer.alloc(64 * 1024, 'x');
const CHUNKS = 2_000;

/** Sends a large file until it is killed, and reports when sending has begun. */
async function* slowly(): AsyncGenerator<Buffer> {
  for (let sent = 0; sent < CHUNKS; sent++) {
    if (sent === 160) process.stdout.write('under way\n');
    if (sent > 160) await sleep(20);
    yield CHUNK;
  }
}

const at: RemoteAddress = JSON.parse(process.argv[2] ?? '');
const client = await openRemote(at);
const upload = { size: CHUNK.length * CHUNKS, open: () => Readable.from(slowly(), { objectMode: false }) };
await client.put(upload, { signal: new AbortController().signal, ifVersion: undefined });
