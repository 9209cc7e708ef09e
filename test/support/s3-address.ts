import type { S3Address } from '../../src/remote/s3-client.ts';
import { S3_KEYS, type S3Server } from './s3-server.ts';

/** An object in the bucket of the test server, with the keys that are good. */
export function s3Address({ endpoint }: Pick<S3Server, 'endpoint'>, key: string): S3Address {
  return {
    kind: 's3',
    location: `s3://bucket/${key}`,
    bucket: 'bucket',
    key,
    endpoint,
    region: 'us-east-1',
    credentials: { ...S3_KEYS, sessionToken: null },
    pathStyle: true,
    newest: false,
    allowPrivateAddresses: true,
  };
}
