import { sampleOf } from '../../model/action.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { documentMarkdown } from '../../report/document-text.ts';
import { flag, JOB_ARGUMENT, SAMPLE_OPTIONS, text } from '../define-command.ts';
import { defineRunCommand, RUN_SUMMARY } from '../run-in-workspace.ts';
import type { Terminal } from '../terminal.ts';
import type { WorkOptions } from '../work-in-workspace.ts';

/** `storeferry plan`: plans a job and sends nothing. */
export const planCommand = defineRunCommand({
  arguments: JOB_ARGUMENT,
  options: {
    markdown: flag('print Markdown for a pull request: without personal data, at most 60,000 characters'),
    resend: flag('plan to send every record, also unchanged ones'),
    ...SAMPLE_OPTIONS,
    show: text('key', 'print one record: its request body, with the cells and transforms of each field'),
  },
  notes:
    'KEY is the url of a product or the id of a contact, or a place such as "line 17" where the key of a row cannot be read.',
  examples: [
    'plan nightly-catalog',
    'plan nightly-catalog --json',
    'plan nightly-catalog --limit 10',
    'plan nightly-catalog --show red-shirt',
    'plan nightly-catalog --markdown > comment.md',
  ],
  json: {
    ofRun: `${RUN_SUMMARY.ofRun}; with \`--show\` also \`record\` (null where no record has the key) and \`suggestions\``,
  },
  action: 'plan',
  check({ json, markdown, show }) {
    if (markdown && (json || show !== undefined))
      throw new UsageError('--markdown prints the whole report: leave out --json and --show.');
  },
  async task({ read, subject: name }, { job }, { resend, show, ...sample }) {
    if (show !== undefined && name !== job)
      throw new UsageError(`The job ${job} has several stores: --show prints the record of one.`, {
        hint: `Name the job of the store: storeferry plan ${name} --show ${show}`,
      });
    return await read({ does: 'plan', job: name, resend, sample: sampleOf(sample) });
  },
  reported({ terminal }, _, { markdown, show }) {
    return {
      render: markdown ? documentMarkdown : undefined,
      onPlan: show === undefined ? undefined : showing(show, terminal),
    };
  },
});

/** Prints the record of a key in place of the report. */
function showing(key: string, terminal: Terminal): NonNullable<WorkOptions['onPlan']> {
  return async ({ context }, { run }, task) => {
    const { showRecord } = await import('../../run/show-record.ts');
    const { recordText, suggestionsText } = await import('../../report/record-view.ts');
    if (task.kind !== 'plan') throw new Error(`a run was planned for ${task.kind}`);
    const found = await showRecord(context, task.request, run, key);
    if (found.kind === 'found')
      return { text: recordText(found.view, terminal), members: { record: found.view } };
    const { suggestions, source } = found;
    const problem = suggestionsText(key, suggestions, source);
    return { text: '', members: { record: null, suggestions }, problem };
  };
}
