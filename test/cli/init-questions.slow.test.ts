import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { askSchedule } from '../../src/cli/commands/init-command.ts';
import { askCrosswalk } from '../../src/cli/init/ask-crosswalk.ts';
import { askMapping, NEW_MAPPING } from '../../src/cli/init/ask-mapping.ts';
import { askSource } from '../../src/cli/init/ask-source.ts';
import { askCurrency, askStore, askWeightUnit, SANDBOX } from '../../src/cli/init/ask-store.ts';
import type { Asking, Prompter } from '../../src/cli/init/asking.ts';
import { answersOf, INIT_OPTIONS, type InitOptions } from '../../src/cli/init/init-options.ts';
import { COLUMN_FIELDS } from '../../src/onboarding/column-fields.ts';
import {
  MAPPING_QUESTIONS,
  type MappingQuestion,
  proposeMapping,
} from '../../src/onboarding/guess/propose-mapping.ts';
import { fileToGuess, lookAtSource, type SourceLook } from '../../src/onboarding/preview-source.ts';
import { makeXlsx } from '../tables/workbooks.ts';
import { ASKING_COLUMNS, ASKING_FILES, FURTHER_FILES, TYPED_ANSWERS } from './asking-files.ts';

type Imports = keyof typeof ASKING_COLUMNS;
const FILES = [
  ...FURTHER_FILES.map((text) => ['products', text] as const),
  ...Object.values(ASKING_FILES).flatMap((texts) => texts.map((text) => ['products', text] as const)),
  ...(['products', 'contacts'] as const).flatMap((imports) =>
    Object.values(ASKING_COLUMNS[imports]).flatMap((text) =>
      text === null ? [] : [[imports, text] as const],
    ),
  ),
];

