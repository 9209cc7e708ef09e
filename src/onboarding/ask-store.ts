import { baseUrlSchema, storeSchema } from '../config/store-config.ts';
import type { MappingSpec } from '../mapping/spec/mapping-spec.ts';
import { originOf } from '../model/remote-address.ts';
import {
  choicesOf,
  type DraftSetting,
  type Inquiry,
  type PreviewUnit,
  type StoreOfDraft,
} from './inquiry.ts';
import { STORE_VARIABLES } from './new-workspace.ts';
import type { SourceGuess, SourcePreview } from './preview-source.ts';

/** The store that a job is for. */
export interface StoreAnswer {
  /** Undefined for a new one. */
  readonly known: StoreOfDraft | undefined;
  /** For `.env`. */
  readonly variables: Readonly<Record<string, string>>;
  readonly isSandbox: boolean;
}

/** Asks which store a job is for, or for a new one if the workspace has none. */
export function askStore(inquiry: Inquiry, setting: DraftSetting): StoreAnswer {
  const { stores } = setting;
  if (stores === undefined) return askNewStore(inquiry, setting);
  const known = stores === 'broken' ? [] : stores;
  const names = known.map(({ name }) => name);
  const [only, second] = names;
  const name = inquiry.ask(
    {
      id: 'store',
      text: STORE_TEXT,
      form: 'choice',
      choices: choicesOf(names),
      reliance: 'settled',
      defaultAnswer: second === undefined ? (only ?? '') : undefined,
      missing: `There are several stores: ${names.join(', ')}.`,
    },
    (answer) => {
      if (stores === 'broken') return 'stores.yaml has errors: correct it first';
      if (only === undefined) return 'stores.yaml has no store: add one, or remove the file and start again';
      if (names.includes(answer)) return undefined;
      return `stores.yaml has no store '${answer}'; its stores: ${names.join(', ')}`;
    },
  );
  return { known: known.find((one) => one.name === name), variables: {}, isSandbox: false };
}

const STORE_TEXT = 'Which store is it for?';

function askNewStore(inquiry: Inquiry, { known, sandbox, isVisitor }: DraftSetting): StoreAnswer {
  const kind = inquiry.ask({
    id: 'storeKind',
    text: STORE_TEXT,
    defaultAnswer: 'own',
    choices: [
      { value: 'own', name: 'My store: I have its address and an API key' },
      {
        value: 'sandbox',
        name: `None yet: the sandbox at ${sandbox.url}`,
        description: 'A complete storefront on this machine. Address and key can be changed later, in .env.',
      },
    ],
  });
  const isSandbox = kind === 'sandbox';
  const unless = <Check>(check: Check) => (isSandbox ? undefined : check);
  const url = inquiry.ask(
    {
      id: 'url',
      text: 'Address of the store',
      missing: 'The address of the store is missing.',
      defaultAnswer: isSandbox ? sandbox.url : known.url,
      reliance: isSandbox ? 'settled' : 'preset',
    },
    unless((answer) => baseUrlSchema.safeParse(answer).error?.issues[0]?.message),
  );
  // The key of the environment goes to its own store only, wherever a visitor wants it.
  const isKnown = known.url === undefined ? !isVisitor : originOf(url) === originOf(known.url);
  const apiKey = inquiry.ask(
    {
      id: 'apiKey',
      text: 'API key',
      form: 'secret',
      reliance: 'settled',
      defaultAnswer: isSandbox ? sandbox.apiKey : isKnown ? known.apiKey : undefined,
      missing: `The API key of the store is missing.${known.apiKey === undefined || isKnown ? '' : ' The known key is for the known address only.'}`,
    },
    unless(whyNoKey),
  );
  const written = isSandbox ? sandbox : { url: baseUrlSchema.safeParse(url).data, apiKey };
  if (written.url === undefined || written.apiKey === undefined)
    return { known: undefined, variables: {}, isSandbox };
  const variables = { [STORE_VARIABLES.url]: written.url, [STORE_VARIABLES.apiKey]: written.apiKey };
  const [other] = isVisitor ? known.overridden(variables) : [];
  if (other !== undefined) {
    // Else a key of the environment would go to the typed address.
    const id = isSandbox ? 'storeKind' : other === STORE_VARIABLES.url ? 'url' : 'apiKey';
    inquiry.refuse(
      id,
      `The environment of the dashboard sets ${other} to another value, which would be used instead. Remove it there, or write stores.yaml by hand.`,
    );
  }
  return { known: undefined, variables, isSandbox };
}

