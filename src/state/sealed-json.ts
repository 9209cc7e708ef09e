import { hash } from 'node:crypto';

/** The SHA-256 of bytes, or of a text as UTF-8, in hexadecimal. */
export function sha256Of(content: string | Uint8Array): string {
  return hash('sha256', content);
}

/** What `sealedJson` adds to an object. */
const SEAL = 'checksum';

/** An object as JSON with a checksum of its own at its end, for artifacts that decide what is sent. */
export function sealedJson(value: object): string {
  return `${JSON.stringify({ ...value, [SEAL]: sha256Of(JSON.stringify(value)) }, null, 2)}\n`;
}

/**
 * The value of a text that `sealedJson` made. A text without a checksum is one of an earlier version: `isSealed` is
 * false then. SyntaxError for what is no JSON, or was changed since.
 */
export function openSealed(text: string): { readonly value: unknown; readonly isSealed: boolean } {
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed !== 'object' || parsed === null || !Object.hasOwn(parsed, SEAL)) {
    return { value: parsed, isSealed: false };
  }
  const { [SEAL]: seal, ...value }: Record<string, unknown> = { ...parsed };
  if (seal !== sha256Of(JSON.stringify(value))) throw new SyntaxError('the checksum is another one');
  return { value, isSealed: true };
}
