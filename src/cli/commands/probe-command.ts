import { resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { writeWhole } from '../../config/edit-file.ts';
import { probeMarkdown, probeStoreProperties, probeText } from '../../run/kept-probe.ts';
import { optionalArgument, parsedOption, text } from '../define-command.ts';
import { defineStateCommand } from '../define-state-command.ts';
import { selectStore } from '../open-context.ts';
import { recordCommand } from '../record-command.ts';
import { currentFolder } from '../typed-program.ts';

/** `storeferry probe`: learns what a store does where the API document leaves it open. */
export const probeCommand = defineStateCommand({
  arguments: { store: optionalArgument('a store of stores.yaml; needed where there are several') },
  options: {
    contact: parsedOption<string | null>(
      'id',
      'the id of a contact to try updates with; nothing of it changes',
      null,
      (typed) => {
        if (/^\d{1,15}$/.test(typed)) return typed;
        throw new InvalidArgumentError('Expected the id of a contact, a whole number.');
      },
    ),
    report: text('file', 'also write the result, with the request for each property, as Markdown'),
  },
  notes: `Sends at most 40 requests: reads first, then writes to a hidden product and, with --contact, to a contact of its own,
which it deletes again. If it is killed, the next probe removes what it left. With --contact the store may do what
follows an update of a contact, such as an automation. The result is kept and shown by \`check\`.`,
  examples: ['probe', 'probe main --contact 1042 --report main-probe.md', 'probe --json'],
  json: 'the store, the number of requests, what was left, and each property: true, false, a value, or null (unknown)',
  async run({ context, workspace, terminal, program }, { store: name }, { contact, report, json }) {
    const store = selectStore(workspace, name, ([first = 'STORE']) => `Name one: storeferry probe ${first}.`);
    if (contact !== null && !json)
      terminal.err(
        `The store may do what it does after any update of contact ${contact}. If it makes a contact of every e-mail address that is sent, it makes one with that of ${contact}, which is removed again where the store removes contacts.\n`,
      );
    await recordCommand(context, { action: 'probe' });
    const probe = await probeStoreProperties(context, { store, contactId: contact });
    if (report !== undefined)
      await writeWhole(resolve(currentFolder(), report), [probeMarkdown(store, probe)]);
    const { requests, left, properties } = probe;
    return {
      json: { store: store.name, requests, left, properties },
      text: probeText(store, probe, { ...terminal, program }),
      code: left.length > 0 ? 1 : 0,
    };
  },
});
