import { availableMappings } from '../../config/workspace.ts';
import {
  fitHeader,
  guessMapping,
  type MappingFit,
  type MappingGuess,
  type SuggestedColumn,
  suggestColumns,
} from '../../mapping/guess-mapping.ts';
import type { MappingFile, MappingSpec } from '../../mapping/spec/mapping-spec.ts';
import { didYouMean } from '../../model/nearest.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { listed } from '../../report/printable.ts';
import type { Asking } from './asking.ts';

/** The fields that a plan requires. */
export const NEEDED_FIELDS: Readonly<Record<MappingSpec['import'], readonly string[]>> = {
  products: ['title', 'price'],
  contacts: ['email'],
};

/** The mapping that reads the file. */
export type MappingAnswer =
  | { readonly kind: 'known'; readonly name: string; readonly spec: MappingSpec }
  /** A new mapping, for the user to complete. */
  | {
      readonly kind: 'new';
      readonly imports: MappingSpec['import'];
      readonly suggested: readonly SuggestedColumn[];
    };

/** The name for a new mapping, on the command line and in the list. */
export const NEW_MAPPING = 'new';

/** Guesses from the header which shop or CRM the file comes from, prints the reasons, and lets the user decide. */
export async function askMapping(asking: Asking, header: readonly string[]): Promise<MappingAnswer> {
  const { options, prompter, say, dir } = asking;
  const known = availableMappings(dir, process.env);
  if (options.mapping === NEW_MAPPING) return await askNew(asking, header, known);
  if (options.mapping !== undefined) return given(options.mapping, header, known);

  const guess = guessMapping(header, known);
  for (const line of explainGuess(guess)) say(line);
  if (guess.best !== undefined && options.yes) return { kind: 'known', ...found(known, guess.best.name) };
  if (prompter === null) throw cannotTell(guess);
  const chosen = await prompter.choose(
    'Which mapping reads this file?',
    choices(guess, known),
    guess.best?.name,
  );
  if (chosen === NEW_MAPPING) return await askNew(asking, header, known);
  return { kind: 'known', ...found(known, chosen) };
}

function found(known: readonly MappingFile[], name: string): { name: string; spec: MappingSpec } {
  const mapping = known.find((one) => one.name === name);
  if (mapping !== undefined) return { name, spec: mapping.spec };
  const names = known.map((one) => one.name);
  throw new UsageError(`There is no mapping '${name}'${didYouMean(name, names) || '.'}`, {
    hint: `Known mappings: ${names.join(', ')}; '${NEW_MAPPING}' starts one of your own.`,
  });
}

function given(name: string, header: readonly string[], known: readonly MappingFile[]): MappingAnswer {
  const mapping = found(known, name);
  const { obstacle } = fitHeader(mapping.spec, header);
  if (obstacle === null) return { kind: 'known', ...mapping };
  const others = guessMapping(header, known).fitting.map((fit) => fit.name);
  throw new UsageError(`The mapping ${name} does not fit the file: ${obstacle}.`, {
    hint:
      others.length === 0
        ? `No mapping fits its columns; --mapping ${NEW_MAPPING} starts one of your own.`
        : `Mappings that fit: ${others.join(', ')}.`,
  });
}

const DISTINCTIVE_SHOWN = 4;

/** The reasons for this mapping, other mappings that fit, or why none fits. */
export function explainGuess({ best, fitting, near }: MappingGuess): string[] {
  const lines: string[] = [];
  if (best !== undefined) {
    const { name, used, headers, distinctive } = best;
    const examples = listed(distinctive.slice(0, DISTINCTIVE_SHOWN).map((text) => `'${text}'`));
    const own =
      distinctive.length === 0 ? '' : `, ${distinctive.length} of which no other format has (${examples})`;
    lines.push(`Recognised as ${name}: this mapping knows ${used.length} of the ${headers} columns${own}.`);
  }
  const others = best === undefined ? fitting : fitting.slice(1);
  if (others.length > 0) {
    const names = listed(
      others.map(({ name, used, headers }) => `${name} (${used.length} of ${headers} columns)`),
    );
    const unsure = others.length === 1 ? 'A possible mapping is' : 'Several mappings are possible:';
    lines.push(best === undefined ? `${unsure} ${names}.` : `Other mappings that fit: ${names}.`);
  }
  const [nearest] = near;
  if (fitting.length === 0) {
    lines.push(
      nearest === undefined || nearest.used.length < 2
        ? 'No known format has these columns.'
        : `No mapping fits its columns. The nearest is ${nearest.name}, but ${nearest.obstacle}.`,
    );
  }
  return lines;
}

function choices(guess: MappingGuess, known: readonly MappingFile[]) {
  const about = (name: string) => known.find((one) => one.name === name)?.spec.description;
  const choice = ({ name }: Pick<MappingFit, 'name'>, note: string) => ({
    value: name,
    name: `${name}${note}`,
    description: about(name),
  });
  return [
    ...guess.fitting.map((fit, index) =>
      choice(fit, index === 0 && guess.best !== undefined ? ' (the guess)' : ' (fits)'),
    ),
    {
      value: NEW_MAPPING,
      name: 'None of these: start a mapping of my own',
      description: 'Writes a commented file that lists the columns.',
    },
  ];
}

function cannotTell({ best, fitting }: MappingGuess): UsageError {
  const names = best === undefined ? fitting.map(({ name }) => name) : [best.name];
  return new UsageError('No mapping is given for the file.', {
    hint: `Give --mapping NAME${names.length === 0 ? '' : ` (${names.join(', ')})`}, or --mapping ${NEW_MAPPING} for one of your own.`,
  });
}

async function askNew(
  asking: Asking,
  header: readonly string[],
  known: readonly MappingFile[],
): Promise<MappingAnswer> {
  const { options, prompter } = asking;
  const wanted =
    options.import ??
    (await prompter?.choose('What is in the file?', [
      { value: 'products', name: 'Products' },
      { value: 'contacts', name: 'Contacts' },
    ]));
  if (wanted !== 'products' && wanted !== 'contacts') {
    throw new UsageError('A mapping of your own needs to know what it imports.', {
      hint: 'Give --import products or --import contacts.',
    });
  }
  const specs = known.flatMap(({ spec, shipped }) => (shipped && spec.import === wanted ? [spec] : []));
  const suggested = suggestColumns(header, wanted, specs);
  return { kind: 'new', imports: wanted, suggested: await completed(asking, header, wanted, suggested) };
}

/** Asks for the columns of required fields that no header matches. */
async function completed(
  { prompter }: Asking,
  header: readonly string[],
  imports: MappingSpec['import'],
  suggested: readonly SuggestedColumn[],
): Promise<SuggestedColumn[]> {
  const columns = [...new Set(header.map((text) => text.trim()))].filter((text) => text !== '');
  const complete: SuggestedColumn[] = [];
  for (const one of suggested) {
    if (prompter === null || one.header !== undefined || !NEEDED_FIELDS[imports].includes(one.field)) {
      complete.push(one);
      continue;
    }
    const taken = new Set([...suggested, ...complete].map((known) => known.header));
    const chosen = await prompter.choose(`Which column has the ${one.field}?`, [
      ...columns.filter((text) => !taken.has(text)).map((text) => ({ value: `=${text}`, name: text })),
      { value: '', name: 'I will write it into the mapping' },
    ]);
    complete.push({ field: one.field, header: chosen === '' ? undefined : chosen.slice(1) });
  }
  return complete;
}
