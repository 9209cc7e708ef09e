import { hash } from 'node:crypto';
import { canonicalJson } from '../model/json-object.ts';

/** A digest of any JSON value; equal if and only if the values are equal. */
export function digestOf(value: unknown): string {
  return hash('sha256', canonicalJson(value));
}
