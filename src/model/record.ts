import type { Contact } from './contact.ts';
import type { Product } from './product.ts';
import type { Reason } from './reason.ts';
import type { RowSpan } from './row.ts';

/** What an import writes. */
export type Resource = 'products' | 'contacts';

/** What the rows of one record have in common, whatever its result. */
interface FromRows {
  /** The rows to show for this record, whole groups, in source order; a shared row may stand under two records. */
  readonly spans: readonly RowSpan[];
  /** How many rows this record accounts for; a row shared by two records is counted under the first only. */
  readonly rows: number;
  /**
   * Set when these rows may be only a part of their record: rows of one key that do not stand together, where the
   * mapping wants them adjacent. When the key is met again in the same source, no copy may be sent, whatever the
   * duplicates policy says: the record would be imported by halves. A copy equal to one already met is harmless.
   */
  readonly torn?: true;
}

/** A record that can be sent. `key` is the product `url` or the contact `id`. */
export interface MappedRecord extends FromRows {
  readonly kind: 'record';
  readonly key: string;
  readonly body: Product | Contact;
  /** What was changed on the way, a sentence a time, to be counted by its text: 'quantity below 0 raised to 0'. */
  readonly notes?: readonly string[];
  /** As in a DeferredRecord: these rows give this body in every later run, without notes. */
  readonly memo?: string;
}

/**
 * Rows that have a key and are not skipped, before they are mapped. Where the ledger remembers `memo` with the key,
 * they are what they were when the store acknowledged their body: they need not be mapped.
 */
export interface DeferredRecord extends FromRows {
  readonly kind: 'deferred';
  readonly key: string;
  /** A digest of everything that the mapping reads of these rows, and of the mapping itself. */
  readonly memo: string;
  /** Characters that stay in memory until `map` is called. */
  readonly chars: number;
  /** What the rows become; gives the same whenever it is called. */
  readonly map: () => Mapped;
}

/** Rows that cannot become a record. `key` is null when it cannot be read: then nothing may be deleted. */
export interface MappedRejection extends FromRows {
  readonly kind: 'rejected';
  readonly key: string | null;
  readonly reason: Reason;
}

/** Rows the mapping leaves out on purpose. `key` as in a rejection: a skipped record is present in the source. */
export interface MappedSkip extends FromRows {
  readonly kind: 'skipped';
  readonly key: string | null;
  readonly reason: Reason;
}

/** What the mapping makes of a group of rows. */
export type Mapped = MappedRecord | MappedRejection | MappedSkip;