async function lookAt(text: string): Promise<SourceLook> {
  const dir = await mkdtemp(join(tmpdir(), 'storeferry-questions-'));
  try {
    await writeFile(join(dir, 'file.csv'), text);
    return await lookAtSource(join(dir, 'file.csv'));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

const NO_OPTIONS = Object.fromEntries(
  Object.entries(INIT_OPTIONS).map(([key, { fallback }]) => [key, fallback]),
) as InitOptions;

/** The options of answers, parsed as they are typed. */
function optionsOf(answers: ReadonlyMap<MappingQuestion['id'], string>): InitOptions {
  const { byName } = MAPPING_QUESTIONS;
  const named = new Map<string, Record<string, string>>();
  const once: [string, string][] = [];
  for (const [id, answer] of answers) {
    const [kind = '', ...name] = id.split('.');
    const several = byName.find((one) => one === kind);
    if (several === undefined) once.push([kind, answer]);
    else
      named.set(kind, { ...INIT_OPTIONS[several].parse?.(`${name.join('.')}=${answer}`, named.get(kind)) });
  }
  return { ...NO_OPTIONS, ...Object.fromEntries([...once, ...named]) };
}

/** Gives every answer to every question by options; the questions, and how many ways there are to answer them. */
function walk(imports: Imports, look: SourceLook): { readonly asked: Set<string>; readonly ways: number } {
  const file = fileToGuess(look);
  const asked = new Set<string>();
  let ways = 0;
  const follow = (answers: ReadonlyMap<MappingQuestion['id'], string>): void => {
    const { questions, spec } = proposeMapping(imports, file, answersOf(optionsOf(answers)));
    for (const { id } of questions) {
      asked.add(id);
      expect(answers.has(id), `${id} is asked again after ${answers.get(id)}`).toBe(false);
    }
    expect(questions.length === 0).toBe(spec !== null);
    const [question] = questions;
    if (question === undefined) {
      ways += 1;
      return;
    }
    for (const answer of offered(question)) follow(new Map([...answers, [question.id, answer]]));
  };
  follow(new Map());
  return { asked, ways };
}

function offered({ id, answers }: MappingQuestion): readonly string[] {
  if (answers.length > 0) return answers.map(({ value }) => value);
  expect(TYPED_ANSWERS, `${id} offers no answer`).toHaveProperty([id]);
  return [TYPED_ANSWERS[id] ?? ''];
}

/** Somebody who answers each question by the next number of a list, then by the first answer; `typed`: all that is typed. */
function follower(numbers: readonly number[], typed: readonly string[]) {
  const taken: { readonly question: string; readonly answers: number }[] = [];
  const next = (message: string, answers: number) => {
    const question = message.replace(/ \(.*$/s, '');
    expect(taken.map((one) => one.question)).not.toContain(question);
    taken.push({ question, answers });
    return numbers[taken.length - 1] ?? 0;
  };
  const typeFor: Prompter['text'] = async (message, { check } = {}) => {
    next(message, 1);
    for (const text of typed) if ((await check?.(text)) === undefined) return text;
    throw new Error(`${message} takes no answer`);
  };
  const prompter: Prompter = {
    text: typeFor,
    async choose(message, choices) {
      const chosen = choices[next(message, choices.length)];
      if (chosen === undefined) throw new Error(`${message} offers too few answers`);
      return chosen.value;
    },
    secret: (message, check) => typeFor(message, { check }),
    confirm: () => Promise.reject(new Error('a confirmation is asked for')),
  };
  return { prompter, taken };
}

/** Gives every answer to every question at a terminal; what each way of answering them results in. */
async function answerAll<Result>(
  ask: (prompter: Prompter) => Promise<Result>,
  typed: readonly string[] = Object.values(TYPED_ANSWERS),
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const open: (readonly number[])[] = [[]];
  for (let numbers = open.pop(); numbers !== undefined; numbers = open.pop()) {
    const { prompter, taken } = follower(numbers, typed);
    results.push(await ask(prompter));
    for (let at = numbers.length; at < taken.length; at++)
      for (let other = 1; other < (taken[at]?.answers ?? 0); other++)
        open.push([...numbers, ...Array(at - numbers.length).fill(0), other]);
  }
  return results;
}

function askingOf(options: Partial<InitOptions>, prompter: Prompter | null, dir = tmpdir()): Asking {
  const known = { url: undefined, apiKey: undefined };
  const { signal } = new AbortController();
  return { options: { ...NO_OPTIONS, ...options }, prompter, known, dir, say: () => undefined, signal };
}

/** The mapping, and what the store sells in. */
async function askFile(asking: Asking, look: SourceLook) {
  const mapping = await askMapping(asking, look);
  const answered = mapping.kind === 'new' ? mapping.currency : undefined;
  const store = { kind: 'new', ...SANDBOX, sandbox: true } as const;
  const currency = await askCurrency(asking, store, { look, spec: mapping.spec, params: {}, answered });
  return { kind: mapping.kind, currency, answered };
}

describe('every question about a mapping', () => {
  it('is asked by some file, and each of its answers ends it, by options and at a terminal alike', async () => {
    const asked = new Set<string>();
    for (const [imports, text] of FILES) {
      const look = await lookAt(text);
      const byOptions = walk(imports, look);
      expect(byOptions.asked.size, `${text} leaves no question open`).toBeGreaterThan(0);
      const options = { mapping: NEW_MAPPING, import: imports, yes: true };
      const made = await answerAll((prompter) => askFile(askingOf(options, prompter), look));
      expect(made.length, text).toBe(byOptions.ways);
      for (const { kind, answered, currency } of made) {
        expect(kind).toBe('new');
        if (answered !== undefined) expect(currency).toBe(answered);
      }
      for (const id of byOptions.asked) asked.add(id.startsWith('column.') ? `${imports} ${id}` : id);
    }
    const isAsked = (id: string) => [...asked].some((one) => one === id || one.startsWith(`${id}.`));
    const kinds = [
      ...MAPPING_QUESTIONS.once,
      ...MAPPING_QUESTIONS.byName.filter((kind) => kind !== 'column'),
    ];
    expect(kinds.filter((kind) => !isAsked(kind))).toEqual([]);
    for (const imports of ['products', 'contacts'] as const) {
      const expected = Object.keys(COLUMN_FIELDS[imports]).filter(
        (field) => ASKING_COLUMNS[imports][field] !== null,
      );
      expect(expected.filter((field) => !asked.has(`${imports} column.${field}`))).toEqual([]);
    }
  });
});

const SHEETS = ['Old', 'New'].map((name) => ({
  name,
  rows: [
    ['Name', 'Price'],
    ['Mug', '4.00'],
  ],
}));
const RECORDS = ['Mug', 'Jug'].map((Name) => ({ Name, Price: 4 }));
const LISTS = { a: RECORDS, b: RECORDS };
const READING: readonly (readonly [key: keyof InitOptions, file: string, content: string | Uint8Array])[] = [
  ['sheet', 'a.xlsx', makeXlsx(SHEETS)],
  ['records', 'a.json', JSON.stringify(LISTS)],
  ['headerRow', 'a.csv', 'Prices,May,Shop\nName,Price,Stock\nMug,4.00,5\nJug,5.00,6\n'],
  ['encoding', 'a.csv', Buffer.from('Dings;Bums;Betrag\nTasse für Öl;Becher;9,90\n', 'latin1')],
  ['delimiter', 'a.csv', 'Name,a;Price,b\nMug,1;4,2\nJug,3;5,4\n'],
];

describe('every question about the file, the store and the job', () => {
  it.each(READING)('%s: each answer reads the file, by its option too', async (key, name, content) => {
    const dir = await mkdtemp(join(tmpdir(), 'storeferry-questions-'));
    try {
      const source = join(dir, name);
      await writeFile(source, content);
      const made = await answerAll((prompter) => askSource(askingOf({ source }, prompter, dir)));
      expect(made.length).toBeGreaterThan(1);
      for (const { written } of made) {
        const answers = Object.entries(written).flatMap(([option, value]) =>
          value === undefined || option === 'path' ? [] : [[option, String(value)]],
        );
        expect(answers.map(([option]) => option)).toContain(key);
        const options = { source, ...Object.fromEntries(answers) };
        expect((await askSource(askingOf(options, null, dir))).written).toEqual(written);
      }
      expect(new Set(made.map(({ written }) => JSON.stringify(written))).size).toBe(made.length);
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  });

  it('crosswalk: each of its columns is taken, by options too', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'storeferry-questions-'));
    try {
      const crosswalk = join(dir, 'ids.csv');
      await writeFile(
        crosswalk,
        'Mail A,Mail B,No A,No B\na@x.example,b@x.example,1,2\nc@x.example,d@x.example,3,4\n',
      );
      const made = await answerAll(
        (prompter) => askCrosswalk(askingOf({}, prompter, dir), undefined),
        [crosswalk],
      );
      const there = made.flatMap((answer) => (answer?.there === true ? [answer] : []));
      expect(there.length).toBe(2 * 3);
      for (const answer of there) {
        const options = { crosswalk, crosswalkMatch: answer.match, crosswalkId: answer.id };
        expect(await askCrosswalk(askingOf(options, null, dir), undefined)).toEqual(answer);
      }
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  });

  it('store, weight unit and schedule: each answer is taken', async () => {
    const typed = ['https://shop.example', '15 2 * * *'];
    const stores = await answerAll((prompter) => askStore(askingOf({}, prompter), false), typed);
    expect(stores).toMatchObject([{ sandbox: false }, { sandbox: true }]);
    const units = await answerAll((prompter) => askWeightUnit(askingOf({}, prompter), 'products'));
    expect(new Set(units)).toEqual(new Set(['kg', 'g', 'lb', 'oz']));
    for (const weightUnit of units)
      expect(await askWeightUnit(askingOf({ weightUnit }, null), 'products')).toBe(weightUnit);
    const schedules = await answerAll(
      (prompter) => askSchedule(askingOf({}, prompter)),
      [...typed].reverse(),
    );
    expect(schedules).toContain(undefined);
    for (const made of schedules) {
      if (made === undefined) continue;
      const options = { schedule: made.cron, timezone: made.timezone };
      expect(await askSchedule(askingOf(options, null))).toEqual(made);
    }
  });
});
