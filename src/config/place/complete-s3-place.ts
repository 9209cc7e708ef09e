import type { S3Place } from '../../model/remote-address.ts';
import type { Environment } from '../environment.ts';
import { isHttpUrl } from './is-http-url.ts';

/** Settings of the job that replace the usual variables. */
export interface OwnS3Settings {
  readonly endpoint?: string;
  readonly region?: string;
  readonly pathStyle?: boolean;
  readonly accessKeyId?: string;
  readonly secretAccessKey?: string;
  readonly sessionToken?: string;
}

/** A bucket without its name; with unset variables it is good for checks only. */
export type CompletedPlace =
  | {
      readonly place: Omit<S3Place, 'bucket' | 'allowPrivateAddresses'>;
      readonly unset: readonly string[];
      readonly secrets: readonly string[];
    }
  | { readonly problem: string };

/** The settings for S3: those of the job, else those of the usual variables. */
export function completeS3Place(own: OwnS3Settings, environment: Pick<Environment, 'get'>): CompletedPlace {
  const first = (...names: readonly string[]) =>
    names.map((name) => environment.get(name)).find((value) => value !== undefined);
  const endpoint = own.endpoint ?? first('AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL') ?? null;
  if (endpoint !== null && !isHttpUrl(endpoint)) {
    return { problem: 'AWS_ENDPOINT_URL: expected an http or https address' };
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
