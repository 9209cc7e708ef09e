/**
 * What went wrong while a remote file was asked for or sent.
 * - `passing`: may go well the next time.
 * - `absent`: there is no such file.
 * - `changed`: somebody else wrote it in the meantime.
 * - `final`: the same again would fail the same way.
 */
export type FailureKind = 'passing' | 'absent' | 'changed' | 'final';

interface FailureDetails {
  readonly hint?: string;
  readonly cause?: unknown;
  /** How long the server asks to wait, in milliseconds. */
  readonly retryAfterMs?: number;
  /** The HTTP status that the server answered. */
  readonly status?: number;
}

/** A failure of one attempt; its message ends a sentence that begins with the location, and holds no secret. */
export class RemoteFailure extends Error {
  readonly kind: FailureKind;
  readonly hint: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly status: number | undefined;

  constructor(kind: FailureKind, message: string, details: FailureDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'RemoteFailure';
    this.kind = kind;
    this.hint = details.hint;
    this.retryAfterMs = details.retryAfterMs;
    this.status = details.status;
  }
}

/** The stable code of an error of Node.js or a library, else its name; messages of theirs may quote what is secret. */
export function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
