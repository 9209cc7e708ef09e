import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { askMapping, NEW_MAPPING } from '../../src/cli/init/ask-mapping.ts';
import type { Prompter } from '../../src/cli/init/asking.ts';
import { answersOf, INIT_OPTIONS, type InitOptions } from '../../src/cli/init/init-options.ts';
import {
  COLUMN_FIELDS,
  MAPPING_QUESTIONS,
  type MappingQuestion,
  proposeMapping,
} from '../../src/mapping/guess/propose-mapping.ts';
import { fileToGuess, lookAtSource, type SourceLook } from '../../src/run/preview-source.ts';
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

/** Somebody who answers each question by the next number of a list, then by the first answer. */
function follower(numbers: readonly number[]) {
  const taken: { readonly message: string; readonly answers: number }[] = [];
  const next = (message: string, answers: number) => {
    expect(taken.map((one) => one.message)).not.toContain(message);
    taken.push({ message, answers });
    return numbers[taken.length - 1] ?? 0;
  };
  const prompter: Prompter = {
    async text(message, { check } = {}) {
      next(message, 1);
      for (const typed of Object.values(TYPED_ANSWERS))
        if ((await check?.(typed)) === undefined) return typed;
      throw new Error(`${message} takes no answer`);
    },
    async choose(message, choices) {
      const chosen = choices[next(message, choices.length)];
      if (chosen === undefined) throw new Error(`${message} offers too few answers`);
      return chosen.value;
    },
    secret: () => Promise.reject(new Error('a secret is asked for')),
    confirm: () => Promise.reject(new Error('a confirmation is asked for')),
  };
  return { prompter, taken };
}

/** Gives every answer to every question at a terminal; how many ways there are. */
async function answerAll(imports: Imports, look: SourceLook): Promise<number> {
  let ways = 0;
  const open: (readonly number[])[] = [[]];
  for (let numbers = open.pop(); numbers !== undefined; numbers = open.pop()) {
    const { prompter, taken } = follower(numbers);
    const options = { ...NO_OPTIONS, mapping: NEW_MAPPING, import: imports, yes: true };
    const known = { url: undefined, apiKey: undefined };
    const asking = { options, prompter, known, dir: tmpdir(), say: () => undefined };
    const { kind } = await askMapping(asking, look);
    expect(kind).toBe('new');
    ways += 1;
    for (let at = numbers.length; at < taken.length; at++)
      for (let other = 1; other < (taken[at]?.answers ?? 0); other++)
        open.push([...numbers, ...Array(at - numbers.length).fill(0), other]);
  }
  return ways;
}

describe('every question about a mapping', () => {
  it('is asked by some file, and each of its answers ends it, by options and at a terminal alike', async () => {
    const asked = new Set<string>();
    for (const [imports, text] of FILES) {
      const look = await lookAt(text);
      const byOptions = walk(imports, look);
      expect(byOptions.asked.size, `${text} leaves no question open`).toBeGreaterThan(0);
      expect(await answerAll(imports, look), text).toBe(byOptions.ways);
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
