declare module '@20minutes/s3rver' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  interface Listed {
    readonly objects: readonly { readonly key: string }[];
    readonly isTruncated: boolean;
  }

  /** The parts of the server that the tests use. */
  export default class S3rver {
    constructor(options: {
      readonly directory: string;
      readonly silent: boolean;
      readonly vhostBuckets: boolean;
      readonly configureBuckets: readonly { readonly name: string }[];
    });
    readonly store: {
      listObjects(
        bucket: string,
        options: { startAfter?: string | undefined; maxKeys?: number },
      ): Promise<Listed>;
      getObject(
        bucket: string,
        key: string,
      ): Promise<{ content: { destroy(): void }; metadata: { etag: string } } | null>;
      putContent(
        path: string,
        content: Buffer | AsyncIterable<Buffer>,
      ): Promise<readonly [size: number, md5: string]>;
    };
    readonly middleware: ((
      context: {
        path: string;
        app: object;
        store: object;
        body: unknown;
        query: Readonly<Record<string, string>>;
      },
      next: () => Promise<void>,
    ) => Promise<void>)[];
    configureBuckets(): Promise<unknown>;
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
  }
}
