import { S3_KEYS, type S3Server } from './s3-server.ts';

/** The variables by which commands keep their artifacts in the bucket of a server. */
export function s3Environment({ endpoint }: Pick<S3Server, 'endpoint'>, prefix: string) {
  return {
    ARTIFACTS_URL: `s3://bucket/${prefix}`,
    AWS_ENDPOINT_URL: endpoint,
    AWS_ACCESS_KEY_ID: S3_KEYS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: S3_KEYS.secretAccessKey,
  };
}
