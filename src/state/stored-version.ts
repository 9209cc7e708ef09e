import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib';
import type { RowSpan } from '../model/row.ts';
import { StateError } from '../model/storeferry-error.ts';
import { decodedPercents } from '../text/printable.ts';
import { decodeBody, encodeBody, MAX_BODY_BYTES } from './encode-body.ts';
import type { HistoryRun, Version, VersionKind } from './state.ts';

/** What is stored of a version besides its key, run and time. */
interface VersionParts extends Pick<Version, 'kind' | 'id' | 'spans' | 'owner' | 'renamed' | 'adopted'> {
  /** The body that this version replaced, as `encodeBefore` packed it; null where the ledger knew none. */
  readonly before: Uint8Array | null;
}

const CODES = { acknowledged: 'a', deleted: 'd', absent: 'x' } as const satisfies Record<VersionKind, string>;
/** The stored spans of a version: those of a record of thousands of rows would exceed its body. */
const MAX_SPANS = 20;
const LINE_BREAK = 10;

/**
 * The first part of a stored version: kind, id, rows, and perhaps the owner and, after `<`, the other key of a renamed product, as
 * in `a1234 4-6,1:9 catalog <old-key`, or nothing for an adopted one; file 0 and a single row are left out.
 */
export function versionHead({
  kind,
  id,
  spans,
  owner,
  adopted,
  renamed = adopted === true ? '' : undefined,
}: Omit<VersionParts, 'before'>): string {
  const rows = spans
    .slice(0, MAX_SPANS)
    .map(({ file, from, to }) => `${file === 0 ? '' : `${file}:`}${from}${to === from ? '' : `-${to}`}`);
  const other = renamed === undefined ? '' : ` <${encodeURIComponent(renamed.toWellFormed())}`;
  return `${CODES[kind]}${id ?? ''} ${rows.join(',')}${owner === undefined ? '' : ` ${encodeURIComponent(owner)}`}${other}`;
}

/** A version as it is stored: its head, and the body before it. */
export function encodeVersion(head: string, before: Uint8Array | null): Buffer {
  return before === null ? Buffer.from(head) : Buffer.concat([Buffer.from(`${head}\n`), before]);
}

const HEAD =
  /^([adx])(-?\d{0,16}) ((?:(?:\d+:)?\d+(?:-\d+)?(?:,(?:\d+:)?\d+(?:-\d+)?)*)?)(?: ([\w!'()*.~%-]+))?(?: <([\w!'()*.~%-]*))?$/;

/** The version that `encodeVersion` stored. Of a damaged one nothing is known, nor of the body before it. */
function decodeVersion(stored: Uint8Array): VersionParts {
  const end = stored.indexOf(LINE_BREAK);
  const head = Buffer.from(end === -1 ? stored : stored.subarray(0, end)).toString('latin1');
  const [whole, code, id = '', rows = '', owner, renamed] = HEAD.exec(head) ?? [];
  if (whole === undefined)
    return { kind: 'acknowledged', id: null, spans: [], before: stored.subarray(0, 0) };
  const kind = code === CODES.acknowledged ? 'acknowledged' : code === CODES.deleted ? 'deleted' : 'absent';
  return {
    kind,
    id: id === '' ? null : Number(id),
    spans: rows === '' ? [] : rows.split(',').map(spanOf),
    owner: owner && decodedPercents(owner),
    renamed: renamed ? decodedPercents(renamed) : undefined,
    adopted: renamed === '' ? true : undefined,
    before: end === -1 ? null : stored.subarray(end + 1),
  };
}

function spanOf(text: string): RowSpan {
  const [, file = '0', from = '', to = from] = /^(?:(\d+):)?(\d+)(?:-(\d+))?$/.exec(text) ?? [];
  return { file: Number(file), from: Number(from), to: Number(to) };
}

/**
 * The first byte of a body that is packed as its difference to the body after it: the middle follows as it is, or deflated
 * with that body as dictionary.
 */
const PLAIN_DELTA = 3;
const DEFLATED_DELTA = 4;
/** Shorter middles are stored as they are: deflating them takes most of the time and saves no bytes. */
const MIN_DEFLATED_BYTES = 96;
/** zlib uses no more of a dictionary. */
const WINDOW_BYTES = 32 * 1024;

/**
 * Packs a body that `after` replaced, without their common beginning and end: after a change of price a few bytes of a
 * thousand remain. If no body came after it, it is packed alone, like a body of the ledger. If it cannot be read, the result
 * is empty: the history of the record ends there, and the run continues.
 */
