import { z } from 'zod';
import { addProblem, optional } from '../model/json-object.ts';
import { isHttpUrl } from '../model/remote-address.ts';
import { looksSecret } from '../text/mask-personal-data.ts';
import {
  GOOGLE_TOKEN_URL,
  googleSheetExport,
  isGoogleAddress,
  parseGoogleAccount,
} from './google-account.ts';
import type { HttpAddress } from './http-client.ts';
import { allowPrivateAddresses, remoteKind, secretField } from './remote-kind.ts';

const EXPECTED = 'expected an address such as https://shop.example/export.csv';

/** The address of a file on the web. A query may contain secrets, from the environment only. */
const addressSchema = z
  .string()
  .trim()
  .overwrite(googleSheetExport)
  .regex(/^https?:\/\/[^/]/, { error: EXPECTED, abort: true })
  .superRefine((text, context) => {
    const message = whyNotWebAddress(text);
    if (message !== undefined) addProblem(context, message);
  });

function whyNotWebAddress(text: string): string | undefined {
  if (!isHttpUrl(text)) return EXPECTED;
  const { username, password, hash } = new URL(text);
  if (username !== '' || password !== '') {
    return `the address must not contain a user name or password; give them as auth beside it: url: { address: https://…, auth: { user: …, password: "\${FEED_PASSWORD}" } }`;
  }
  return hash === '' ? undefined : 'the address must not contain a fragment (#)';
}

/** Headers that the client sets itself; a second value would break the request. */
const RESERVED_HEADERS =
  /^(host|connection|content-length|content-type|transfer-encoding|accept-encoding|expect|upgrade|if-.*)$/i;

const headerNameSchema = z
  .string()
  .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'it is not a valid header name')
  .refine((name) => !RESERVED_HEADERS.test(name), 'it is set by Storeferry itself');

const authSchema = z.union([
  z.strictObject({
    user: z.string().min(1).describe('The user name, for a password.'),
    password: secretField('The password.', 'FEED_PASSWORD'),
  }),
  z.strictObject({ bearer: secretField('A token, instead of user and password.', 'FEED_TOKEN') }),
  z.strictObject({
    serviceAccount: secretField(
      'For Google: the content of the JSON key file of a service account.',
      'GOOGLE_CREDENTIALS',
    ),
  }),
]);

const mapSchema = z.strictObject({
  address: addressSchema.meta({
    description: 'The address of the file.',
    examples: [`https://shop.example/export.csv?token=\${FEED_TOKEN}`],
  }),
  headers: z
    .record(
      headerNameSchema,
      z.string().regex(/^[\t\x20-\x7e]*$/, 'contains a character that headers cannot have'),
    )
    .default({})
    .describe('Headers to send with the request.'),
  auth: optional(authSchema, '`user` and `password`, `bearer`, or `serviceAccount`.'),
  allowPrivateAddresses,
});

const schema = z
  .union([addressSchema, mapSchema])
  .meta({
    id: 'WebFile',
    description: 'The address of a file on the web, or a map. The link of a Google Sheet is read as CSV.',
  })
  .transform((written) => mapSchema.parse(typeof written === 'string' ? { address: written } : written));

/** A file on the web. */
export const httpKind = remoteKind<z.infer<typeof schema>, HttpAddress>({
  kind: 'http',
  schema,
  description: {
    source: 'A file on the web: the address, or a map.',
    destination: 'A web address that takes the file by PUT: the address, or a map.',
  },
  secrets: (written) => [
    { path: ['auth', 'password'], variable: 'FEED_PASSWORD' },
    { path: ['auth', 'bearer'], variable: 'FEED_TOKEN' },
    { path: ['auth', 'serviceAccount'], variable: 'GOOGLE_CREDENTIALS' },
    ...secretHeaders(written).map((name) => ({ path: ['headers', name], variable: 'FEED_TOKEN' })),
  ],
  namesSeveral: () => false,
  complete: ({ address, headers, auth, allowPrivateAddresses }, { written, onSecret }) => {
    const completed = completeAuth(auth, address);
    if ('problem' in completed) return completed;
    if (completed.auth?.kind === 'google') onSecret(completed.auth.account.privateKey);
    const location = locationOf(written ?? address, new URL(address));
    return {
      remote: { kind: 'http', location, address, headers, auth: completed.auth, allowPrivateAddresses },
      unset: [],
    };
  },
  identity: ({ auth, headers }) => [
    auth?.kind === 'basic' ? auth.user : auth?.kind === 'google' ? auth.account.email : null,
    ...Object.keys(headers),
  ],
  hasExactVersions: true,
  open: async (at) => (await import('./http-client.ts')).httpClient(at),
});

type WrittenAuth = z.infer<typeof authSchema> | undefined;

function completeAuth(
  auth: WrittenAuth,
  address: string,
): { readonly auth: HttpAddress['auth'] } | { readonly problem: string } {
  if (auth === undefined) return { auth: null };
  if ('bearer' in auth) return { auth: { kind: 'bearer', token: auth.bearer } };
  if ('user' in auth) return { auth: { kind: 'basic', ...auth } };
  const account = parseGoogleAccount(auth.serviceAccount);
  if (!isGoogleAddress(address)) {
    return { problem: 'auth.serviceAccount: only for https addresses of google.com and googleapis.com' };
  }
  // A variable without value is reported by itself.
  if (auth.serviceAccount.startsWith('${')) return { auth: null };
  if (account === undefined) {
    return {
      problem:
        'auth.serviceAccount: expected the content of the JSON key file of a service account ({ "type": "service_account", … })',
    };
  }
  return { auth: { kind: 'google', account, tokenUrl: GOOGLE_TOKEN_URL } };
}

/** As written, without the query, so that it shows no value of the environment. */
function locationOf(written: string, { origin }: URL) {
  const shown = written.replace(/\?.*$/s, '');
  return shown.startsWith('${') ? `${shown} (${origin})` : shown;
}

/** Headers with secret names only: redacting ordinary values everywhere would make logs unreadable. */
function secretHeaders(written: unknown) {
  const { headers }: { readonly headers?: unknown } = typeof written === 'object' ? { ...written } : {};
  const names = typeof headers === 'object' && headers !== null ? Object.keys(headers) : [];
  return names.filter((name) => looksSecret(name) || /auth|cookie/i.test(name));
}
