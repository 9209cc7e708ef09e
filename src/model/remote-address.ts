/**
 * A place outside the workspace that files come from or go to, as the kinds of `src/remote/remote-kinds.ts` know it; each adds
 * its own fields.
 */
export interface RemoteAddress {
  readonly kind: string;
  /** For people: the address as it was written, without query and secrets; what the environment fills in by its name. */
  readonly location: string;
  /** Whether the address may lead into a private network, or to this machine. */
  readonly allowPrivateAddresses: boolean;
  /** The address of the service, where the location does not say it; null: the usual one. */
  readonly endpoint?: string | null;
}

/** How a bucket is reached, in S3 or in a store that speaks its protocol. */
export interface S3Place {
  readonly bucket: string;
  /** Null: Amazon's own. */
  readonly endpoint: string | null;
  readonly region: string;
  readonly credentials: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken: string | null;
  };
  /** The bucket stands in the path, not in the host name. */
  readonly pathStyle: boolean;
  /** Whether the endpoint may lead into a private network, or to this machine. */
  readonly allowPrivateAddresses: boolean;
}
