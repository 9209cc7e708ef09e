import { baseUrlSchema, type StoreConfig, storeSchema } from '../../config/store-config.ts';
import { openWorkspace } from '../../config/workspace.ts';
import { currenciesNamed } from '../../mapping/compile-mapping.ts';
import type { MappingSpec } from '../../mapping/spec/mapping-spec.ts';
import { MappingError, UsageError } from '../../model/storeferry-error.ts';
import { type NewWorkspace, STORE_VARIABLES } from '../../onboarding/new-workspace.ts';
import { examineIsolated, type SourceLook, type SourcePreview } from '../../onboarding/preview-source.ts';
import { looksSecret } from '../../text/masked.ts';
import { SANDBOX_DEFAULTS } from '../commands/sandbox-command.ts';
import type { Asking } from './asking.ts';

/** The sandbox with its default address and key. */
export const SANDBOX = {
  url: `http://127.0.0.1:${SANDBOX_DEFAULTS.port}`,
  apiKey: SANDBOX_DEFAULTS.apiKey,
} as const;

/** The store that the job is for. */
export type StoreAnswer =
  /** A store in stores.yaml; `unset` are its variables without a value. */
  | { readonly kind: 'known'; readonly name: string; readonly unset: readonly string[] }
  | {
      readonly kind: 'new';
      readonly url: string;
      readonly apiKey: string;
      readonly sandbox: boolean;
    };

/** Asks for the store: its address and key, or the sandbox; in a workspace with several stores, which of them. */
export async function askStore(asking: Asking, existing: boolean): Promise<StoreAnswer> {
  return existing ? await askKnown(asking) : await askNew(asking);
}

async function askKnown({ options, prompter, dir }: Asking): Promise<StoreAnswer> {
  if (options.storeUrl !== undefined || options.sandbox) {
    throw new UsageError('There is a stores.yaml already, and it is not changed.', {
      hint: 'Leave out --store-url and --sandbox; --store NAME chooses one of its stores.',
    });
  }
  const workspace = openWorkspace(dir, process.env);
  const names = workspace.storeNames();
  const [only] = names;
  if (only === undefined) {
    throw new UsageError('stores.yaml has no store.', {
      hint: 'Add one, or remove the file and start again.',
    });
  }
  const given = options.store ?? (names.length === 1 ? only : undefined);
  const name =
    given ??
    (await prompter?.choose(
      'Which store is it for?',
      names.map((value) => ({ value, name: value })),
    ));
  if (name === undefined || !names.includes(name)) {
    throw new UsageError(
      name === undefined ? 'stores.yaml has several stores.' : `stores.yaml has no store '${name}'.`,
      { hint: `Choose one with --store: ${names.join(', ')}.` },
    );
  }
  const unset = workspace.inspection.store(name)?.unset.map((variable) => variable.name) ?? [];
  return { kind: 'known', name, unset: [...new Set(unset)] };
}

async function askNew({ options, prompter, known, say }: Asking): Promise<StoreAnswer> {
  if (options.sandbox) return { kind: 'new', ...SANDBOX, sandbox: true };
  if (options.storeUrl === undefined && prompter !== null) {
    const which = await prompter.choose(
      'Which store is it for?',
      [
        { value: 'real', name: 'My store: I have its address and an API key' },
        {
          value: 'sandbox',
          name: 'None yet: use the sandbox',
          description:
            'A complete storefront on this machine. Address and key can be changed later, in .env.',
        },
      ],
      'real',
    );
    if (which === 'sandbox') return { kind: 'new', ...SANDBOX, sandbox: true };
  }
  const url =
    options.storeUrl ??
    (await prompter?.text('Address of the store:', { fallback: known.url, check: whyNoUrl })) ??
    known.url ??
    '';
  const wrong = whyNoUrl(url);
  if (wrong !== undefined) throw new UsageError(`--store-url: ${wrong}.`);
  if (known.apiKey !== undefined)
    say(`Using the API key from ${STORE_VARIABLES.apiKey}, which is set already.`);
  const apiKey =
    known.apiKey ?? (await prompter?.secret('API key (it goes into .env only):', whyNoKey)) ?? '';
  const wrongKey = whyNoKey(apiKey);
  if (wrongKey !== undefined) throw new UsageError(`${STORE_VARIABLES.apiKey}: ${wrongKey}.`);
  return { kind: 'new', url: baseUrlSchema.parse(url), apiKey: apiKey.trim(), sandbox: false };
}

function whyNoUrl(text: string): string | undefined {
  return baseUrlSchema.safeParse(text).error?.issues[0]?.message;
}

function whyNoKey(text: string): string | undefined {
  if (text.trim() === '') return 'expected the API key of the store';
  return storeSchema.shape.apiKey.safeParse(text.trim()).error?.issues[0]?.message;
}

