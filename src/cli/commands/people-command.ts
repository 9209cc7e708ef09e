import { MIN_PASSWORD, openAccounts } from '../../dashboard/dashboard-context.ts';
import type { AuditedAction } from '../../model/action.ts';
import { ROLE_WORDS, ROLES } from '../../model/action.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { isoTime } from '../../report/run-summary.ts';
import { flag, type Invocation, oneOf, optionalArgument, unknownAction } from '../define-command.ts';
import { defineStateCommand } from '../define-state-command.ts';
import { recordCommand } from '../record-command.ts';

const PASSWORD = 'STOREFERRY_PASSWORD';

/** `storeferry people`: lists, adds, changes and removes those who sign in to the dashboard by name. */
export const peopleCommand = defineStateCommand({
  arguments: {
    action: optionalArgument('add, role, password or remove; default: list'),
    name: optionalArgument('the name, such as an e-mail address'),
  },
  options: {
    role: oneOf(
      'role',
      'with add or role: each may do more than the one before; default of add: view',
      ROLES,
    ),
    byProxy: flag('with add or password: signs in by the proxy alone'),
  },
  notes: `${ROLES.map((role) => `${role}: ${ROLE_WORDS[role]}.`).join('\n')}
The password is asked on the terminal, or comes from ${PASSWORD} in the environment. Its hash is kept in
.storeferry/people.json. A new password and the removal end the sessions of the person; a new role holds at once.`,
  examples: [
    'people add anna --role approve',
    'people add ben@shop.example --role operate --by-proxy',
    'people role anna --role edit',
    'people password anna',
    'people remove anna',
  ],
  json: '`{"people":[{"name","role","made","password"}]}`: `password` is true or false',
  withoutThread: true,
  async run(open, { action, name = '' }, { role, byProxy }) {
    const people = openAccounts(open.context).people;
    const password = async () =>
      byProxy ? '' : await askPassword(open.workspace.fill(`\${${PASSWORD}:}`), open);
    const record = async (done: AuditedAction['action'], about: string) =>
      await recordCommand(open.context, { action: done, about });
    switch (action) {
      case undefined:
        break;
      case 'add':
        await people.add({ name, role: role ?? 'view', password: await password() });
        await record('add-person', `${name} (${role ?? 'view'})`);
        break;
      case 'role':
        if (role === undefined)
          throw new UsageError('Which role?', { hint: `Type --role with one of: ${ROLES.join(', ')}` });
        await people.setRole(name, role);
        await record('change-person', `${name} (${role})`);
        break;
      case 'password':
        await people.setPassword(name, await password());
        await record('set-password', name);
        break;
      case 'remove':
        await people.remove(name);
        await record('remove-person', name);
        break;
      default:
        throw unknownAction(
          'people',
          action,
          'Type: storeferry people, or storeferry people add, role, password or remove with a NAME',
        );
    }
    const listed = people.list().map(({ password: kept, madeAt, ...known }) => ({
      ...known,
      made: isoTime(madeAt),
      password: kept !== undefined,
    }));
    const lines = listed.map(
      (one) => `${one.name}  ${one.role}${one.password ? '' : '  by the proxy alone'}\n`,
    );
    return {
      json: { people: listed },
      text: lines.join('') || 'No people. To add one: storeferry people add NAME --role ROLE\n',
    };
  },
});

/** From the environment, or the terminal. UsageError where neither has it. */
async function askPassword(given: string, { terminal, interruptSignal }: Invocation) {
  if (given !== '') return given;
  if (!terminal.interactive || !process.stdin.isTTY)
    throw new UsageError('There is no terminal to ask for the password.', {
      hint: `Set ${PASSWORD} in the environment for this command.`,
    });
  const { terminalPrompter } = await import('../init/prompter.ts');
  const { secret } = terminalPrompter(interruptSignal());
  const password = await secret('Password', (typed) =>
    typed.length < MIN_PASSWORD ? `At least ${MIN_PASSWORD} characters` : undefined,
  );
  await secret('Again', (typed) => (typed === password ? undefined : 'Not the same'));
  return password;
}
