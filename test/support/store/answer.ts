import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Misbehaviour } from './faults.ts';
import type { LoggedRequest } from './request-log.ts';

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export const json = (status: number, value: unknown): Answer => ({ status, body: JSON.stringify(value) });

/** The error body (storefront-api.md, section 7). */
export const failure = (status: number, message: string): Answer => json(status, { success: false, message });

/** The whole request body as text. */
export async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** Where an answer goes, and where it is noted. */
export interface Reply {
  readonly entry: LoggedRequest;
  readonly response: ServerResponse;
  /** The request is over from the moment its answer leaves, so that the next one for its key is no overlap. */
  readonly over: () => void;
}

/** Sends the answer and notes its status. */
export function send({ entry, response, over }: Reply, { status, body, headers }: Answer): void {
  entry.status = status;
  over();
  const bytes = Buffer.from(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    ...headers,
    'content-length': bytes.length,
  });
  response.end(bytes);
}

/** Announces the whole body, sends half of it, closes. */
function sendHalf({ entry, response }: Reply, { status, body }: Answer): void {
  entry.status = status;
  const bytes = Buffer.from(body);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': bytes.length });
  response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy());
}

/** Sends what the misbehaviour makes of the true answer, or nothing. */
export function sendBadly(reply: Reply, does: Misbehaviour, truth: Answer): void {
  switch (does.kind) {
    case 'delay':
      send(reply, truth);
      break;
    case 'answer':
      send(reply, { status: does.status, body: does.body, headers: does.headers ?? {} });
      break;
    case 'trailing':
      send(reply, { ...truth, body: truth.body + does.text });
      break;
    case 'other title':
      send(reply, { ...truth, body: truth.body.replace(/"title":"/, '"title":"SALE ') });
      break;
    case 'reset':
      reply.response.socket?.resetAndDestroy();
      break;
    case 'half':
      sendHalf(reply, truth);
      break;
    case 'hang':
      break;
    default:
      throw new Error(`Unknown misbehaviour: ${does satisfies never}`);
  }
}
