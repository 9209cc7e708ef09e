import { storeIdentity } from '../../model/remote-address.ts';
import { RECORD_FORMATS } from '../../model/run.ts';
import {
  type CatalogFound,
  catalogAsOf,
  catalogBodies,
  catalogContent,
} from '../../run/records/run-records.ts';
import { counted } from '../../text/printable.ts';
import { AS_OF_OPTION, text } from '../define-command.ts';
import { defineStateCommand } from '../define-state-command.ts';
import { selectStore } from '../open-context.ts';
import { formatOf, writeOut } from '../write-out.ts';

/** `storeferry catalog`: writes the products of a store as it had acknowledged them at a time. */
export const catalogCommand = defineStateCommand({
  arguments: {},
  options: {
    asOf: AS_OF_OPTION,
    store: text('store', 'the store; needed where the workspace has several'),
    out: text(
      'file',
      `the file to write, by its ending: ${RECORD_FORMATS.join(', ')}; default: CSV to standard output`,
    ),
  },
  notes: `A date alone is its beginning in UTC, a time without a zone is of this machine. Tables have a row per variant, JSONL has the
request body of a product per line. The history has what the store acknowledged, not what somebody changed there by hand.`,
  examples: [
    'catalog --as-of 2026-11-01 --out before-black-friday.xlsx',
    'catalog --as-of 2026-11-01T06:00:00+01:00 --store main --out catalog.jsonl',
    'catalog > today.csv',
  ],
  check(_, { out }) {
    formatOf(out ?? 'catalog.csv');
  },
  async run({ context, workspace, terminal }, _, { asOf, store: name, out }) {
    const format = formatOf(out ?? 'catalog.csv');
    const store = selectStore(workspace, name);
    const found: CatalogFound = { products: 0, damaged: 0, older: 0, current: 0 };
    const target = { storeId: storeIdentity(store), resource: 'products' } as const;
    const at = asOf ?? context.clock();
    const content = catalogContent(() => {
      Object.assign(found, { products: 0, damaged: 0, older: 0, current: 0 });
      return catalogBodies(catalogAsOf(context, target, at), found);
    }, format);
    return { text: printed(), isData: out === undefined };

    async function* printed() {
      if (out === undefined) yield* content;
      else {
        await writeOut(out, content);
        yield `${counted(found.products, 'product')} written to ${out}.\n`;
      }
      if (found.older > 0)
        terminal.err(
          `The history of ${counted(found.older, 'product')} begins after this time: they are written as they were when it began.\n`,
        );
      if (found.current > 0 && asOf !== undefined)
        terminal.err(
          `No history of ${counted(found.current, 'product')}: ${found.current === 1 ? 'it is written as it is' : 'they are written as they are'} now.\n`,
        );
      if (found.damaged > 0)
        terminal.err(`${counted(found.damaged, 'product')} left out: the history cannot be read.\n`);
    }
  },
});
