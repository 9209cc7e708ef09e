import { z } from 'zod';
import type { RemoteAddress } from '../model/remote-address.ts';
import type { DatabaseSession, RemoteClient } from './remote-client.ts';

/** The additional settings for an address in a job. */
interface Surroundings {
  readonly variable: (name: string) => string | undefined;
  readonly onSecret: (value: string) => void;
  /** The address as written in the file, with placeholders unfilled; undefined if it is not a text. */
  readonly written: string | undefined;
  /** The query beside the address, for databases. */
  readonly query?: string | undefined;
}

/** An address and its unset variables: with any unset, it is usable for checks only. */
type Completed<Address extends RemoteAddress = RemoteAddress> =
  | { readonly remote: Address; readonly unset: readonly string[] }
  | { readonly problem: string };

interface WrittenAddress {
  /** Whether it may name several files, which only a source may. */
  readonly namesSeveral: boolean;
  complete(around: Surroundings): Completed;
}

/** A secret field below the key of the kind, and a proposed name for its variable. */
interface SecretOfAddress {
  readonly path: readonly string[];
  readonly variable: string;
}

interface Definition<Spec, Address extends RemoteAddress> {
  readonly kind: Address['kind'];
  /** The value under the key of the kind, in a source or destination. */
  readonly schema: z.ZodType<Spec>;
  /** The texts of the reference. */
  readonly description: {
    readonly source: string;
    /** Null: nothing is written there. */
    readonly destination: string | null;
  };
  /** The secret fields of an address as written. */
  readonly secrets: (written: unknown) => readonly SecretOfAddress[];
  readonly namesSeveral: (spec: Spec) => boolean;
  readonly complete: (spec: Spec, around: Surroundings) => Completed<Address>;
  /** What distinguishes two places with the same path. */
  readonly identity: (at: Address) => readonly (string | number | null)[];
  /** Whether a version always changes with the content. */
  readonly hasExactVersions: boolean;
  /** The client; its library is loaded here, on first use. */
  readonly open: (at: Address) => Promise<RemoteClient>;
  /** A session for writing rows; databases have it. */
  readonly session?: (at: Address, signal: AbortSignal) => Promise<DatabaseSession>;
}

/** One way to reach files on other machines, such as SFTP, with everything specific to it. */
export interface RemoteKind
  extends Pick<Definition<unknown, RemoteAddress>, 'kind' | 'description' | 'secrets' | 'hasExactVersions'> {
  readonly schema: z.ZodType<WrittenAddress>;
  /** These accept addresses of their kind only. */
  identity(at: RemoteAddress): readonly (string | number | null)[];
  open(at: RemoteAddress): Promise<RemoteClient>;
  session(at: RemoteAddress, signal: AbortSignal): Promise<DatabaseSession>;
}

/** Makes a kind of its definition. */
export function remoteKind<Spec, Address extends RemoteAddress>(
  definition: Definition<Spec, Address>,
): RemoteKind {
  const { kind, schema, description, secrets, hasExactVersions } = definition;
  const isOwn = (at: RemoteAddress): at is Address => at.kind === kind;
  const own = (at: RemoteAddress) => {
    if (!isOwn(at)) throw new TypeError(`an address of the kind ${kind} was expected, not ${at.kind}`);
    return at;
  };
  return {
    kind,
    description,
    secrets,
    hasExactVersions,
    schema: schema.transform(
      (spec): WrittenAddress => ({
        namesSeveral: definition.namesSeveral(spec),
        complete: (around) => definition.complete(spec, around),
      }),
    ),
    identity: (at) => definition.identity(own(at)),
    open: async (at) => definition.open(own(at)),
    async session(at, signal) {
      if (definition.session === undefined) throw new TypeError(`${at.kind} is no database`);
      return await definition.session(own(at), signal);
    },
  };
}

/** A field of an address that comes from the environment only. */
export function secretField(what: string, variable: string): z.ZodString {
  return z
    .string()
    .min(1)
    .meta({ description: `${what} Comes from the environment only.`, examples: [`\${${variable}}`] });
}

/** The field by which a job allows an address in a private network. */
export const allowPrivateAddresses = z
  .boolean()
  .default(false)
  .describe('Also in a private network, or on this machine.');

/** The field of a pattern that selects one of the files that it matches. */
export const newest = z
  .boolean()
  .default(false)
  .describe('If `*` matches several files, read only the newest one.');
