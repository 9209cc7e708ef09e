interface Remote {
  /** For people: the address as it was written, without query and secrets; what the environment fills in by its name. */
  readonly location: string;
  /** Whether the address may lead into a private network, or to this machine. */
  readonly allowPrivateAddresses: boolean;
}

/** A file at a web address. */
export interface HttpAddress extends Remote {
  readonly kind: 'http';
  /** May hold secrets in its query; carries no user name. */
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly auth: HttpAuth | null;
}

/** The credentials for a web server. */
export type HttpAuth =
  | { readonly kind: 'basic'; readonly user: string; readonly password: string }
  | { readonly kind: 'bearer'; readonly token: string };

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

/** An object in S3, or in a store that speaks its protocol. */
export interface S3Address extends Remote, S3Place {
  readonly kind: 's3';
  /** A `*` in its last part stands for any text, in sources. */
  readonly key: string;
  /** Of several objects, only the one written last. */
  readonly newest: boolean;
}

/** A file on an SSH server. */
export interface SftpAddress extends Remote {
  readonly kind: 'sftp';
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** Absolute, or from the user's home folder. A `*` in its last part stands for any text, in sources. */
  readonly path: string;
  /** Fingerprints of the keys that the server may have, as `SHA256:…`. */
  readonly hostKeys: readonly string[];
  readonly password: string | null;
  readonly privateKey: string | null;
  readonly passphrase: string | null;
  /** Of several files, only the one written last. */
  readonly newest: boolean;
}

/** A place outside the workspace that files come from or go to. */
export type RemoteAddress = HttpAddress | S3Address | SftpAddress;
