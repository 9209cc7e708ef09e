import { z } from 'zod';
import type { RemoteAddress } from '../model/remote-address.ts';
import type { RemoteClient } from './remote-client.ts';

/** What an address in a job is completed with. */
export interface Surroundings {
  /** A variable of the environment. */
  readonly variable: (name: string) => string | undefined;
  readonly onSecret: (value: string) => void;
  /** The address as it stands in the file: placeholders by their names. Undefined when it is no text. */
  readonly written: string | undefined;
}

/** An address, with the variables that it needs and that are not set: with some, it is good for checks only. */
export type Completed<Address extends RemoteAddress = RemoteAddress> =
  | { readonly remote: Address; readonly unset: readonly string[] }
  | { readonly problem: string };

/** An address as a job gives it. */
export interface WrittenAddress {
  /** Whether it may name several files, as only a source may. */
  readonly namesSeveral: boolean;
  complete(around: Surroundings): Completed;
}

/** A field whose value is a secret, below the key of the kind, and a fitting name for its variable. */
export interface SecretOfAddress {
  readonly path: readonly string[];
  readonly variable: string;
}

interface Definition<Spec, Address extends RemoteAddress> {
  readonly kind: Address['kind'];
  /** What stands under the key of the kind, in a source or destination. */
  readonly schema: z.ZodType<Spec>;
  /** What the reference says of the key. */
  readonly description: { readonly source: string; readonly destination: string };
  /** The secrets in what stands in the file. */
  readonly secrets: (written: unknown) => readonly SecretOfAddress[];
  readonly namesSeveral: (spec: Spec) => boolean;
  readonly complete: (spec: Spec, around: Surroundings) => Completed<Address>;
  /** What distinguishes two places of the same path. */
  readonly identity: (at: Address) => readonly (string | number | null)[];
  /** Whether a version always changes with the content. */
  readonly hasExactVersions: boolean;
  /** The client; its library is loaded here, on first use. */
  readonly open: (at: Address) => Promise<RemoteClient>;
}

/** A way to reach files on other machines, and everything that is particular to it. */
export interface RemoteKind
  extends Pick<Definition<unknown, RemoteAddress>, 'kind' | 'description' | 'secrets' | 'hasExactVersions'> {
  readonly schema: z.ZodType<WrittenAddress>;
  /** Undefined, like what `open` gives, for an address of another kind. */
  identity(at: RemoteAddress): readonly (string | number | null)[] | undefined;
  open(at: RemoteAddress): Promise<RemoteClient> | undefined;
}

/** Makes a kind of its definition. */
export function remoteKind<Spec, Address extends RemoteAddress>(
  definition: Definition<Spec, Address>,
): RemoteKind {
  const { kind, schema, description, secrets, hasExactVersions } = definition;
  const isOwn = (at: RemoteAddress): at is Address => at.kind === kind;
  return {
    ...{ kind, description, secrets, hasExactVersions },
    schema: schema.transform(
      (spec): WrittenAddress => ({
        namesSeveral: definition.namesSeveral(spec),
        complete: (around) => definition.complete(spec, around),
      }),
    ),
    identity: (at) => (isOwn(at) ? definition.identity(at) : undefined),
    open: (at) => (isOwn(at) ? definition.open(at) : undefined),
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
  .describe('Whether the address may lead into a private network, or to this machine.');

/** The field of a pattern that takes one file of those it finds. */
export const newest = z
  .boolean()
  .default(false)
  .describe('Of several files that a `*` finds, read only the one written last.');
