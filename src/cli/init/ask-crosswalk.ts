import { isAbsolute, relative, sep } from 'node:path';
import { matchableFields } from '../../config/job/job.ts';
import type { ContactMappingSpec } from '../../mapping/spec/mapping-spec.ts';
import { loosened } from '../../model/nearest.ts';
import { explainError, InterruptedError, StoreferryError, UsageError } from '../../model/storeferry-error.ts';
import { lookAtSource } from '../../run/look-at-source.ts';
import { describeLook } from '../../run/preview-source.ts';
import { askPath } from './ask-source.ts';
import type { Asking } from './asking.ts';
import {
  type CrosswalkColumn,
  columnCalled,
  columnsOf,
  emailColumn,
  idColumn,
  isEmailColumn,
} from './crosswalk-column.ts';

/** The file that connects the ids of the store with a field of the source; undefined if there is none yet. */
export interface CrosswalkAnswer {
  readonly path: string;
  readonly match: string;
  /** The field to compare the column with, if its name differs. */
  readonly field: string | undefined;
  readonly id: string;
  /** Whether the file exists. */
  readonly there: boolean;
}

/** A crosswalk that does not exist yet. */
const TO_COME: CrosswalkAnswer = {
  path: 'contact-ids.csv',
  match: 'email',
  field: undefined,
  id: 'id',
  there: false,
};

/**
 * Asks for the crosswalk of contacts and for its columns. Undefined if the mapping takes the store's ids from the
 * source. `contact` is the contact part of the mapping; undefined for an incomplete mapping.
 */
export async function askCrosswalk(
  asking: Asking,
  contact: ContactMappingSpec['contact'] | undefined,
): Promise<CrosswalkAnswer | undefined> {
  const { options, prompter } = asking;
  const fields = contact === undefined ? ['email'] : matchableFields(contact);
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
          ? [{ value: 'source', name: 'From the file itself: the mapping has a column for them' }]
          : []),
        { value: 'later', name: `I do not have one yet (the job will look for ${TO_COME.path})` },
      ],
      idMapped ? 'source' : 'file',
    );
    if (has === 'later') return { ...TO_COME, match: preferred(fields) };
    if (has === 'source' || (has === undefined && idMapped)) return undefined;
    if (has === undefined) {
      throw new UsageError(
        'Contacts are updated by the ids of the store, and this mapping has no column for them.',
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
      asking.say(`This file cannot be used as the crosswalk. ${explainError(error)}`);
    }
  }
}

async function readCrosswalk(asking: Asking, fields: readonly string[]): Promise<CrosswalkAnswer> {
  const file = await askPath(asking, asking.options.crosswalk, 'The crosswalk (CSV):');
  const look = await lookAtSource(file);
  asking.say(describeLook(look, file));
  const columns = columnsOf(look);
  const { match, field } = await askMatch(asking, columns, fields);
  const id = await askId(asking, columns, match);
  const inside = relative(asking.dir, file);
  const path = inside.startsWith('..') || isAbsolute(inside) ? file : inside;
  return { path: path.split(sep).join('/'), match, field, id, there: true };
}

function preferred(fields: readonly string[]): string {
  return fields.includes('email') ? 'email' : (fields[0] ?? 'email');
}

/**
 * The column that identifies a contact, and the field to compare it with. A column of names is never chosen
 * automatically.
 */
async function askMatch(
  { options, prompter }: Asking,
  columns: readonly CrosswalkColumn[],
  fields: readonly string[],
): Promise<Match> {
  const emails = fields.includes('email') ? emailColumn(columns) : undefined;
  if (options.crosswalkMatch !== undefined) {
    const found =
      columnCalled(columns, options.crosswalkMatch) ??
      (loosened(options.crosswalkMatch) === 'email' ? emails : undefined);
    const match = found && matchBy(found, fields);
    if (match !== undefined) return match;
    throw new UsageError(
      found === undefined
        ? `--crosswalk-match: the crosswalk has no column '${options.crosswalkMatch}'; it has ${named(columns)}.`
        : `--crosswalk-match: the column '${found.header}' has no e-mail addresses, and its name is not a field that the mapping fills (${fields.join(', ')}).`,
    );
  }
  const match = emails && matchBy(emails, fields);
  if (match !== undefined) return match;
  const usable = columns.filter((column) => matchBy(column, fields) !== undefined);
  if (usable.length === 0) {
    throw new UsageError(
      `The crosswalk cannot be matched: it needs a column of e-mail addresses, or one with the name of a field that the mapping fills (${fields.join(', ')}); it has ${named(columns)}.`,
      { hint: `In its first line, give the column to match the name ${preferred(fields)}.` },
    );
  }
  if (prompter === null) {
    throw new UsageError(
      'It is not clear which column of the crosswalk has the e-mail addresses of the contacts.',
      {
        hint: `Give --crosswalk-match with one of ${named(usable)}; do not match by name: two people may have the same name.`,
      },
    );
  }
  const chosen = await prompter.choose(
    'Which of its columns identifies a contact? (two people may have the same name)',
    usable.map(({ header }) => ({ value: header, name: header })),
  );
  const column = columnCalled(columns, chosen);
  return (column && matchBy(column, fields)) ?? { match: chosen, field: undefined };
}

type Match = Pick<CrosswalkAnswer, 'match' | 'field'>;

/** A column that can identify contacts, with its field; undefined if no field matches. */
function matchBy(column: CrosswalkColumn, fields: readonly string[]): Match | undefined {
  const { header } = column;
  const alike = fields.find((field) => loosened(field) === loosened(header));
  if (alike !== undefined) {
    return { match: header.toLowerCase() === alike.toLowerCase() ? alike : header, field: undefined };
  }
  return fields.includes('email') && isEmailColumn(column) ? { match: header, field: 'email' } : undefined;
}

function named(columns: readonly CrosswalkColumn[]): string {
  return columns.map(({ header }) => header).join(', ');
}

/** The column with the ids of the store. */
async function askId(
  { options, prompter }: Asking,
  all: readonly CrosswalkColumn[],
  match: string,
): Promise<string> {
  if (options.crosswalkId !== undefined) {
    const found = columnCalled(all, options.crosswalkId);
    if (found !== undefined) return found.header;
    throw new UsageError(`The crosswalk has no column '${options.crosswalkId}'; it has ${named(all)}.`);
  }
  const columns = all.filter(({ header }) => loosened(header) !== loosened(match));
  const likely = idColumn(columns);
  if (likely !== undefined) return likely.header;
  if (prompter === null) {
    throw new UsageError('It is not clear which column of the crosswalk has the ids of the store.', {
      hint: `Give --crosswalk-id with one of ${named(columns)}.`,
    });
  }
  return await prompter.choose(
    'Which of its columns has the id of the store?',
    columns.map(({ header }) => ({ value: header, name: header })),
  );
}
