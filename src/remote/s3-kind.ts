import { z } from 'zod';
import { addProblem, optional } from '../model/json-object.ts';
import { isHttpUrl, type S3Place } from '../model/remote-address.ts';
import { isPattern } from './matches-pattern.ts';
import { allowPrivateAddresses, newest, remoteKind, secretField } from './remote-kind.ts';
import type { S3Address } from './s3-client.ts';

const EXPECTED = 'expected an address such as s3://bucket/folder/export.csv';
const ADDRESS = /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]\/(?!\/)\P{Cc}*[^/\p{Cc}]$/u;

const addressSchema = z.string().trim().regex(ADDRESS, EXPECTED);

const mapSchema = z
  .strictObject({
    address: addressSchema.meta({
      description: 'Bucket and key. In sources a `*` in the last part matches any text.',
      examples: ['s3://bucket/exports/catalog-*.csv'],
    }),
    region: optional(z.string().min(1), 'Default: `AWS_REGION`, `AWS_DEFAULT_REGION`, else us-east-1.'),
    endpoint: optional(
      z.string().refine(isHttpUrl, 'expected an http or https address'),
      'Another S3 service. Default: `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, else Amazon.',
    ),
    pathStyle: optional(
      z.boolean(),
      'Whether the bucket is in the path, not in the host name. Default: with an endpoint.',
    ),
    accessKeyId: z
      .string()
      .min(1)
      .exactOptional()
      .meta({
        description: 'Default: `AWS_ACCESS_KEY_ID`.',
        examples: [`\${S3_KEY}`],
      }),
    secretAccessKey: secretField(
      'Its secret. Left out: `AWS_SECRET_ACCESS_KEY`.',
      'S3_SECRET',
    ).exactOptional(),
    sessionToken: secretField(
      'A session token, for temporary keys. Left out: `AWS_SESSION_TOKEN`, if the keys come from the environment, too.',
      'S3_SESSION',
    ).exactOptional(),
    newest,
    allowPrivateAddresses,
  })
  .superRefine(({ accessKeyId, secretAccessKey }, context) => {
    if ((accessKeyId === undefined) === (secretAccessKey === undefined)) return;
    const message = 'accessKeyId and secretAccessKey go together; give both, or none';
    addProblem(context, message, 'secretAccessKey');
  });

const schema = z
  .union([addressSchema, mapSchema])
  .meta({
    id: 'S3Object',
    description:
      'An object in S3 or a compatible service: its address, with keys from `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, or a map.',
  })
  .transform((written) => mapSchema.parse(typeof written === 'string' ? { address: written } : written));

/** Objects in S3. */
export const s3Kind = remoteKind<z.infer<typeof schema>, S3Address>({
  kind: 's3',
  schema,
  description: {
    source: 'Objects in S3 or a compatible service: the address, or a map.',
    destination: 'An object in S3 or a compatible service: the address, or a map.',
  },
  secrets: () => [
    { path: ['secretAccessKey'], variable: 'S3_SECRET' },
    { path: ['sessionToken'], variable: 'S3_SESSION' },
  ],
  namesSeveral: ({ address, newest }) => newest || isPattern(address),
  complete: (spec, { variable, onSecret }) => {
    const completed = completeS3Place(spec, variable);
    if ('problem' in completed) return completed;
    for (const secret of completed.secrets) onSecret(secret);
    const [, bucket = '', key = ''] = /^s3:\/\/([^/]+)\/(.*)$/.exec(spec.address) ?? [];
    const { address: location, newest, allowPrivateAddresses } = spec;
    return {
      remote: { kind: 's3', location, bucket, key, ...completed.place, newest, allowPrivateAddresses },
      unset: completed.unset,
    };
  },
  identity: ({ endpoint, region, bucket }) => [endpoint, region, bucket],
  hasExactVersions: true,
  open: async (at) => (await import('./s3-client.ts')).s3Client(at),
});

/** The settings of a bucket without its name; with unset variables they are usable for checks only. */
type CompletedPlace =
  | {
      readonly place: Omit<S3Place, 'bucket' | 'allowPrivateAddresses'>;
      readonly unset: readonly string[];
      readonly secrets: readonly string[];
    }
  | { readonly problem: string };

/** The settings of a bucket that a job gives itself. */
interface OwnS3Settings {
  readonly endpoint?: string;
  readonly region?: string;
  readonly pathStyle?: boolean;
  readonly accessKeyId?: string;
  readonly secretAccessKey?: string;
  readonly sessionToken?: string;
}

/** The settings for S3: from the job, else from the usual variables. */
export function completeS3Place(
  own: OwnS3Settings,
  variable: (name: string) => string | undefined,
): CompletedPlace {
  const first = (...names: readonly string[]) =>
    names.map((name) => variable(name)).find((value) => value !== undefined);
  const ofS3 = 'AWS_ENDPOINT_URL_S3';
  const endpointVariable = variable(ofS3) === undefined ? 'AWS_ENDPOINT_URL' : ofS3;
  const endpoint = own.endpoint ?? first(endpointVariable) ?? null;
  if (endpoint !== null && !isHttpUrl(endpoint)) {
    return { problem: `${endpointVariable}: expected an http or https address` };
  }
  const ownKeys = own.accessKeyId !== undefined || own.secretAccessKey !== undefined;
  const accessKeyId = own.accessKeyId ?? first('AWS_ACCESS_KEY_ID');
  const secretAccessKey = own.secretAccessKey ?? first('AWS_SECRET_ACCESS_KEY');
  const sessionToken = own.sessionToken ?? (ownKeys ? undefined : first('AWS_SESSION_TOKEN'));
  return {
    place: {
      endpoint,
      region: own.region ?? first('AWS_REGION', 'AWS_DEFAULT_REGION') ?? 'us-east-1',
      credentials: {
        accessKeyId: accessKeyId ?? '',
        secretAccessKey: secretAccessKey ?? '',
        sessionToken: sessionToken ?? null,
      },
      pathStyle: own.pathStyle ?? endpoint !== null,
    },
    unset: [
      ...(accessKeyId === undefined ? ['AWS_ACCESS_KEY_ID'] : []),
      ...(secretAccessKey === undefined ? ['AWS_SECRET_ACCESS_KEY'] : []),
    ],
    secrets: [secretAccessKey, sessionToken].filter((secret) => secret !== undefined),
  };
}
