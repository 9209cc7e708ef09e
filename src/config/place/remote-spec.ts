import { z } from 'zod';
import { placeholder } from '../placeholder.ts';
import { isHttpUrl } from './is-http-url.ts';
import { sftpAddressSchema } from './sftp-address-schema.ts';
import { webAddressSchema } from './web-address-schema.ts';

const allowPrivateAddresses = z
  .boolean()
  .default(false)
  .describe('Whether the address may lead into a private network, or to this machine.');

const secret = (what: string, variable: string) =>
  z
    .string()
    .min(1)
    .meta({ description: `${what} Comes from the environment only.`, examples: [placeholder(variable)] });

/** Headers that undici sets itself; a second value would break the request. */
const OF_THE_MESSAGE =
  /^(host|connection|content-length|content-type|transfer-encoding|accept-encoding|expect|upgrade|if-.*)$/i;

const headerNameSchema = z
  .string()
  .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'it is not a valid header name')
  .refine((name) => !OF_THE_MESSAGE.test(name), 'it is set by Storeferry itself');

const authSchema = z.union([
  z.strictObject({
    user: z.string().min(1).describe('The user name, for a password.'),
    password: secret('The password.', 'FEED_PASSWORD'),
  }),
  z.strictObject({ bearer: secret('A token, instead of user and password.', 'FEED_TOKEN') }),
]);

const httpMapSchema = z.strictObject({
  address: webAddressSchema.meta({
    description: 'The address of the file.',
    examples: [`https://shop.example/export.csv?token=${placeholder('FEED_TOKEN')}`],
  }),
  headers: z
    .record(
      headerNameSchema,
      z.string().regex(/^[\t\x20-\x7e]*$/, 'contains a character that headers cannot have'),
    )
    .default({})
    .describe('Headers to send with the request.'),
  auth: authSchema.exactOptional().describe('Who asks: `user` and `password`, or `bearer`.'),
  allowPrivateAddresses,
});

/** A file on the web: the address alone, or a map with what belongs to it. */
export const httpSchema = z
  .union([webAddressSchema, httpMapSchema])
  .meta({
    id: 'WebFile',
    description: 'A file on the web: its address alone, or a map with what belongs to it.',
  })
  .transform((written) => httpMapSchema.parse(typeof written === 'string' ? { address: written } : written));

const S3_EXPECTED = 'expected an address such as s3://bucket/folder/export.csv';
const S3_ADDRESS = /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]\/(?!\/)\P{Cc}*[^/\p{Cc}]$/u;

const s3AddressSchema = z.string().trim().regex(S3_ADDRESS, S3_EXPECTED);

const newest = z
  .boolean()
  .default(false)
  .describe('Of several files that a `*` finds, read only the one written last.');

const s3MapSchema = z
  .strictObject({
    address: s3AddressSchema.meta({
      description: 'Bucket and key. In sources a `*` in the last part stands for any text.',
      examples: ['s3://bucket/exports/catalog-*.csv'],
    }),
    region: z
      .string()
      .min(1)
      .exactOptional()
      .describe('Where the bucket is. Left out: `AWS_REGION`, `AWS_DEFAULT_REGION`, else us-east-1.'),
    endpoint: z
      .string()
      .refine(isHttpUrl, 'expected an http or https address')
      .exactOptional()
      .describe(
        'The address of an S3 service other than Amazon. Left out: `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, else Amazon.',
      ),
    pathStyle: z
      .boolean()
      .exactOptional()
      .describe(
        'Whether the bucket is in the path of the address, not in the host name. Left out: true where there is an endpoint.',
      ),
    accessKeyId: z
      .string()
      .min(1)
      .exactOptional()
      .meta({
        description: 'The access key. Left out: `AWS_ACCESS_KEY_ID`.',
        examples: [placeholder('S3_KEY')],
      }),
    secretAccessKey: secret('Its secret. Left out: `AWS_SECRET_ACCESS_KEY`.', 'S3_SECRET').exactOptional(),
    sessionToken: secret(
      'A session token, for temporary keys. Left out: `AWS_SESSION_TOKEN`, if the keys come from the environment, too.',
      'S3_SESSION',
    ).exactOptional(),
    newest,
    allowPrivateAddresses,
  })
  .superRefine(({ accessKeyId, secretAccessKey }, context) => {
    if ((accessKeyId === undefined) === (secretAccessKey === undefined)) return;
    const message = 'accessKeyId and secretAccessKey go together; give both, or none';
    context.addIssue({ code: 'custom', path: ['secretAccessKey'], message });
  });

