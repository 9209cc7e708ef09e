import { expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import { argumentsOf } from '../../src/cli/dashboard/action-runner.ts';
import { SAMPLE_OPTIONS } from '../../src/cli/define-command.ts';
import {
  ACTION_NAMES,
  type Action,
  actionOf,
  commandText,
  isJobAction,
  jobActionSchema,
  sampleOptions,
} from '../../src/model/action.ts';

it('names a command of the command line for each action that has one', () => {
  const commands = COMMANDS.map(({ name }) => name);
  for (const name of ACTION_NAMES) {
    const { command = 'run', to, confirm, button } = actionOf(name);
    expect(commands, name).toContain(command);
    // A button leads to a page of a job or a run.
    if (button !== undefined) expect(to, name).toBeDefined();
    if (confirm !== undefined) expect(actionOf(name).audit, name).toBeDefined();
  }
});

it.each<[Action, string, string]>([
  [{ does: 'run', job: 'shop' }, 'run shop', '-C w run --json -- shop'],
  [
    { does: 'plan', job: 'shop', resend: true, sample: { only: ['a b', 'c'], limit: 3 } },
    "plan shop --resend --only 'a b,c' --limit 3",
    '-C w plan --json --resend --only a b,c --limit 3 -- shop',
  ],
  [
    { does: 'undo', run: 'k3v', only: ['a', 'b'] },
    'undo k3v --only a,b',
    '-C w undo --json --only a,b -- k3v',
  ],
  [
    { does: 'undo', run: 'k3v', only: ['salt,pepper', 'b'] },
    String.raw`undo k3v --only 'salt\,pepper,b'`,
    String.raw`-C w undo --json --only salt\,pepper,b -- k3v`,
  ],
  [
    { does: 'release', run: 'k3v', only: ['-a', "b's"] },
    String.raw`release -- k3v -a 'b'\''s'`,
    "-C w release --json -- k3v -a b's",
  ],
  [{ does: 'cancel', run: 'k3v' }, 'cancel k3v', '-C w cancel --json -- k3v'],
  [{ does: 'see', run: 'k3v' }, 'runs k3v', '-C w runs --json -- k3v'],
])('types %j as a person does, and starts it as the dashboard does', (action, typed, started) => {
  expect(commandText(action)).toBe(typed);
  expect(argumentsOf(action, 'w').join(' ')).toBe(started);
});

it('reads the keys of --only as commands write them', () => {
  const only = ['salt,pepper', 'b', String.raw`c\d`];
  const [, typed = ''] = sampleOptions({ only });
  expect(SAMPLE_OPTIONS.only.parse?.(typed, undefined)).toEqual(only);
});

it.each(ACTION_NAMES.filter(isJobAction))('stores %s for a worker', (does) => {
  const of = actionOf(does).to === 'run' ? { run: 'k3v' } : {};
  expect(jobActionSchema.parse({ does, job: 'shop', ...of })).toEqual({ does, job: 'shop', ...of });
});
