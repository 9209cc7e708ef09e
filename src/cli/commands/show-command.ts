import { commandText } from '../../model/action.ts';
import { Page } from '../../report/document-text.ts';
import { isoTime } from '../../report/run-summary.ts';
import { type RecordField, type RecordState, recordState } from '../../run/records/record-history.ts';
import { changeText, OTHER_URL, valueText } from '../../run/records/run-records.ts';
import { formatMoment, printable, shellWord, truncate } from '../../text/printable.ts';
import { defineStateCommand } from '../define-state-command.ts';
import { findRecord, RECORD_ARGUMENTS, STORE_OPTION } from '../find-record.ts';

/** Characters of a value in a table. */
const VALUE_LENGTH = 60;

/** `storeferry show`: what the store last acknowledged of a record, which job set each field, what was edited there, and which values are held. */
export const showCommand = defineStateCommand({
  arguments: RECORD_ARGUMENTS,
  options: { store: STORE_OPTION },
  examples: ['show red-shirt', 'show TL-9 --json'],
  json: 'the record, its job, the run that last set each field, the fields edited in the store, and held values',
  withoutThread: true,
  async run(open, { key }, { store }) {
    const { context, terminal, program } = open;
    const record = await findRecord(open, key, store);
    const found = await recordState(context, record.target, record.key);
    const { versions: _, body, fields, ...known } = found;
    const { target, id: __, ...named } = record;
    const json = {
      ...named,
      resource: target.resource,
      ...known,
      body: body === null ? null : JSON.parse(body),
      fields: fields.map(({ setBy, ...field }) => ({
        ...field,
        setBy: setBy && { ...setBy, at: isoTime(setBy.at) },
      })),
    };
    const page = new Page(terminal);
    page.say(`${record.title ?? record.key}: ${record.key} in ${record.store}`, { tone: 'strong' });
    page.figures(recordFacts(found).map(([name, value]) => [name, '', printable(value)]));
    if (fields.length > 0) {
      page.heading('Acknowledged body');
      page.table(['Field', 'Value', 'Last changed by'], fields.map(fieldRow));
    }
    if (found.edited.length > 0) {
      page.heading('Edited in the store');
      page.table(
        ['Field', 'Value there', 'Seen since'],
        found.edited.map(({ field, value, since }) => rowOf([field, shortened(valueText(value)), since])),
      );
    }
    for (const { run, job, changes, edited, moved } of found.held) {
      page.heading(printable(`Held by ${job}, in run ${run}`));
      page.say(changes.map(changeText).join('; '));
      if (moved) page.say(`It ${OTHER_URL}.`);
      for (const { words, conflicts } of edited ? EDITED_CHOICES : [HELD_CHOICE]) {
        page.say(words, { tone: 'quiet' });
        page.command(`${program} ${commandText({ does: 'release', run, only: [record.key], conflicts })}`);
      }
    }
    page.say('All earlier versions:', { tone: 'quiet' });
    page.command(
      `${program} history ${shellWord(record.key)}${store === undefined ? '' : ` --store ${shellWord(store)}`}`,
    );
    return { json, text: page.toString() };
  },
});

const HELD_CHOICE = { words: 'If the values are right, to send the record:', conflicts: undefined };
const EDITED_CHOICES = [
  { words: 'To send the values of the source:', conflicts: 'source' },
  { words: 'To keep the values of the store, and send the rest:', conflicts: 'store' },
] as const;

const STATES: Readonly<Record<RecordState['state'], string>> = {
  acknowledged: 'acknowledged',
  'in-doubt': 'in doubt: a later request may have arrived; the next run sends the record again',
  unknown: 'not known to be in the store: deleted, or never acknowledged',
};

function recordFacts({ state, id, job, versions }: RecordState): (readonly [string, string])[] {
  const [newest] = versions;
  const last =
    newest === undefined ? [] : [['Last version', `${formatMoment(newest.at)}, run ${newest.run}`] as const];
  return [
    ['State', STATES[state]],
    ['Id in the store', id === null ? 'not answered' : String(id)],
    ['Belongs to job', job || 'none'],
    ...last,
  ];
}

function fieldRow({ field, variant, value, setBy }: RecordField) {
  const name = variant === null ? field : `${field} (${variant})`;
  const shown = typeof value === 'string' ? value : JSON.stringify(value);
  const by =
    setBy === null ? 'before the history' : [setBy.job, setBy.run, setBy.place].filter(Boolean).join(', ');
  return rowOf([name, shortened(shown), by]);
}

function rowOf(cells: readonly string[]) {
  return { cells: cells.map(printable), tone: 'strong' as const };
}

function shortened(value: string) {
  return truncate(value, VALUE_LENGTH);
}
