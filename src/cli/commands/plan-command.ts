import { sampleOf } from '../../model/action.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { documentMarkdown } from '../../report/document-text.ts';
import type { ImportRequest } from '../../run/run-context.ts';
import { defineCommand, flag, JOB_ARGUMENT, JSON_FLAG, SAMPLE_OPTIONS, text } from '../define-command.ts';
import { RUN_SUMMARY, runInWorkspace } from '../run-in-workspace.ts';
import type { Terminal } from '../terminal.ts';
import type { WorkOptions } from '../work-in-workspace.ts';

/** `storeferry plan`: plans a job and sends nothing. */
export const planCommand = defineCommand({
  arguments: JOB_ARGUMENT,
  options: {
    json: JSON_FLAG,
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
  run: async (invocation, { job }, { json, markdown, resend, show, ...sample }) => {
    if (markdown && (json || show !== undefined))
      throw new UsageError('--markdown prints the whole report: leave out --json and --show.');
    const render = markdown ? documentMarkdown : undefined;
    let request: ImportRequest | undefined;
    const onPlan = show === undefined ? undefined : showing(show, invocation.terminal, () => request);
    return await runInWorkspace(
      invocation,
      { json, action: 'plan', about: job, onPlan, render },
      async (open, tools, name) => {
        if (show !== undefined && name !== job)
          throw new UsageError(`The job ${job} has several stores, and a record is that of one.`, {
            hint: `Name the job of the store: storeferry plan ${name} --show ${show}`,
          });
        const task = await tools.readTask(open, {
          does: 'plan',
          job: name,
          resend,
          sample: sampleOf(sample),
        });
        if (task.kind === 'plan') request = task.request;
        return task;
      },
    );
  },
});

/** Prints the record of a key in place of the report. */
function showing(
  key: string,
  terminal: Terminal,
  request: () => ImportRequest | undefined,
): NonNullable<WorkOptions['onPlan']> {
  return async ({ context }, { run }) => {
    const { showRecord } = await import('../../run/show-record.ts');
    const { recordText, suggestionsText } = await import('../../report/record-view.ts');
    const known = request();
    if (known === undefined) throw new Error('a run was planned without a request');
    const found = await showRecord(context, known, run, key);
    if (found.kind === 'found')
      return { text: recordText(found.view, terminal), members: { record: found.view } };
    const { suggestions, source } = found;
    const problem = suggestionsText(key, suggestions, source);
    return { text: '', members: { record: null, suggestions }, problem };
  };
}
