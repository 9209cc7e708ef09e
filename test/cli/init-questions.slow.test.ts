import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { askJob } from '../../src/cli/init/ask-job.ts';
import { draftOf, INIT_OPTIONS, type InitOptions } from '../../src/cli/init/init-options.ts';
import type { Prompter } from '../../src/cli/init/prompter.ts';
import { COLUMN_FIELDS } from '../../src/onboarding/column-fields.ts';
import {
  MAPPING_QUESTIONS,
  type MappingQuestion,
  proposeMapping,
} from '../../src/onboarding/guess/propose-mapping.ts';
import { isMappingQuestion } from '../../src/onboarding/job-draft.ts';
import { fileToGuess, lookAtSource, type SourceLook } from '../../src/onboarding/preview-source.ts';
import { makeXlsx } from '../tables/workbooks.ts';
import { askingOf, NO_OPTIONS } from './asking.ts';
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

/** Uses a folder with some files. */
async function inFolder<Result>(
  files: Readonly<Record<string, string | Uint8Array>>,
  use: (dir: string) => Promise<Result>,
): Promise<Result> {
  const dir = await mkdtemp(join(tmpdir(), 'storeferry-questions-'));
  try {
    for (const [name, content] of Object.entries(files)) await writeFile(join(dir, name), content);
    return await use(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

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

function mappingAnswers(options: InitOptions) {
  return Object.fromEntries(Object.entries(draftOf(options).answers).filter(([id]) => isMappingQuestion(id)));
}

/** Gives every answer to every question by options; the questions, and how many ways there are to answer them. */
function walk(imports: Imports, look: SourceLook): { readonly asked: Set<string>; readonly ways: number } {
  const file = fileToGuess(look);
  const asked = new Set<string>();
  let ways = 0;
  const follow = (answers: ReadonlyMap<MappingQuestion['id'], string>): void => {
    const { questions, spec } = proposeMapping(imports, file, mappingAnswers(optionsOf(answers)));
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

const IDS = 'id,email\n4711,ada@example.com\n';
/** Answers everything but the questions about the file. */
const SETTLED = { sandbox: true, job: 'a', weightUnit: 'kg', schedule: '15 2 * * *' };

describe('every question about a mapping', () => {
  it('is asked by some file, and each of its answers ends it, by options and at a terminal alike', async () => {
    const asked = new Set<string>();
    for (const [imports, text] of FILES) {
      await inFolder({ 'file.csv': text, 'ids.csv': IDS }, async (dir) => {
        const source = join(dir, 'file.csv');
        const byOptions = walk(imports, await lookAtSource(source));
        expect(byOptions.asked.size, `${text} leaves no question open`).toBeGreaterThan(0);
        const crosswalk = imports === 'contacts' ? join(dir, 'ids.csv') : undefined;
        const options = { ...SETTLED, source, crosswalk, mapping: 'new', import: imports };
        const made = await answerAll((prompter) => askJob(askingOf(options, prompter, dir)));
        expect(made.length, text).toBe(byOptions.ways);
        for (const { starter } of made) expect(starter?.spec.import).toBe(imports);
        if (byOptions.asked.has('currency'))
          expect(new Set(made.map(({ currency }) => currency)).size).toBeGreaterThan(1);
        for (const id of byOptions.asked) asked.add(id.startsWith('column.') ? `${imports} ${id}` : id);
      });
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

/** What is typed where a header is not understood. */
const TYPED = [...Object.values(TYPED_ANSWERS), 'Prices', 'May'];

describe('every question about the file, the store and the job', () => {
  it.each(READING)('%s: each answer reads the file, by its option too', async (key, name, content) => {
    await inFolder({ [name]: content }, async (dir) => {
      const options = { ...SETTLED, source: join(dir, name), mapping: 'new', import: 'products' };
      const made = await answerAll((prompter) => askJob(askingOf(options, prompter, dir)), TYPED);
      const sources = new Map(made.map(({ job: { source } }) => [JSON.stringify(source), source]));
      expect(sources.size).toBeGreaterThan(1);
      for (const source of sources.values()) {
        const given = Object.entries(source).flatMap(([option, value]) =>
          value === undefined || option === 'path' ? [] : [[option, String(value)]],
        );
        expect(given.map(([option]) => option)).toContain(key);
        const { prompter } = follower([], TYPED);
        const byOptions = { ...options, ...Object.fromEntries(given) };
        expect((await askJob(askingOf(byOptions, prompter, dir))).job.source).toEqual(source);
      }
    });
  });

  it('crosswalk: each of its columns is taken, by options too', async () => {
    const ids = 'Mail A,Mail B,No A,No B\na@x.example,b@x.example,1,2\nc@x.example,d@x.example,3,4\n';
    await inFolder({ 'a.csv': 'Name,Email\nAda,ada@example.com\n', 'ids.csv': ids }, async (dir) => {
      const crosswalk = join(dir, 'ids.csv');
      const options = { ...SETTLED, source: join(dir, 'a.csv'), mapping: 'new', import: 'contacts' };
      const made = await answerAll((prompter) => askJob(askingOf(options, prompter, dir)), [crosswalk]);
      const there = made.flatMap(({ job, crosswalkToCome }) => (crosswalkToCome ? [] : [job.crosswalk]));
      expect([made.length, there.length]).toEqual([2 * 3 + 2, 2 * 3 + 1]);
      for (const answer of there) {
        const columns =
          answer === 'store'
            ? { crosswalk: answer }
            : { crosswalk, crosswalkMatch: answer?.match, crosswalkId: answer?.id };
        const byOptions = { ...options, ...columns };
        expect((await askJob(askingOf(byOptions, null, dir))).job.crosswalk).toEqual(answer);
      }
    });
  });

  it('store, weight unit and schedule: each answer is taken', async () => {
    await inFolder({ 'a.csv': 'Name,Price\nMug,4.00\n' }, async (dir) => {
      const options = { ...SETTLED, source: join(dir, 'a.csv'), mapping: 'new', import: 'products' };
      const typed = ['https://shop.example', '15 3 * * *', '06:05'];
      const answersTo = async (without: Partial<InitOptions>, texts: readonly string[] = typed) =>
        await answerAll((prompter) => askJob(askingOf({ ...options, ...without }, prompter, dir)), texts);
      const stores = await answersTo({ sandbox: false });
      expect(stores.map(({ sandbox }) => sandbox)).toEqual([false, true]);
      const units = (await answersTo({ weightUnit: undefined })).map(({ weightUnit }) => weightUnit);
      expect(new Set(units)).toEqual(new Set(['kg', 'g', 'lb', 'oz']));
      for (const weightUnit of units)
        expect((await askJob(askingOf({ ...options, weightUnit }, null, dir))).weightUnit).toBe(weightUnit);
      const schedules = (await answersTo({ schedule: undefined }, [...typed].reverse())).map(
        ({ job }) => job.schedule,
      );
      expect(schedules).toContain(undefined);
      expect(schedules).toContainEqual(expect.objectContaining({ cron: '15 3 * * *' }));
      for (const made of schedules) {
        if (made === undefined) continue;
        const given = { ...options, schedule: made.cron, timezone: made.timezone };
        expect((await askJob(askingOf(given, null, dir))).job.schedule).toEqual(made);
      }
    });
  });
});
