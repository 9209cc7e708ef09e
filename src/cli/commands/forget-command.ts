import { withoutAbsent } from '../../model/json-object.ts';
import { isSameEmail } from '../../model/operation.ts';
import { InterruptedError, UsageError } from '../../model/storeferry-error.ts';
import { FORGETS, forgetRecord, forgottenWords, remainsOf } from '../../run/records/forget-record.ts';
import { printable, shellWord } from '../../text/printable.ts';
import { flag, requiredArgument, text } from '../define-command.ts';
import { defineStateCommand } from '../define-state-command.ts';
import { contactsIn, findRecord } from '../find-record.ts';
import { terminalPrompter } from '../init/prompter.ts';
import { recordCommand } from '../record-command.ts';

/** `storeferry forget`: removes what the state and the files of runs have of a contact. */
export const forgetCommand = defineStateCommand({
  arguments: { key: requiredArgument('the id of a contact, or its e-mail address') },
  options: {
    store: text('store', 'the store of the contact, where several have it'),
    yes: flag('do not ask; requires the complete key'),
  },
  notes: FORGETS.join('\n'),
  examples: ['forget 4711', 'forget ann@mail.example --yes'],
  json: 'how many versions and rejected rows were removed, the removed files, the runs whose plans were discarded, whether the values are erased on disk (`erased`), and what remains',
  // In a thread of its own (no `withoutThread`): rewriting the database takes long.
  async run(open, { key }, { store, yes }) {
    const { context, terminal, interruptSignal, program } = open;
    const record = await findRecord(open, key, store, contactsIn);
    const named = `${record.title === null ? '' : `${record.title}, `}contact ${record.key} of ${record.store}`;
    const ofStore = store === undefined ? '' : ` --store ${shellWord(store)}`;
    const repeat = `${program} forget ${shellWord(record.key)}${ofStore} --yes`;
    if (!yes) {
      if (!terminal.interactive || !process.stdin.isTTY)
        throw new UsageError(
          'This cannot be undone, and the command cannot ask for confirmation without a terminal.',
          { hint: 'To confirm it in the command, add --yes.' },
        );
      const question = `Forget ${printable(named)}? This cannot be undone.`;
      if (!(await terminalPrompter(interruptSignal()).confirm(question, false)))
        throw new InterruptedError('Nothing was forgotten.');
    } else if (record.key !== key.trim() && !isSameEmail(record.email, key))
      throw new UsageError(`${JSON.stringify(key)} is not the whole key of a contact.`, {
        hint: `If it is ${printable(named)}: ${repeat}`,
      });
    const forgotten = await forgetRecord(context, record);
    await recordCommand(context, { action: 'forget' });
    const { erased } = forgotten;
    const remains = remainsOf(forgotten);
    const lines = withoutAbsent([
      erased && `Forgot the contact ${printable(record.key)}.`,
      ...forgottenWords(forgotten),
      !erased && `  ${repeat}`,
      'What remains, and must be removed by hand where the law asks for it:',
      ...remains.map((what) => `  - ${what}`),
    ]);
    return {
      json: { key: record.key, store: record.store, ...forgotten, remains },
      text: `${lines.join('\n')}\n`,
      code: erased ? 0 : 1,
    };
  },
});
