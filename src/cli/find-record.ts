import type { StoreConfig } from '../config/store-config.ts';
import { withoutAbsent } from '../model/json-object.ts';
import { isSameEmail } from '../model/operation.ts';
import { storeIdentity } from '../model/remote-address.ts';
import { UsageError } from '../model/storeferry-error.ts';
import { type FoundRecord, findRecords } from '../run/records/record-history.ts';
import { printable } from '../text/printable.ts';
import { requiredArgument, text } from './define-command.ts';
import type { OpenContext } from './open-context.ts';

/** How many records an ambiguous text lists. */
const RECORDS_NAMED = 10;

/** How a record is named. */
export const RECORD_ARGUMENTS = {
  key: requiredArgument('the url, id or SKU of a product, the id of a contact, or part of a title or name'),
};

/** `--store` of a command about a record. */
export const STORE_OPTION = text('store', 'the store of the record, where several have it');

/** The one record that a text means. UsageError when it means none, or several. */
export async function findRecord(
  { context, workspace }: OpenContext,
  key: string,
  store: string | undefined,
  among: typeof contactsIn = (known) => known,
): Promise<FoundRecord> {
  const names = store === undefined ? workspace.storeNames() : [store];
  const stores = names.map((name) => workspace.store(name));
  const found = among(await findRecords(context, stores, key, RECORDS_NAMED + 1), stores, key);
  const [record] = found;
  if (record === undefined)
    throw new UsageError(`No record matches ${JSON.stringify(key)}: no url, id, SKU, title or name.`, {
      hint: `Storeferry knows only records that it has sent. Searched ${names.length === 1 ? 'store' : 'stores'}: ${names.join(', ')}.`,
    });
  if (found.length === 1) return record;
  const isMore = found.length > RECORDS_NAMED;
  const lines = [...found.slice(0, RECORDS_NAMED).map(recordLine), ...(isMore ? ['and more'] : [])];
  const count = isMore ? `More than ${RECORDS_NAMED}` : found.length;
  throw new UsageError(`${count} records match ${JSON.stringify(key)}:\n  ${lines.join('\n  ')}`, {
    hint: 'Type the whole key; if several stores have it, name one with --store.',
  });
}

/**
 * The contacts among the records: of an address those that have exactly it, because `joann@a.example` has `ann@a.example` in it. Where
 * there is none, also one that the ledger does not know: the one that the key would name in the only store, because the files of
 * runs may have it.
 */
export function contactsIn(
  known: readonly FoundRecord[],
  stores: readonly StoreConfig[],
  key: string,
): readonly FoundRecord[] {
  const isAddress = /@[^@.]+\../.test(key);
  const contacts = known.filter(
    ({ target, email }) => target.resource === 'contacts' && (!isAddress || isSameEmail(email, key)),
  );
  const product = known.find(({ target }) => target.resource === 'products');
  const [store, ...others] = stores;
  if (contacts.length > 0 || store === undefined) return contacts;
  if (product !== undefined)
    throw new UsageError(
      `${printable(product.key)} is a product of ${product.store}; only contacts are forgotten.`,
    );
  if (others.length > 0)
    throw new UsageError(`No store has sent a contact ${JSON.stringify(key)}.`, {
      hint: 'To remove it from the files of runs, name the store with --store.',
    });
  const target = { storeId: storeIdentity(store), resource: 'contacts' } as const;
  return [{ store: store.name, target, key: key.trim(), title: null, email: null, id: null }];
}

function recordLine({ store, key, title, id }: FoundRecord) {
  const parts = withoutAbsent([title, id === null ? null : `id ${id}`, store]);
  return printable(`${key} (${parts.join(', ')})`);
}
