import { InvalidArgumentError } from 'commander';
import { sumOf, withoutAbsent } from '../../model/json-object.ts';
import { coveredWords, type IdRange, MAX_SCANNED_IDS, scanContacts } from '../../run/scan-contacts.ts';
import { counted } from '../../text/printable.ts';
import { parsedOption, requiredArgument, text, unknownAction } from '../define-command.ts';
import { defineStateCommand } from '../define-state-command.ts';
import { selectStore } from '../open-context.ts';
import { recordCommand } from '../record-command.ts';

const PROGRESS_EVERY_MS = 2_000;

/** `storeferry contacts scan`: finds the ids of a store's contacts, for `crosswalk: store`. */
export const contactsCommand = defineStateCommand({
  arguments: { action: requiredArgument('scan') },
  options: {
    store: text('store', 'the store; needed where the workspace has several'),
    ids: parsedOption<readonly IdRange[] | null>(
      'ranges',
      'the ids to ask for, such as 1000-1400,2000; default: around those in orders, until 200 in a row are absent',
      null,
      parseRanges,
    ),
  },
  notes: `Writes contacts-of-STORE.csv, the crosswalk of jobs with \`crosswalk: store\`. Where \`probe\` has seen that the store
lists contacts, they are read. Otherwise each id is asked by an update without fields, which the API defines to change
nothing; the store may still do what it does after any update of a contact, such as start an automation, so try one id
first. An interrupted scan goes on where it was; a further one keeps what is known of other ids. The file has e-mail
addresses: treat it as the store's contacts.`,
  examples: ['contacts scan --ids 1042', 'contacts scan --store main --ids 1000-1400', 'contacts scan'],
  json: 'the numbers of requests, contacts found, ids without contact, and addresses of several contacts',
  check({ action }) {
    if (action !== 'scan') throw unknownAction('contacts', action, 'Type: storeferry contacts scan');
  },
  async run({ context, workspace, terminal }, _, { store: name, ids, json }) {
    const store = selectStore(workspace, name);
    await recordCommand(context, { action: 'scan-contacts' });
    let shownAt = performance.now();
    const { file, covered, ...scan } = await scanContacts(context, {
      store,
      ranges: ids,
      onProgress: (asked, found) => {
        if (json || performance.now() - shownAt < PROGRESS_EVERY_MS) return;
        shownAt = performance.now();
        terminal.err(`${asked} ids, ${found} contacts\n`);
      },
    });
    const { requests, found, absent, ambiguous } = scan;
    const are = ambiguous === 1 ? 'e-mail address is that' : 'e-mail addresses are those';
    const known = coveredWords(covered);
    const lines = withoutAbsent([
      `${counted(found, 'contact')} of ${store.name}: ${counted(requests, 'request')}, ${counted(absent, 'id')} without a contact.`,
      ambiguous > 0 && `${ambiguous} ${are} of several contacts: their rows are rejected, never sent.`,
      known !== undefined && `Asked for so far: ids ${known}. What was found of them is kept.`,
      `Written: ${file}. Jobs use it with \`crosswalk: store\`.\n`,
    ]);
    return { json: scan, text: lines.join('\n') };
  },
});

function parseRanges(typed: string): readonly IdRange[] {
  const ranges = typed.split(',').map((part) => {
    const [, first, last = first] = /^\s*(\d{1,15})\s*(?:-\s*(\d{1,15})\s*)?$/.exec(part) ?? [];
    const [from, to] = [Number(first), Number(last)];
    if (!(from >= 1 && to >= from))
      throw new InvalidArgumentError('Expected ids such as 1000-1400 or 1042,1050.');
    return { from, to };
  });
  if (sumOf(ranges, ({ from, to }) => to - from + 1) > MAX_SCANNED_IDS)
    throw new InvalidArgumentError(`Expected at most ${MAX_SCANNED_IDS} ids.`);
  return ranges;
}