/** Asks for the values in `.env`: for a new store all, for an existing one those that are missing. */
export async function askVariables(
  { prompter }: Asking,
  store: StoreAnswer,
): Promise<Record<string, string>> {
  if (store.kind === 'new') {
    return { [STORE_VARIABLES.url]: store.url, [STORE_VARIABLES.apiKey]: store.apiKey };
  }
  const values: Record<string, string> = {};
  for (const name of prompter === null ? [] : store.unset) {
    const check = (text: string) => (text.trim() === '' ? 'expected a value' : undefined);
    const question = `The store ${store.name} needs ${name} (it goes into .env):`;
    const value = looksSecret(name)
      ? await prompter?.secret(question, check)
      : await prompter?.text(question, { check });
    if (value !== undefined) values[name] = value.trim();
  }
  return values;
}

/** Asks for the unit in which a new store shows weights; contacts have none. */
export async function askWeightUnit(
  { options, prompter }: Asking,
  imports: NewWorkspace['job']['imports'],
): Promise<StoreConfig['weightUnit']> {
  const units = storeSchema.shape.weightUnit;
  if (options.weightUnit !== undefined) {
    const read = units.safeParse(options.weightUnit);
    if (read.success) return read.data;
    throw new UsageError(`--weight-unit ${options.weightUnit}: expected kg, g, lb or oz.`);
  }
  if (imports === 'contacts' || options.yes || prompter === null) return units.parse(undefined);
  return await prompter.choose(
    'In which unit does the store show weights?',
    (['kg', 'g', 'lb', 'oz'] as const).map((value) => ({ value, name: value })),
    'kg',
  );
}

/** The file, and how it is read. */
interface ReadFile {
  readonly look: SourceLook;
  readonly spec: MappingSpec;
  readonly params: Readonly<Record<string, string>>;
  /** What the store sells in, as a question about the mapping was answered. */
  readonly answered?: string | undefined;
}

/**
 * Asks what a new store sells in, if the prices of the file name several currencies; undefined where they name none. UsageError
 * if they name several and stores.yaml, which is not changed, names none.
 */
export async function askCurrency(
  asking: Asking,
  store: StoreAnswer,
  file: ReadFile,
): Promise<string | undefined> {
  if (file.spec.import === 'contacts') return undefined;
  const given = readOption(asking.options.currency) ?? readCode(file.answered);
  const known =
    store.kind === 'known'
      ? openWorkspace(asking.dir, process.env).inspection.store(store.name)?.value?.currency
      : given;
  const found = await currenciesOf(file, asking.signal);
  const named = found?.words.join(', ');
  if (known !== undefined) {
    const others = (found?.words ?? []).filter((word) => currenciesNamed(word)?.includes(known) !== true);
    if (others.length > 0) {
      asking.say(`Prices in ${others.join(', ')} are rejected: the store sells in ${known}.`);
    }
    return store.kind === 'known' ? undefined : known;
  }
  if (found?.isMixed === true) {
    if (store.kind === 'known') {
      throw new UsageError(
        `The file has prices in ${named}, and stores.yaml does not say what ${store.name} sells in.`,
        {
          hint: `Add \`currency:\` to the store ${store.name}; prices in other currencies are then rejected.`,
        },
      );
    }
    return await choose(asking, found);
  }
  const code = readCode(found?.found);
  if (store.kind === 'known' || code === undefined) return undefined;
  asking.say(`The prices are in ${code}: stores.yaml says that the store sells in it (currency).`);
  return code;
}

type Currencies = SourcePreview['currencies'];

async function choose({ prompter }: Asking, { words }: Currencies): Promise<string> {
  const named = words.join(', ');
  const codes = words.flatMap((word) => readCode(word) ?? []);
  const chosen = await prompter?.choose(
    `In which currency does the store sell? (The prices are in ${named}; those in another currency are rejected.)`,
    codes.map((value) => ({ value, name: value })),
  );
  if (chosen !== undefined) return chosen;
  throw new UsageError(`The file has prices in ${named}, and the store can sell in one currency only.`, {
    hint: `Say which one with --currency ${codes[0] ?? 'CODE'}; prices in another one are rejected.`,
  });
}

function readOption(written: string | undefined): string | undefined {
  if (written === undefined) return undefined;
  const code = readCode(written);
  if (code !== undefined) return code;
  throw new UsageError(`--currency ${written}: expected the code of a currency, such as EUR.`);
}

function readCode(text: string | undefined): string | undefined {
  return text === undefined ? undefined : storeSchema.shape.currency.safeParse(text).data;
}

/** What the prices of the file name; undefined where only a plan can read them: with other tables, or without a parameter. */
async function currenciesOf(
  { look, spec, params }: ReadFile,
  signal: AbortSignal,
): Promise<Currencies | undefined> {
  const options = { params, weightUnit: 'kg', now: 0 } as const;
  try {
    return (await examineIsolated(look, signal, 'preview', look, spec, options)).currencies;
  } catch (error) {
    if (error instanceof MappingError) return undefined;
    throw error;
  }
}
