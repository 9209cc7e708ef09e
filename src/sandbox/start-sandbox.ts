import { UsageError } from '../model/storeferry-error.ts';
import type { ServerOptions } from './build-server.ts';
import type { ProfileName } from './route.ts';

/**
 * How a store may differ from what the document promises or leaves open. Without a profile the sandbox is the document
 * alone (README.md beside this file). Profiles can be combined.
 */
export const PROFILES = {
  extended:
    'also has the endpoints that real stores have beyond the document: reads, contacts by e-mail, categories',
  'replace-whole': 'an update of a product empties the fields that the body does not have',
  'clears-lists': 'an empty list in the body of a contact clears the stored one',
  'refuses-empty-put': 'refuses the update of a contact whose body has no non-empty field',
  'flattens-variants': 'keeps prices and stock of single variants only where an option is `advanced`',
} as const satisfies Readonly<Record<ProfileName, string>>;

/** The name of a profile. */
export type Profile = keyof typeof PROFILES;

/** Whether a text is the name of a profile. */
export function isProfile(name: string): name is Profile {
  return Object.hasOwn(PROFILES, name);
}

export interface SandboxOptions extends ServerOptions {
  /** 0: any free port. */
  readonly port: number;
  /** The address to listen on; default: loopback. */
  readonly host?: string;
}

/**
 * Starts the storefront service of storefront-api.md, to rehearse against. How it decides what the document leaves
 * open is written in README.md beside this file.
 *
 * @throws UsageError for options that cannot be; LockedError or StateError when the data folder cannot be used.
 */
export async function startSandbox(options: SandboxOptions) {
  refuseBadOptions(options);
  const { host = '127.0.0.1', port } = options;
  // Loads fastify and zod, which the texts about profiles do not need.
  const { buildServer } = await import('./build-server.ts');
  const server = buildServer(options);
  try {
    const url = await server.listen({ port, host });
    return {
      /** The base URL: `http://127.0.0.1:4010`. */
      url,
      /** Ends connections and closes the database. */
      close: () => server.close(),
    };
  } catch (error) {
    await server.close();
    const why = String(error).includes('EADDRINUSE') ? 'the port is in use' : String(error);
    throw new UsageError(`The sandbox cannot listen on ${host}:${port}: ${why}.`, {
      cause: error,
      hint: 'Name another port with --port.',
    });
  }
}

function refuseBadOptions({ apiKey, failRate = 0, latencyMs = 0, requestsPerSecond }: SandboxOptions) {
  if (!/^\S+$/.test(apiKey)) throw new UsageError('The API key must not be empty or contain spaces');
  if (!(failRate >= 0 && failRate <= 1)) throw new UsageError('The fail rate must be between 0 and 1');
  if (!(latencyMs >= 0)) throw new UsageError('The latency must not be below 0 ms');
  if (requestsPerSecond !== undefined && !(requestsPerSecond > 0))
    throw new UsageError('The requests per second must be more than 0');
}
