import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseHTML } from 'linkedom';
import { describe, expect, it } from 'vitest';
import { availableMappings, loadEnvironment, typedPlace } from '../../src/config/workspace.ts';
import { draftPage } from '../../src/dashboard/new-job/draft-page.ts';
import type { DraftSession } from '../../src/dashboard/new-job/draft-session.ts';
import { recogniseFile } from '../../src/onboarding/guess-mapping.ts';
import {
  answerDraft,
  type DraftEffects,
  type DraftSetting,
  EMPTY_DRAFT,
  examineDraft,
  JOB_QUESTIONS,
  type JobAnswers,
  type JobDraft,
  questionKind,
  rememberQuestions,
} from '../../src/onboarding/job-draft.ts';
import { fileToGuess, guessSource, lookAtSource } from '../../src/onboarding/preview-source.ts';
import { ASKING_COLUMNS, ASKING_FILES } from '../cli/asking-files.ts';
import { ACTING } from '../dashboard/pages/setup.ts';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { makeXlsx } from '../tables/workbooks.ts';

const SHIPPED = availableMappings(tmpdir(), {});
const NEW_STORE: DraftSetting = {
  dir: tmpdir(),
  mappings: SHIPPED,
  stores: undefined,
  known: { url: undefined, apiKey: undefined, overridden: () => [] },
  sandbox: { url: 'http://127.0.0.1:4010', apiKey: 'sandbox-key' },
  isVisitor: true,
  now: 0,
};
const STORE = { name: 'main', weightUnit: 'kg', currency: 'EUR', unset: ['SHOP_KEY'] } as const;
const KNOWN_STORE: DraftSetting = { ...NEW_STORE, stores: [STORE] };