function whyNoKey(text: string): string | undefined {
  if (text === '') return 'expected the API key of the store';
  return storeSchema.shape.apiKey.safeParse(text).error?.issues[0]?.message;
}

/** Asks for the unit of weight of a new store; undefined for a known one. */
export function askWeightUnit(
  inquiry: Inquiry,
  spec: MappingSpec,
  store: StoreAnswer,
): PreviewUnit | undefined {
  if (store.known !== undefined) return undefined;
  const units = storeSchema.shape.weightUnit;
  const defaultAnswer = units.parse(undefined);
  if (spec.import === 'contacts') return defaultAnswer;
  const answer = inquiry.ask(
    {
      id: 'weightUnit',
      text: 'In which unit does the store show weights?',
      defaultAnswer,
      reliance: 'default',
      choices: choicesOf(['kg', 'g', 'lb', 'oz']),
    },
    (unit) => (units.safeParse(unit).success ? undefined : 'expected kg, g, lb or oz'),
  );
  return units.safeParse(answer).data;
}

/** Asks for the currency of a new store. A known store without a currency is refused if the file names several. */
export function askCurrency(
  inquiry: Inquiry,
  { preview }: SourceGuess,
  spec: MappingSpec,
  { known }: StoreAnswer,
): string | undefined {
  if (spec.import === 'contacts') return undefined;
  const { words = [], isMixed = false, found } = currenciesIn(preview);
  const named = words.join(', ');
  if (known !== undefined) {
    if (isMixed)
      inquiry.refuse(
        'store',
        `the file has prices in ${named}, and the currency of the store ${known.name} is not set. Set it (in the dashboard: Stores, Change; else \`currency\` in stores.yaml); prices in other currencies are then rejected`,
      );
    return undefined;
  }
  // The mapping may have asked it.
  if (inquiry.isAsked('currency')) return currencyOf(inquiry.given('currency'));
  const answer = inquiry.ask(
    {
      id: 'currency',
      text: 'In which currency does the store sell?',
      form: 'text',
      reliance: 'settled',
      defaultAnswer: isMixed ? undefined : (currencyOf(found) ?? ''),
      reason: isMixed ? `The prices are in ${named}; those in another currency are rejected.` : undefined,
      choices: isMixed ? choicesOf(words.filter((word) => currencyOf(word) !== undefined)) : [],
      missing: `The file has prices in ${named}, and the store can sell in one currency only.`,
    },
    (code) =>
      code === '' || currencyOf(code) !== undefined
        ? undefined
        : 'expected the code of a currency, such as EUR',
  );
  return currencyOf(answer);
}

/** The currencies that prices of a file name; empty for a mapping with other tables, whose prices only a plan can read. */
function currenciesIn(preview: SourceGuess['preview']): Partial<SourcePreview['currencies']> {
  return typeof preview === 'object' ? preview.currencies : {};
}

/** A finding about prices in other currencies than that of the store. */
export function foreignPrices(
  { preview }: SourceGuess,
  inquiry: Inquiry,
  store: StoreAnswer,
): readonly string[] {
  const { foreign = [] } = currenciesIn(preview);
  const sold = soldIn(inquiry, store);
  return foreign.length === 0
    ? []
    : [`Prices in ${foreign.join(', ')} are rejected: the store sells in ${sold}.`];
}

/** The currency of a store; if it is not known, the one that the prices of the file name. */
export function soldIn(inquiry: Inquiry, { known }: StoreAnswer, guess?: SourceGuess): string | undefined {
  const { found } = currenciesIn(guess?.preview);
  const sold = known === undefined ? currencyOf(inquiry.given('currency')) : known.currency;
  return sold ?? currencyOf(found ?? undefined);
}

/** The code of a currency; undefined for any other text. */
export function currencyOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : storeSchema.shape.currency.safeParse(text).data;
}
