import type { StoreConfig } from '../config/store-config.ts';
import { withoutAbsent } from '../model/json-object.ts';
import { storeIdentity } from '../model/remote-address.ts';
import { UsageError } from '../model/storeferry-error.ts';
import { type FoundRecord, findRecords } from '../run/records/record-history.ts';
import { printable } from '../text/printable.ts';
import { type Invocation, requiredArgument, text } from './define-command.ts';
import { type OpenContext, openCommandContext } from './open-context.ts';
import { withJsonError } from './with-json-result.ts';

/** How many records an ambiguous text lists. */
const RECORDS_NAMED = 10;

/** Which record a command is about, as it was typed. */
interface RecordChoice {
  readonly key: string;
  readonly store: string | undefined;
  readonly json: boolean;
  /** Also a contact that the ledger does not know, by its key: the files of runs may have it. No product. */
  readonly anyContact?: true;
}

/** How a record is named. */
export const RECORD_ARGUMENTS = {
  key: requiredArgument('the url, id or SKU of a product, the id of a contact, or part of a title or name'),
};

/** `--store` of a command about a record. */
export const STORE_OPTION = text('store', 'the store of the record, where several have it');

/** Does the work of a command on the one record that a text means. UsageError when it means none, or several. */
export async function withRecord(
  invocation: Invocation,
  { key, store, json, anyContact }: RecordChoice,
  work: (open: OpenContext, record: FoundRecord) => Promise<number>,
): Promise<number> {
  return await withJsonError(invocation, json, async () => {
    // To forget a contact rewrites the database, which blocks its thread for long.
    await using open = await openCommandContext(invocation, { withoutThread: anyContact === undefined });
    const { context, workspace } = open;
    const names = store === undefined ? workspace.storeNames() : [store];
    const stores = names.map((name) => workspace.store(name));
    const known = await findRecords(context, stores, key, RECORDS_NAMED + 1);
    const found = anyContact ? contactsIn(known, stores, key) : known;
    const [record] = found;
    if (record === undefined)
      throw new UsageError(`No record matches ${JSON.stringify(key)}: no url, id, SKU, title or name.`, {
        hint: `Storeferry knows only records that it has sent. Searched ${names.length === 1 ? 'store' : 'stores'}: ${names.join(', ')}.`,
      });
    if (found.length > 1) {
      const more = found.length > RECORDS_NAMED ? ['and more'] : [];
      const lines = [...found.slice(0, RECORDS_NAMED).map(recordLine), ...more];
      const count = found.length > RECORDS_NAMED ? `More than ${RECORDS_NAMED}` : String(found.length);
      throw new UsageError(`${count} records match ${JSON.stringify(key)}:\n  ${lines.join('\n  ')}`, {
        hint: 'Type the whole key; if several stores have it, name one with --store.',
      });
    }
    return await work(open, record);
  });
}

/** The contacts among the records; where there is none, the one that the key would name in the only store. */
function contactsIn(
  known: readonly FoundRecord[],
  stores: readonly StoreConfig[],
  key: string,
): readonly FoundRecord[] {
  const contacts = known.filter(({ target }) => target.resource === 'contacts');
  const [product] = known;
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
  return [{ store: store.name, target, key: key.trim(), title: null, id: null }];
}

function recordLine({ store, key, title, id }: FoundRecord): string {
  const parts = withoutAbsent([title, id === null ? null : `id ${id}`, store]);
  return printable(`${key} (${parts.join(', ')})`);
}
