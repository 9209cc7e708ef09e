import { Page } from '../../report/document-text.ts';
import { isoTime } from '../../report/run-summary.ts';
import { type RecordVersion, recordHistory } from '../../run/records/record-history.ts';
import { changeText } from '../../run/records/run-records.ts';
import { counted, formatBytes, formatMoment, grouped, printable, truncate } from '../../text/printable.ts';
import { text } from '../define-command.ts';
import { defineStateCommand } from '../define-state-command.ts';
import { findRecord, RECORD_ARGUMENTS, STORE_OPTION } from '../find-record.ts';

/** The most characters of one change in the table. */
const CHANGE_LENGTH = 160;

/** `storeferry history`: the acknowledged versions of a record, newest first. */
export const historyCommand = defineStateCommand({
  arguments: RECORD_ARGUMENTS,
  options: {
    store: STORE_OPTION,
    field: text('field', 'only versions that changed this field, such as variants.price'),
  },
  notes: `Each version is one that the store acknowledged: when, by which run and job, and from which file and line.
\`history: { keep: 400d }\` in stores.yaml says for how long versions are kept.`,
  examples: [
    'history red-shirt',
    'history red-shirt --field variants.price',
    'history TL-9 --store main --json',
  ],
  json: 'the record, its versions, newest first, with their changes, and the size of the history of its store and resource',
  withoutThread: true,
  async run(open, { key }, { store, field }) {
    const { context, terminal } = open;
    const record = await findRecord(open, key, store);
    const { target, ...found } = record;
    const versions = await recordHistory(context, target, record.key, field);
    const size = await context.state.history(target).size();
    const page = new Page(terminal);
    page.say(`${record.title ?? record.key}: ${record.key} in ${record.store}`, { tone: 'strong' });
    if (versions.length === 0) {
      const all = field === undefined ? [] : await recordHistory(context, target, record.key);
      page.say(noVersionsText(field, all), { indent: 2 });
    } else
      page.table(
        ['Time', 'Run', 'Job', 'From', 'Change'],
        versions.map((version) => row(version, field)),
      );
    page.say(
      `The history of ${target.resource} of ${record.store} has ${counted(size.versions, 'version')}: about ${formatBytes(size.bytes)}${perVersion(size)}.`,
      { tone: 'quiet' },
    );
    return {
      json: async () => ({
        ...found,
        resource: target.resource,
        versions: versions.map(({ body, at, ...version }) => ({
          at: isoTime(at),
          ...version,
          body: body === undefined || body === null ? null : JSON.parse(body),
        })),
        history: size,
      }),
      text: page.toString(),
    };
  },
});

function perVersion({ versions, bytes }: { readonly versions: number; readonly bytes: number }) {
  return versions === 0 ? '' : `, ${grouped(Math.round(bytes / versions))} bytes per version`;
}

function noVersionsText(field: string | undefined, all: readonly RecordVersion[]) {
  const changed = new Set(all.flatMap(({ changes }) => (changes ?? []).map((change) => change.field)));
  const fields = changed.size === 0 ? '' : ` Changed were: ${printable([...changed].sort().join(', '))}.`;
  return field === undefined
    ? 'No version is kept: it was last acknowledged before the history began, or longer ago than history.keep.'
    : `No version that is kept changed ${printable(field)}.${fields}`;
}

function row(version: RecordVersion, field: string | undefined) {
  const { at, run, job, place } = version;
  const cells = [
    formatMoment(at),
    run,
    printable(job),
    printable(place ?? ''),
    printable(whatChanged(version, field)),
  ];
  return { cells, tone: version.kind === 'acknowledged' ? ('strong' as const) : ('warning' as const) };
}

/** What a version changed, in one line; of a new record only the field that was asked for. */
function whatChanged({ kind, created, changes, id, renamed }: RecordVersion, field: string | undefined) {
  switch (kind) {
    case 'deleted':
      return renamed === undefined ? 'deleted' : `renamed to ${renamed}`;
    case 'absent':
      return 'the store no longer has it';
    case 'acknowledged': {
      const made = created ? [`created${id === null ? '' : ` with id ${id}`}`] : [];
      if (changes === null) return 'what it changed cannot be read';
      if (changes.length === 0) return 'acknowledged again, unchanged';
      const shown = created && field === undefined ? [] : changes;
      return [...made, ...shown.map((change) => truncate(changeText(change), CHANGE_LENGTH))].join('; ');
    }
    default:
      return kind satisfies never;
  }
}
