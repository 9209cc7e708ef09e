import { createPrivateKey, sign } from 'node:crypto';
import { z } from 'zod';

/** Where Google exchanges a signed assertion for an access token. */
export const GOOGLE_TOKEN_URL = 'https://oauth2.googleapis.com/token';

/** Reading of files that are shared with the account; a sheet is one. */
const SCOPE =
  'https://www.googleapis.com/auth/drive.readonly https://www.googleapis.com/auth/spreadsheets.readonly';
const ASSERTION_SECONDS = 3_600;

const accountSchema = z.object({
  type: z.literal('service_account'),
  client_email: z.string().min(3),
  private_key: z.string().refine(isRsaKey),
  private_key_id: z.string().exactOptional(),
});

/** A service account of Google, as its key file describes it. */
export interface GoogleAccount {
  /** Sheets are shared with this address. */
  readonly email: string;
  /** PEM. */
  readonly privateKey: string;
  readonly keyId: string | undefined;
}

/** Reads the JSON key file of a service account; undefined if the text is something else. */
export function parseGoogleAccount(text: string): GoogleAccount | undefined {
  try {
    const {
      client_email: email,
      private_key: privateKey,
      private_key_id: keyId,
    } = accountSchema.parse(JSON.parse(text));
    return { email, privateKey, keyId };
  } catch {
    return undefined;
  }
}

function isRsaKey(pem: string) {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'rsa';
  } catch {
    return false;
  }
}

/** Whether an access token of Google may be sent to this address. */
export function isGoogleAddress(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === 'https:' && /(?:^|\.)(?:google|googleapis)\.com$/.test(hostname);
}

/**
 * The body of the request for an access token: a JWT (RFC 7523) that the account has signed, valid for an hour from `nowMs`.
 * Own code, because the client of google-auth-library has neither the guard against private addresses nor the deadlines.
 */
export function tokenRequestBody(
  { email, privateKey, keyId }: GoogleAccount,
  tokenUrl: string,
  nowMs: number,
): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const iat = Math.floor(nowMs / 1_000);
  const header = part({ alg: 'RS256', typ: 'JWT', kid: keyId });
  const claims = part({ iss: email, scope: SCOPE, aud: tokenUrl, iat, exp: iat + ASSERTION_SECONDS });
  const signature = sign('RSA-SHA256', Buffer.from(`${header}.${claims}`), privateKey).toString('base64url');
  return new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    assertion: `${header}.${claims}.${signature}`,
  }).toString();
}

/** The id of a document, or of its published version. */
const GOOGLE_SHEET =
  /^https:\/\/docs\.google\.com\/spreadsheets\/(?:u\/\d+\/)?d\/((?:e\/)?[\w-]+)(?:\/(\w*))?(?:[?#]|$)/;

/**
 * The CSV address of a Google Sheet that is shared by link: its link from the browser (`…/edit#gid=0`) leads to a
 * page. The sheet is the one of the link's `gid`, else the first. Any other address is returned unchanged.
 */
export function googleSheetExport(address: string): string {
  const [link, id = '', page = ''] = GOOGLE_SHEET.exec(address) ?? [];
  if (link === undefined || !['', 'edit', 'view', 'htmlview', 'pubhtml', 'preview', 'copy'].includes(page))
    return address;
  const gid = /[?&#]gid=(\d+)/.exec(address)?.[1];
  const sheet = gid === undefined ? '' : `&gid=${gid}`;
  const base = `https://docs.google.com/spreadsheets/d/${id}`;
  return id.startsWith('e/')
    ? `${base}/pub?output=csv&single=true${sheet}`
    : `${base}/export?format=csv${sheet}`;
}

/** What to do if a Google Sheet cannot be read; undefined for any other address. */
export function googleSheetHint(location: string): string | undefined {
  if (!GOOGLE_SHEET.test(location)) return undefined;
  return 'Share it by link: in Google Sheets choose Share, then under General access "Anyone with the link" as Viewer. If it must stay private, use a service account: `auth: { serviceAccount: … }` (docs/sources.md).';
}