/** Examines a draft of a file. */
async function examineFile(
  content: string | Uint8Array,
  {
    name = 'file.csv',
    answers = {},
    setting = NEW_STORE,
    draft = EMPTY_DRAFT,
    acceptsDefault = () => true,
    address,
  }: {
    readonly name?: string;
    readonly answers?: JobAnswers;
    readonly setting?: DraftSetting;
    readonly draft?: JobDraft;
    readonly acceptsDefault?: DraftEffects['acceptsDefault'];
    /** In place of the file. */
    readonly address?: string;
  } = {},
) {
  const dir = await mkdtemp(join(tmpdir(), 'storeferry-draft-'));
  try {
    await writeFile(join(dir, name), content);
    await writeFile(join(dir, 'ids.csv'), 'Mail A,Mail B,No A,No B\na@x.example,b@x.example,1,2\n');
    const effects: DraftEffects = {
      acceptsDefault,
      async findFile(id) {
        if (address !== undefined)
          return typedPlace(address, { environment: loadEnvironment(dir, {}), onSecret: () => undefined });
        const file = id === 'file' ? name : 'ids.csv';
        return {
          place: join(dir, file),
          name: file,
          written: { path: file },
          copy: `uploads/${file}`,
          mayStay: true,
        };
      },
      hostKey: () => Promise.resolve(HOST_KEY),
      look: async (place, reading) => await lookAtSource(place, reading),
      guess: guessSource,
      recognise: async (look, known) => recogniseFile(fileToGuess(look), known),
      knownProducts: () => Promise.resolve(null),
    };
    const answered = answerDraft(draft, { file: 'file', ...answers });
    const state = await examineDraft(answered, setting, effects);
    return { state, draft: rememberQuestions(answered, state) };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

const HOST_KEY = `SHA256:${'A'.repeat(43)}`;

/** The page of a draft. */
function pageOf({ state, draft }: Awaited<ReturnType<typeof examineFile>>) {
  const address = 'https://shop.example/file.csv';
  const source = { kind: 'remote', address, name: address } as const;
  const kept = { looks: new Map(), hostKeys: new Map() };
  const session: DraftSession = { id: 'a', source, crosswalk: undefined, draft, ...kept };
  const facts = { state, problems: [], program: 'storeferry', hasWorker: false };
  return parseHTML(`<main>${draftPage(session, facts, ACTING).body}</main>`).document;
}

const SHEETS = ['Old', 'New'].map((name) => ({
  name,
  rows: [
    ['Name', 'Price'],
    ['Mug', '4.00'],
  ],
}));
const RECORDS = ['Mug', 'Jug'].map((Name) => ({ Name, Price: 4 }));
const CASES: readonly (readonly [content: string | Uint8Array, more?: Parameters<typeof examineFile>[1]])[] =
  [
    ...Object.values(ASKING_FILES).flatMap((texts) => texts.map((text) => [text] as const)),
    [ASKING_COLUMNS.products['price'] ?? ''],
    [makeXlsx(SHEETS), { name: 'a.xlsx' }],
    [JSON.stringify({ a: RECORDS, b: RECORDS }), { name: 'a.json' }],
    ['Prices,May,Shop\nName,Price,Stock\nMug,4.00,5\nJug,5.00,6\n'],
    [Buffer.from('Dings;Bums;Betrag\nTasse für Öl;Becher;9,90\n', 'latin1')],
    ['Name,a;Price,b\nMug,1;4,2\nJug,3;5,4\n'],
    [shopifyCatalog(manyProducts(2))],
    [shopifyCatalog(manyProducts(2)), { setting: KNOWN_STORE }],
    ['Name,Price\nMug,4.00\n'],
    ['', { address: 'sftp://shop@files.example/list.csv', acceptsDefault: () => false }],
    [
      'Name,Price,Image\nMug,4.00,mug.jpg\n',
      {
        setting: { ...NEW_STORE, pictures: { copy: 'uploads/photos.zip', from: '/photos.zip' } },
        answers: { imageBase: 'https://images.example/' },
      },
    ],
    [
      'Name,Email\nAda,a@x.example\n',
      { answers: { crosswalk: 'file', crosswalkFile: 'ids', crosswalkMatch: 'Mail A' } },
    ],
  ];

const STORE_QUESTIONS = new Set<string>(['storeKind', 'url', 'apiKey', 'store']);

describe('the draft of a new job', () => {
  it('asks in which currency the store sells where the formats of a workbook mix several', async () => {
    const price = (format: string) => ({ number: '12.5', format });
    const bookOf = (...formats: readonly string[]) => {
      const rows = formats.map((format, index) => [`a${index}`, `Mug ${index}`, price(format)]);
      return makeXlsx([{ name: 'P', rows: [['SKU', 'Name', 'Price'], ...rows] }]);
    };
    const mixed = bookOf('[$€-407]0.00', '[$USD-409] 0.00');
    const { state } = await examineFile(mixed, { name: 'a.xlsx' });
    expect(state.questions.find(({ id }) => id === 'currency')).toMatchObject({
      defaultAnswer: undefined,
      reason: 'The prices are in EUR, USD; those in another currency are rejected.',
    });
    const of = async (bytes: Uint8Array) =>
      JSON.stringify((await examineFile(bytes, { name: 'a.xlsx', setting: KNOWN_STORE })).state.file);
    expect(await of(mixed)).toContain('the price is in USD, and the store sells in EUR');
    expect(await of(bookOf('[$€-407]0.00', '0.00'))).not.toContain('the store sells in');
  });

  it('asks each kind of question of some file, and the browser shows each that is asked', async () => {
    const shown = new Set<string>();
    for (const [content, more] of CASES) {
      const examined = await examineFile(content, more);
      const page = pageOf(examined);
      for (const { id, flag, text } of examined.state.questions) {
        const kind = questionKind(id);
        // The file has been uploaded before, and its copy is read; the store is asked once the file can be read.
        if (kind === 'file' || kind === 'place') shown.add(kind);
        else if (examined.state.file === undefined && STORE_QUESTIONS.has(kind)) continue;
        else if (page.getElementById(flag === undefined ? id : `answer.${id}`)) shown.add(kind);
        else expect.fail(`${id} (${text}) is not shown`);
      }
    }
    const kinds = [...JOB_QUESTIONS.once, ...JOB_QUESTIONS.byName];
    // A visitor reads no cron expression: the terminal alone asks for one (test/cli/init-questions.slow.test.ts).
    expect(kinds.filter((kind) => !shown.has(kind))).toEqual(['cron']);
  });

  it('is plain data: what follows from it is the same after it was kept as text', async () => {
    const file = 'Dings,Bums,Price\nMug blue,Cup 1,4.00\nMug blue,Cup 2,5.00\n';
    const first = await examineFile(file, { answers: { imports: 'products' } });
    const kept: JobDraft = JSON.parse(JSON.stringify(first.draft));
    expect(kept).toEqual(first.draft);
    const answers = { 'column.title': 'Bums' };
    const again = await examineFile(file, { draft: kept, answers });
    const { state } = await examineFile(file, { draft: first.draft, answers });
    const answered = (of: typeof state) =>
      of.questions.map(({ id, answer, problem }) => [id, answer, problem]);
    expect(answered(again.state)).toEqual(answered(state));
    expect(again.state.questions.find(({ id }) => id === 'column.title')?.answer).toBe('Bums');
  });

  it('asks for the login of an SSH server, and shows no password', async () => {
    const address = 'sftp://shop@files.example/list.csv';
    const password = 'MARKED-password';
    const login = { address, acceptsDefault: () => false };
    const examined = await examineFile('', { ...login, answers: { password } });
    const asked = ({ state: { questions } }: typeof examined) =>
      questions.filter(({ id }) => id === 'hostKey' || id === 'password');
    expect(asked(examined)).toMatchObject([
      { id: 'hostKey', answer: undefined, choices: [{ value: HOST_KEY }] },
      { id: 'password', answer: password, form: 'secret' },
    ]);
    expect(pageOf(examined).toString()).not.toContain('MARKED');
    const other = await examineFile('', {
      ...login,
      answers: { hostKey: `SHA256:${'B'.repeat(43)}`, password },
    });
    expect(asked(other)[0]?.problem).toContain('the server shows another key');
    const typed = await examineFile('', { ...login, address: address.replace('@', `:${password}@`) });
    expect(asked(typed).map(({ id }) => id)).toEqual(['hostKey']);
  });

  it('drops only the answers that cannot be followed', async () => {
    const answers = { imports: 'products', 'column.title': 'Bums', 'column.price': 'Nothing' };
    const { state } = await examineFile('Dings,Bums,Betrag\nMug,A,4.00\nJug,B,5.00\n', { answers });
    expect(Object.keys(state.file?.guess.refused ?? {})).toEqual(['column.price']);
    const used = state.file?.guess.proposal?.columns.filter(({ field }) => field === 'title');
    expect(used?.map(({ header }) => header)).toEqual(['Bums']);
  });

  it.each([
    ['https://shop:hidden-word@images.example/', 'without user and password'],
    ['https://images.example/?file=', 'without ? and #'],
    ['images.example', 'an http or https address'],
  ])('takes no address of pictures that the store cannot show: %s', async (imageBase, why) => {
    const examined = await examineFile('Name,Price,Image\nMug,4.00,mug.jpg\n', { answers: { imageBase } });
    expect(examined.state.questions.find(({ id }) => id === 'imageBase')?.problem).toContain(why);
    expect(examined.state.made).toBeUndefined();
    expect(pageOf(examined).toString()).not.toContain('hidden-word');
  });

  it('forgets answers about the columns with another table, and keeps the others', () => {
    const draft = answerDraft(EMPTY_DRAFT, { sheet: 'Old', 'column.price': 'A', name: 'nightly' });
    expect(answerDraft(draft, { sheet: 'New' }).answers).toEqual({ sheet: 'New', name: 'nightly' });
    expect(answerDraft(draft, { name: 'daily' }).answers).toMatchObject({ 'column.price': 'A' });
  });

  it('lets a visitor choose no address for a known key, nor the key of the environment for a typed address', async () => {
    const env = { url: 'https://shop.example', apiKey: 'key-of-the-environment', overridden: () => [] };
    const setting = { ...NEW_STORE, known: env };
    const file = 'Name,Price\nMug,4.00\n';
    const keyOf = async (url: string) => {
      const { state } = await examineFile(file, { setting, answers: { url } });
      return state.questions.find(({ id }) => id === 'apiKey')?.answer;
    };
    expect(await keyOf('https://shop.example/')).toBe(env.apiKey);
    expect(await keyOf('https://elsewhere.example')).toBeUndefined();
    const stores = [{ ...STORE, unset: ['SHOP_ADDRESS', 'SHOP_KEY'] }];
    const { state } = await examineFile(file, { setting: { ...NEW_STORE, stores } });
    const asked = state.questions.flatMap(({ id }) => (id.startsWith('variable.') ? [id] : []));
    expect(asked).toEqual(['variable.SHOP_KEY']);
  });

  it('shows no key, neither a typed one nor one of the environment', async () => {
    const apiKey = 'key-of-the-environment';
    const setting = {
      ...NEW_STORE,
      known: { url: 'https://shop.example', apiKey, overridden: () => [] },
    };
    const examined = await examineFile('Name,Price\nMug,4.00\n', { setting });
    expect(examined.state.made?.variables).toMatchObject({ STORE_API_KEY: apiKey });
    expect(pageOf(examined).toString()).not.toContain(apiKey);
  });
});
