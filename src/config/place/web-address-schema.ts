import { z } from 'zod';
import { placeholder } from '../placeholder.ts';
import { isHttpUrl } from './is-http-url.ts';

const EXPECTED = 'expected an address such as https://shop.example/export.csv';

function whyNotWebAddress(text: string): string | undefined {
  if (!isHttpUrl(text)) return EXPECTED;
  const { username, password, hash } = new URL(text);
  if (username !== '' || password !== '') {
    return `the address must not contain a user name or password; give them as auth: { user: …, password: "${placeholder('FEED_PASSWORD')}" }`;
  }
  return hash === '' ? undefined : 'the address must not contain a fragment (#)';
}

/** The address of a file on the web. A query may hold secrets, from the environment only. */
export const webAddressSchema = z
  .string()
  .trim()
  .regex(/^https?:\/\/[^/]/, { error: EXPECTED, abort: true })
  .superRefine((text, context) => {
    const message = whyNotWebAddress(text);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });

/** Names of parameters whose values are secrets. */
const SECRET_PARAMETER =
  /[?&]([^=&#]*(?:token|secret|passw(?:or)?d|signature|api_?key|access_?key|consumer_?key)|key|sig|auth|pwd)=([^&#]*)/gi;

/** The first parameter of an address, as written in a file, whose name says secret and whose value does not come from the environment. */
export function literalSecretIn(written: string): string | undefined {
  for (const [, name, value = ''] of written.matchAll(SECRET_PARAMETER)) {
    if (value !== '' && !value.includes('${')) return name;
  }
  return undefined;
}