export function encodeBefore(read: () => { readonly body: string; readonly after: string | null }): Buffer {
  try {
    const { body, after } = read();
    return after === null ? encodeBody(body) : encodeDelta(Buffer.from(body), Buffer.from(after));
  } catch (error) {
    if (error instanceof StateError) return Buffer.alloc(0);
    throw error;
  }
}

function encodeDelta(old: Buffer, next: Buffer): Buffer {
  const most = Math.min(old.length, next.length);
  let start = 0;
  while (start < most && old[start] === next[start]) start++;
  let end = 0;
  while (end < most - start && old[old.length - 1 - end] === next[next.length - 1 - end]) end++;
  const middle = old.subarray(start, old.length - end);
  const isPlain = middle.length < MIN_DEFLATED_BYTES;
  const head = Buffer.from(` ${start} ${end} ${crc32(next).toString(36)}\n`);
  head[0] = isPlain ? PLAIN_DELTA : DEFLATED_DELTA;
  return Buffer.concat([head, isPlain ? middle : deflateRawSync(middle, deltaOptions(next, start))]);
}

/** A version with its run, as the state gives it. */
export interface StoredVersion {
  readonly run: HistoryRun;
  readonly at: number;
  /** As `encodeVersion` stored it. */
  readonly content: Uint8Array;
}

/**
 * The versions of a record from their rows, newest first, and the body that the ledger holds: each row leads to the body
 * before it. A damaged body is undefined, and so are all earlier ones.
 */
export function restoreVersions(rows: readonly StoredVersion[], ledgerBody: string | null): Version[] {
  let known: string | null | undefined = ledgerBody;
  return rows.map(({ run, at, content }) => {
    const { before: packed, ...parts } = decodeVersion(content);
    const body = parts.kind === 'acknowledged' ? (known ?? undefined) : null;
    const before = packed === null ? null : readableBefore(packed, body);
    known = before;
    return { ...parts, run, at, body, before };
  });
}

function readableBefore(packed: Uint8Array, after: string | null | undefined) {
  try {
    return decodeBefore(packed, after ?? null);
  } catch (error) {
    if (error instanceof StateError) return undefined;
    throw error;
  }
}

/** The body before `after`. StateError when it is damaged, or belongs to another body: its checksum differs. */
function decodeBefore(packed: Uint8Array, after: string | null) {
  const format = packed[0];
  if (format !== PLAIN_DELTA && format !== DEFLATED_DELTA) return decodeBody(packed);
  if (after === null) throw unreadable('the version after it has no body');
  const headEnd = packed.indexOf(LINE_BREAK);
  const head = Buffer.from(packed.subarray(1, Math.max(1, headEnd))).toString('latin1');
  const [whole, start = '', end = '', sum] = /^(\d+) (\d+) ([0-9a-z]+)$/.exec(head.trim()) ?? [];
  const next = Buffer.from(after);
  if (whole === undefined) throw unreadable('its body is damaged');
  if (sum !== crc32(next).toString(36)) throw unreadable('its body belongs to another version');
  const rest = packed.subarray(headEnd + 1);
  const [from, to] = [Number(start), next.length - Number(end)];
  if (from > next.length || to < 0) throw unreadable('its body is damaged');
  try {
    const middle = format === PLAIN_DELTA ? rest : inflateRawSync(rest, deltaOptions(next, from));
    return Buffer.concat([next.subarray(0, from), middle, next.subarray(to)]).toString();
  } catch (cause) {
    throw unreadable('its body is damaged', cause);
  }
}

/** Options of zlib: the dictionary is the part of the body after it that most likely has text of the middle. */
function deltaOptions(next: Buffer, start: number) {
  const from = Math.min(start, Math.max(0, next.length - WINDOW_BYTES));
  const dictionary = next.subarray(from, from + WINDOW_BYTES);
  return {
    level: 6,
    windowBits: 15,
    memLevel: 6,
    chunkSize: 1024,
    dictionary,
    maxOutputLength: MAX_BODY_BYTES,
  } as const;
}

function unreadable(problem: string, cause?: unknown) {
  return new StateError(`A version in the history cannot be read: ${problem}.`, {
    hint: 'The history before it is lost; what the ledger acknowledges is not affected.',
    cause,
  });
}

/** Replaces a run that cannot be read; its versions are shown without a run. */
export const UNKNOWN_RUN: HistoryRun = { id: '', job: '', at: 0, files: [] };