/** An object in S3: the address alone, or a map with what belongs to it. */
export const s3Schema = z
  .union([s3AddressSchema, s3MapSchema])
  .meta({
    id: 'S3Object',
    description:
      'An object in S3 or a compatible service: its address alone, with keys from `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, or a map with what belongs to it.',
  })
  .transform((written) => s3MapSchema.parse(typeof written === 'string' ? { address: written } : written));

const HOST_KEY_EXPECTED =
  'expected a fingerprint such as SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU; `ssh-keyscan HOST | ssh-keygen -lf -` prints those of a server; compare them with what its operator says';

const hostKeySchema = z
  .string(HOST_KEY_EXPECTED)
  .trim()
  .regex(/^SHA256:[A-Za-z0-9+/]{43}=?$/, HOST_KEY_EXPECTED);

/** A file on an SSH server. */
export const sftpSchema = z
  .strictObject(
    {
      address: sftpAddressSchema.meta({
        description:
          'User, host, port (22 when left out) and path, from the root or with /~/ from the home folder. In sources a `*` in the last part stands for any text.',
        examples: ['sftp://shop@files.example:22/exports/catalog.csv'],
      }),
      hostKey: z
        .union([hostKeySchema, z.array(hostKeySchema).min(1)])
        .describe('The fingerprint of the key that the server must have, or a list of them.'),
      password: secret('The password.', 'SFTP_PASSWORD').exactOptional(),
      privateKey: secret(
        'The private key instead of a password: the whole text, line breaks perhaps written as \\n.',
        'SFTP_KEY',
      ).exactOptional(),
      passphrase: secret(
        'What opens the private key, if it is encrypted.',
        'SFTP_PASSPHRASE',
      ).exactOptional(),
      newest,
      allowPrivateAddresses,
    },
    'expected a map with address, hostKey and password or privateKey',
  )
  .superRefine(({ password, privateKey, passphrase }, context) => {
    const add = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message });
    if (password === undefined && privateKey === undefined) {
      add(
        'password',
        `give password: "${placeholder('SFTP_PASSWORD')}" or privateKey: "${placeholder('SFTP_KEY')}"`,
      );
    }
    if (password !== undefined && privateKey !== undefined) {
      add('privateKey', 'there is a password already; give one of the two');
    }
    if (passphrase !== undefined && privateKey === undefined) {
      add('passphrase', 'a passphrase opens a privateKey, and there is none');
    }
  })
  .meta({
    id: 'SftpFile',
    description: 'A file on an SSH server, whose key is checked before login.',
  });

/** The ways to name a file, one of which a source or a destination uses. */
export const PLACES = ['path', 'url', 's3', 'sftp'] as const;

type Place = (typeof PLACES)[number];
type Written = { readonly [P in Place]?: unknown };

/** Refuses a source or destination that names no file, or several. */
export function exactlyOnePlace(written: Written, context: z.RefinementCtx): void {
  const given = PLACES.filter((place) => written[place] !== undefined);
  const [first, second] = given;
  if (first === undefined) {
    context.addIssue({ code: 'custom', message: 'names no file; give one of path, url, s3 and sftp' });
  } else if (second !== undefined) {
    context.addIssue({
      code: 'custom',
      path: [second],
      message: `there is ${first} already; give one of path, url, s3 and sftp`,
    });
  }
}

export type RemoteSpec = {
  readonly url?: z.infer<typeof httpSchema> | undefined;
  readonly s3?: z.infer<typeof s3Schema> | undefined;
  readonly sftp?: z.infer<typeof sftpSchema> | undefined;
};
