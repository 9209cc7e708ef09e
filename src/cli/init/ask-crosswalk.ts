import { isAbsolute, relative, sep } from 'node:path';
import type { ContactMappingSpec } from '../../config/mapping/mapping-spec.ts';
import { CONTACT_TEXT_FIELDS } from '../../model/contact.ts';
import { explainError, InterruptedError, StoreferryError, UsageError } from '../../model/errors.ts';
import { lookAtSource, type SourceLook } from '../../run/look/look-at-source.ts';
import { askPath, describeLook } from './ask-source.ts';
import type { Asking } from './init-options.ts';

/** The file that joins the ids of the store with what the source knows; undefined when there is none yet. */
export interface CrosswalkAnswer {
  readonly path: string;
  readonly match: string;
  readonly id: string;
  /** Whether the file is there. */
  readonly there: boolean;
}

/** The name of a crosswalk that is yet to be made. */
const TO_COME: CrosswalkAnswer = { path: 'contact-ids.csv', match: 'email', id: 'id', there: false };

/**
 * Asks for the crosswalk of contacts, and for its columns. Undefined where the mapping takes the store's ids from the
 * source. `contact` is what the mapping says of contacts; left out, of a mapping that is yet to be completed.
 */
export async function askCrosswalk(
  asking: Asking,
  contact: ContactMappingSpec['contact'] | undefined,
): Promise<CrosswalkAnswer | undefined> {
  const { options, prompter } = asking;
  const fields = contact === undefined ? ['email'] : fieldsOf(contact);
  const idMapped = contact?.id !== undefined;
  if (options.crosswalk === undefined) {
    const has = await prompter?.choose(
      'The store updates contacts by its own ids. Where do they come from?',
      [
        {
          value: 'file',
          name: 'A second CSV file with ids and e-mails of the store',
          description: 'A crosswalk, such as an export of the contacts of the store.',
        },
        ...(idMapped
          ? [{ value: 'source', name: 'From the file itself: the mapping takes them from it' }]
          : []),
        { value: 'later', name: `I do not have one yet (the job will look for ${TO_COME.path})` },
      ],
      idMapped ? 'source' : 'file',
    );
    if (has === 'later') return { ...TO_COME, match: preferred(fields) };
    if (has === 'source' || (has === undefined && idMapped)) return undefined;
    if (has === undefined) {
      throw new UsageError(
        'Contacts are updated by the ids of the store, which this mapping finds in no column.',
        {
          hint: 'Give --crosswalk FILE: a CSV file with the columns id and email.',
        },
      );
    }
  }
  for (;;) {
    try {
      return await readCrosswalk(asking, fields);
    } catch (error) {
      const mayAskAgain = prompter !== null && options.crosswalk === undefined;
      if (!mayAskAgain || !(error instanceof StoreferryError) || error instanceof InterruptedError)
        throw error;
      asking.say(`This file is no crosswalk as it is. ${explainError(error)}`);
    }
  }
}

async function readCrosswalk(asking: Asking, fields: readonly string[]): Promise<CrosswalkAnswer> {
  const file = await askPath(asking, asking.options.crosswalk, 'The crosswalk (CSV):');
  const look = await lookAtSource(file);
  asking.say(describeLook(look, file));
  const match = await askMatch(asking, look, fields);
  const id = await askId(asking, look, match);
  const inside = relative(asking.dir, file);
  const path = inside.startsWith('..') || isAbsolute(inside) ? file : inside;
  return { path: path.split(sep).join('/'), match, id, there: true };
}

function fieldsOf(contact: ContactMappingSpec['contact']): string[] {
  const fields = CONTACT_TEXT_FIELDS.filter((field) => contact[field] !== undefined);
  return [...fields, ...Object.keys(contact.match ?? {})];
}

function preferred(fields: readonly string[]): string {
  return fields.includes('email') ? 'email' : (fields[0] ?? 'email');
}

/** A column that is called as a field of the contact, since it is compared with that. */
async function askMatch({ options, prompter }: Asking, look: SourceLook, fields: readonly string[]) {
  const shared = fields.filter((field) => columnOf(look, field) !== undefined);
  const [only] = shared;
  if (options.crosswalkMatch !== undefined) {
    if (shared.includes(options.crosswalkMatch)) return options.crosswalkMatch;
    throw new UsageError(`--crosswalk-match ${options.crosswalkMatch}: ${whyNotShared(look, fields)}`);
  }
  if (only === undefined) {
    throw new UsageError(`The crosswalk cannot be matched: ${whyNotShared(look, fields)}`, {
      hint: `Name the column to match ${preferred(fields)} in its first line.`,
    });
  }
  if (shared.length === 1 || prompter === null) return preferred(shared);
  return await prompter.choose(
    'Which of its columns finds a contact?',
    shared.map((value) => ({ value, name: value })),
    preferred(shared),
  );
}

function whyNotShared({ header }: SourceLook, fields: readonly string[]): string {
  return `it needs a column called as one of the fields that the mapping fills (${fields.join(', ')}), and has ${header.join(', ')}.`;
}

function columnOf({ header }: SourceLook, name: string): string | undefined {
  return header.find((text) => text.trim().toLowerCase() === name.toLowerCase());
}

/** The column with the ids: the one of that name, or one that holds whole numbers only. */
async function askId({ options, prompter }: Asking, look: SourceLook, match: string): Promise<string> {
  if (options.crosswalkId !== undefined) {
    const found = columnOf(look, options.crosswalkId);
    if (found !== undefined) return found.trim();
    throw new UsageError(
      `The crosswalk has no column '${options.crosswalkId}'; it has ${look.header.join(', ')}.`,
    );
  }
  const numbers = look.header.filter(
    (text, column) =>
      text.trim().toLowerCase() !== match.toLowerCase() &&
      look.rows.length > 0 &&
      look.rows.every(({ cells }) => /^\d*$/.test((cells[column] ?? '').trim())),
  );
  const likely = columnOf(look, 'id') ?? numbers[0];
  if (likely !== undefined && (prompter === null || numbers.length <= 1)) return likely.trim();
  if (prompter === null) {
    throw new UsageError('Which column of the crosswalk holds the ids of the store is not said.', {
      hint: `Give --crosswalk-id with one of ${look.header.join(', ')}.`,
    });
  }
  return await prompter.choose(
    'Which of its columns holds the id of the store?',
    look.header.map((text) => ({ value: text.trim(), name: text.trim() })),
    likely?.trim(),
  );
}
