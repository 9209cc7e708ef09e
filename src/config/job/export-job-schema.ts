import { z } from 'zod';
import { addProblem, namesOf, optional, valueAt } from '../../model/json-object.ts';
import { LIST_COLUMNS, pathOf, pathsOverlap, timeOfDate } from '../../model/mapped-record.ts';
import { namePlaceholders, workspacePathSchema } from '../../model/remote-address.ts';
import { delimiterSchema } from '../../model/row.ts';
import { DATABASES, exactlyOnePlace, PLACES, remoteFields, tableFields } from '../../remote/remote-kinds.ts';
import { didYouMean } from '../../text/printable.ts';
import { oneFile } from '../complete-places.ts';
import { jobFields, valueWords, WEEKLY_PROBLEM, wantsWeekly } from './job-fields.ts';

/** What an export does with its file in each mode. */
export const DESTINATION_WORDS = {
  replace: 'writes the whole file again',
  append: 'adds to the file: a line per list and run, or the orders that it does not have like that',
  new: 'writes the orders that are new or changed since the last run into a file of their own',
} as const;

/** What each format of an export is for. */
export const FORMAT_WORDS = {
  csv: 'for programs',
  'excel-csv': 'for spreadsheets',
  xlsx: 'a workbook of Excel, whose cells have types, with a filter',
  parquet: 'for analytics: typed columns, amounts as exact decimals',
  jsonl: 'JSON Lines, which keep orders whole, one per line',
} as const;

/** The destination of an export: exactly one of `path`, `url`, `s3`, `sftp` and the databases. */
const destinationSchema = z
  .strictObject({
    path: optional(workspacePathSchema, 'The file to write.'),
    ...remoteFields('destination'),
    ...tableFields,
    mode: z
      .enum(namesOf(DESTINATION_WORDS))
      .default('replace')
      .describe(
        `${valueWords(DESTINATION_WORDS)} Names may have \`{date}\` and \`{time}\` (UTC), except with \`append\`; with \`new\` also \`{run}\` or \`{number}\` (without gaps), which is added if both are missing.`,
      ),
    format: z
      .enum(namesOf(FORMAT_WORDS))
      .default('csv')
      .describe(
        `${valueWords(FORMAT_WORDS)} \`excel-csv\` has a byte order mark, and an apostrophe before formulas. Except in \`csv\` and \`jsonl\`, \`created\` and \`createdOn\` of orders are times in UTC instead of seconds.`,
      ),
    delimiter: optional(delimiterSchema, 'Of CSV. Default: the comma, with `decimal: ","` the semicolon.'),
    decimal: optional(z.enum(['.', ',']), 'In CSV. Default: the point.'),
  })
  .superRefine((written, context) =>
    exactlyOnePlace(
      written,
      context,
      PLACES.filter((place) => place !== 'custom'),
      'table',
    ),
  )
  .superRefine(oneFile)
  .superRefine((written, context) => {
    const database = DATABASES.find((name) => valueAt(written, [name]) !== undefined);
    const { table, create, mode, format } = written;
    if (database === undefined) {
      for (const [name, value] of Object.entries({ table, create }))
        if (value !== undefined) addProblem(context, `\`${name}\` is for ${DATABASES.join(', ')}`, name);
      return;
    }
    if (table === undefined) addProblem(context, `${database} needs \`table\`, such as orders`);
    if (mode === 'new')
      addProblem(context, 'a table has a row for each order, new or not: leave `mode` out', 'mode');
    if (format !== 'csv') addProblem(context, 'a table has no format: leave `format` out', 'format');
  })
  // Rows are added or updated, and none is removed.
  .transform((written) => (written.table === undefined ? written : { ...written, mode: 'append' as const }));

/** A column as a job names it: the path of its field, and its name in the file. */
const columnSchema = z
  .union([
    z.string().min(1),
    z.strictObject({
      path: z.string().min(1).describe('The path of the field.'),
      as: z.string().min(1).describe('The name of the column.'),
    }),
  ])
  .transform((column) =>
    typeof column === 'string' ? { path: column, name: column } : { path: column.path, name: column.as },
  );

