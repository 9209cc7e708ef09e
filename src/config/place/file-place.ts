import type { RemoteAddress } from '../../model/remote-address.ts';

/** Where a file is: at a path, as written (relative to the workspace unless absolute), or somewhere else. */
export type FilePlace =
  | { readonly path: string; readonly remote?: undefined }
  | { readonly path?: undefined; readonly remote: RemoteAddress };
