import { connect, createServer, type Socket } from 'node:net';

/** How the line between a client and the store behaves at the moment. */
export interface LineQuality {
  /** Each piece of bytes is held for up to so many milliseconds, in both directions. */
  readonly delayMs?: number;
  /** The chance, for each piece from the client, that the line is reset before the store has it. */
  readonly resetBefore?: number;
  /** The chance, for each piece from the client, that the store has it, and the line is reset while it works on it. */
  readonly resetDuring?: number;
  /** The chance, for each answer, that the line is reset while the store's bytes are on their way. */
  readonly resetAfter?: number;
  /** The chance, for each answer, that half of it arrives and the line then closes. */
  readonly cut?: number;
  /** Nothing passes in either direction, and nobody is notified. */
  readonly dead?: boolean;
}

/** Long enough for a request to have arrived on this machine. */
const ARRIVING_MS = 5;

/** A TCP line to a server of ours that fails on request. */
export interface FaultProxy extends AsyncDisposable {
  readonly port: number;
  /** Replaces the quality of the line, for connections that are open as well. */
  become(quality: LineQuality): void;
  /** Resets every open connection at once. */
  cutAll(): void;
  /** How often each fault fired, by name. */
  fired(): Readonly<Record<string, number>>;
}

/** Starts a line to a port of this machine; `random` decides on chances and delays. */
export async function startFaultProxy(to: number, random: () => number): Promise<FaultProxy> {
  const fired: Record<string, number> = {};
  const count = (name: string): void => {
    fired[name] = (fired[name] ?? 0) + 1;
  };
  const lines = new Set<{ readonly client: Socket; readonly server: Socket }>();
  let quality: LineQuality = {};

  const strikes = (chance: number | undefined): boolean => chance !== undefined && random() < chance;
  const held = (name: string, pass: () => void): void => {
    const { delayMs = 0 } = quality;
    if (delayMs === 0) {
      pass();
      return;
    }
    count(name);
    setTimeout(pass, random() * delayMs);
  };

  const listener = createServer((client) => {
    const server = connect(to, '127.0.0.1');
    const line = { client, server };
    lines.add(line);
    const end = (): void => {
      client.destroy();
      server.destroy();
      lines.delete(line);
    };
    const reset = (): void => {
      client.resetAndDestroy();
      server.resetAndDestroy();
      lines.delete(line);
    };
    client.setNoDelay(true);
    server.setNoDelay(true);
    client.on('data', (bytes: Buffer) => {
      if (quality.dead) return count('line dead');
      if (strikes(quality.resetBefore)) {
        count('line reset on request');
        return reset();
      }
      held('line slow', () => server.write(bytes));
      if (strikes(quality.resetDuring)) {
        count('line reset during work');
        setTimeout(reset, ARRIVING_MS);
      }
      return undefined;
    });
    server.on('data', (bytes: Buffer) => {
      if (quality.dead) return count('line dead');
      if (strikes(quality.resetAfter)) {
        count('line reset on answer');
        return reset();
      }
      if (strikes(quality.cut)) {
        count('line cut in answer');
        client.end(bytes.subarray(0, bytes.length >> 1));
        server.destroy();
        return undefined;
      }
      held('line slow', () => client.write(bytes));
    });
    for (const socket of [client, server]) socket.on('error', () => {}).on('close', end);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('The line has no port');

  const cutAll = (): void => {
    if (lines.size > 0) count('all lines cut');
    for (const { client, server } of lines) {
      client.resetAndDestroy();
      server.resetAndDestroy();
    }
    lines.clear();
  };
  return {
    port: address.port,
    become(next) {
      quality = next;
    },
    cutAll,
    fired: () => ({ ...fired }),
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => listener.close(resolve));
      for (const { client, server } of lines) {
        client.destroy();
        server.destroy();
      }
      await closed;
    },
  };
}
