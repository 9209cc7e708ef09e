import { resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { writeWhole } from '../../config/edit-file.ts';
import { probeMarkdown, probeStoreProperties, probeText } from '../../run/kept-probe.ts';
import {
  defineCommand,
  JSON_FLAG,
  optionalArgument,
  parsedOption,
  printJson,
  text,
} from '../define-command.ts';
import { openCommandContext, selectStore } from '../open-context.ts';
import { recordCommand } from '../record-command.ts';
import { currentFolder } from '../typed-program.ts';
import { withJsonError } from '../with-json-result.ts';

/** `storeferry probe`: learns what a store does where the API document leaves it open. */
export const probeCommand = defineCommand({
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
    json: JSON_FLAG,
  },
  notes: `Sends at most 40 requests: reads first, then writes to one hidden product of its own, which is deleted again. If it
is killed, the next probe removes what it left. With --contact the store may do what it does after any update of a
contact, such as start an automation. The result is kept and shown by \`check\`.`,
  examples: ['probe', 'probe main --contact 1042 --report main-probe.md', 'probe --json'],
  json: 'the store, the number of requests, what was left, and each property: true, false, a value, or null (unknown)',
  run: (invocation, { store: name }, { contact, report, json }) =>
    withJsonError(invocation, json, async () => {
      const { terminal, program } = invocation;
      await using open = await openCommandContext(invocation);
      const { context, workspace } = open;
      const store = selectStore(
        workspace,
        name,
        ([first = 'STORE']) => `Name one: storeferry probe ${first}.`,
      );
      if (contact !== null && !json)
        terminal.err(
          `The store may do what it does after any update of contact ${contact}. If it makes a contact of every e-mail address that is sent, it makes one with that of ${contact}, which is removed again where the store removes contacts.\n`,
        );
      await recordCommand(context, { action: 'probe' });
      const probe = await probeStoreProperties(context, { store, contactId: contact });
      if (report !== undefined)
        await writeWhole(resolve(currentFolder(), report), [probeMarkdown(store, probe)]);
      const { requests, left, properties } = probe;
      if (json) printJson(terminal, { store: store.name, requests, left, properties });
      else terminal.out(probeText(store, probe, { ...terminal, program }));
      return left.length > 0 ? 1 : 0;
    }),
});