const valueSchema = z.union([z.string(), z.number(), z.boolean()]);

const maskSchema = z.union([
  z.enum(['redact', 'hash']),
  z.strictObject({ keepLast: z.int().min(1).max(20).describe('Characters that stay.') }),
]);

/** A job that reads a store into a file. */
export const exportJobSchema = z
  .strictObject({
    export: z.enum(['subscriber-lists', 'orders']).describe('What to read from the store.'),
    store: jobFields.store,
    destination: destinationSchema.describe('Where it goes.'),
    rows: optional(
      z.enum(['orders', 'items']),
      'A line per order (default), or per item with the fields of the order.',
    ),
    columns: optional(
      z.array(columnSchema).min(1),
      'Columns in order, nested fields by path: `customer.email`, `items.0.sku` for the first of a list, `items.sku` for all; `created_iso` is the date of `created`. `{ path, as }` renames. Default: all.',
    ),
    filter: optional(
      z.record(z.string().min(1), z.union([valueSchema, z.array(valueSchema).min(1)])),
      'Only orders with these values, such as `status: [pending, shipped]`.',
    ),
    mask: optional(
      z.record(z.string().min(1), maskSchema),
      'Fields that nobody shall read: `redact`, `hash` (HMAC-SHA256 with the key in `MASK_KEY`: equal values stay equal), or `{ keepLast: 4 }`.',
    ),
    schedule: jobFields.schedule,
    notify: jobFields.notify,
  })
  .superRefine(({ export: what, destination, rows, columns = [], filter, mask, notify }, context) => {
    const refuseIf = (isWrong: boolean, message: string, ...path: readonly PropertyKey[]) => {
      if (isWrong) addProblem(context, message, ...path);
    };
    const { mode, format, url } = destination;
    const isOrders = what === 'orders';
    const isLines = format === 'jsonl';
    refuseIf(
      isLines && columns.length > 0,
      'JSON Lines keep everything: leave the columns out, or choose format: csv',
      'columns',
    );
    const judged = isLines ? [] : columns;
    const known: readonly string[] = LIST_COLUMNS;
    for (const [at, column] of judged.entries()) {
      const isRepeated = judged.findIndex(({ name }) => name === column.name) < at;
      refuseIf(isRepeated, `the column '${column.name}' is named twice`, 'columns', at);
      refuseIf(
        !isOrders && !known.includes(column.path),
        `a list has no column '${column.path}'${didYouMean(column.path, known)} (known: ${known.join(', ')})`,
        'columns',
        at,
      );
    }
    const read = judged.map((column) => readPath(column.path));
    for (const path of Object.keys(mask ?? {})) {
      if (read.some((one) => pathsOverlap(pathOf(path), pathOf(one)))) continue;
      // Other fields that are not written need no mask.
      const named = judged.find(({ name }) => name === path);
      const meant = named ?? judged.find((column) => lettersOf(column.path) === lettersOf(path));
      if (meant === undefined) continue;
      const field = readPath(meant.path);
      const message =
        meant === named
          ? `'${path}' is the name of a column: write the path of its field, '${field}'`
          : `no column has '${path}', so nothing would be masked; did you mean '${field}'?`;
      refuseIf(true, message, 'mask', path);
    }
    const keys = isOrders ? ['id'] : ['id', 'read_at'];
    const lacking = keys.filter((key) => !judged.some((column) => column.path === key));
    refuseIf(
      judged.length > 0 && mode === 'append' && lacking.length > 0,
      `${destination.table === undefined ? 'mode: append' : 'a table'} needs ${lacking.join(' and ')} among the columns, so that no line is added twice`,
      'columns',
    );
    for (const [name, value] of Object.entries({ rows, filter, mask }))
      refuseIf(!isOrders && value !== undefined, `\`${name}\` is for exports of orders`, name);
    refuseIf(
      !isOrders && mode === 'new',
      'mode: new is for exports of orders; subscriber lists have append and replace',
      'destination',
      'mode',
    );
    refuseIf(
      isOrders && rows === 'items' && isLines,
      'JSON Lines keep orders whole: leave `rows` out, or choose a table',
      'rows',
    );
    refuseIf(
      isOrders && rows === 'items' && mode === 'append',
      destination.table === undefined
        ? 'mode: append compares whole orders: choose mode: new or replace for lines of items'
        : 'a table has a row for each order: leave `rows` out',
      'rows',
    );
    refuseIf(!keepsHistory({ export: what, destination }) && wantsWeekly(notify), WEEKLY_PROBLEM, 'notify');
    const isEachRun = isOrders && mode === 'new';
    refuseIf(
      isEachRun && url !== undefined,
      'mode: new writes many files, and a web address is one: give path, s3 or sftp',
      'destination',
      'url',
    );
    const allowed: readonly string[] = MARKS_OF_MODE[mode];
    const misplaced = namePlaceholders(JSON.stringify(destination)).find((mark) => !allowed.includes(mark));
    refuseIf(
      misplaced !== undefined,
      `with mode: ${mode} the name of a file has no ${misplaced}${isOrders ? ': choose mode: new' : ': remove it, or choose mode: replace'}`,
      'destination',
    );
    refuseIf(
      mode === 'append' && (format === 'xlsx' || format === 'parquet'),
      `nothing can be added to a file of the format ${format}: choose mode: replace, or format: excel-csv`,
      'destination',
      'format',
    );
    const isText = format === 'csv' || format === 'excel-csv';
    for (const name of ['delimiter', 'decimal'] as const)
      refuseIf(
        !isText && destination[name] !== undefined,
        `\`${name}\` is for the formats csv and excel-csv`,
        'destination',
        name,
      );
  });

