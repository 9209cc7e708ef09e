import { z } from 'zod';
import { isHttpUrl } from '../model/is-http-url.ts';

const API_PREFIX = '/api/site';

function whyNotBaseUrl(text: string): string | undefined {
  if (!isHttpUrl(text)) return 'expected an http or https address such as https://shop.example';
  const { username, password, search, hash, pathname } = new URL(text);
  if (username !== '' || password !== '') {
    return 'the address must not contain a user name or password; put the key into apiKey';
  }
  if (search !== '' || hash !== '') return 'the address must not contain a query (?) or a fragment (#)';
  if (pathname.replace(/\/+$/, '').endsWith(API_PREFIX)) {
    return `the address must not end in ${API_PREFIX}, which Storeferry adds itself`;
  }
  return undefined;
}

/** The address of a store without trailing slash, so that every way of writing it names one ledger. */
export const baseUrlSchema = z.string().transform((text, context) => {
  const why = whyNotBaseUrl(text.trim());
  if (why !== undefined) {
    context.addIssue({ code: 'custom', message: why });
    return z.NEVER;
  }
  const { origin, pathname } = new URL(text.trim());
  return origin + pathname.replace(/\/+$/, '');
});