/** The path of the field that a column has the value of. */
function readPath(column: string) {
  return timeOfDate(pathOf(column))?.join('.') ?? column;
}

/** Equal where paths differ in letter case, in the places of lists, or in the order of letters. */
function lettersOf(path: string) {
  const names = pathOf(path.toLowerCase()).filter((name) => !/^\d+$/.test(name));
  return [...names.join('.')].sort().join('');
}

/** The marks that a name may have: a file that grows has one name, and numbers are of files that stay. */
const MARKS_OF_MODE = {
  append: [],
  replace: ['{date}', '{time}'],
  new: ['{date}', '{time}', '{run}', '{number}'],
} as const;

/** Endings of formats beside their own names. */
const OTHER_ENDING: Readonly<Record<string, string>> = { 'excel-csv': 'csv', jsonl: 'json' };
/** Endings of files by which programs choose how to open them. */
const FORMAT_ENDING = /\.(csv|jsonl?|ods|parquet|xlsx?|xml)$/i;

/** What is wrong with a file whose name ends like those of another format; undefined where nothing is. */
export function misnamed(name: string, format: keyof typeof FORMAT_WORDS): string | undefined {
  const [, written] = FORMAT_ENDING.exec(name) ?? [];
  const ending = written?.toLowerCase();
  if (ending === undefined || ending === format || ending === OTHER_ENDING[format]) return undefined;
  const fits = Object.hasOwn(FORMAT_WORDS, ending) ? `set format: ${ending}, or ` : '';
  return `the name ends in .${ending}, but the format is ${format}, so that programs cannot open the file: ${fits}change the name`;
}

/** Whether an export collects the statistics of lists over time, in a file. */
export function keepsHistory({ export: what, destination }: Exporting): boolean {
  return what === 'subscriber-lists' && destination.mode === 'append' && destination.table === undefined;
}

interface Exporting {
  readonly export: string;
  readonly destination: { readonly mode?: string | undefined; readonly table?: string | undefined };
}
