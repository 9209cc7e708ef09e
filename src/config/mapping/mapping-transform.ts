import { z } from 'zod';

/** The transforms that may stand in a pipeline as a bare word, with what each does. */
export const PLAIN_TRANSFORMS = {
  trim: 'Removes white space from both ends; cells are trimmed anyway, parts of a split are too.',
  squeeze: 'Turns every run of white space, line breaks included, into one blank.',
  lower: 'Lower case.',
  upper: 'Upper case.',
  unquote: "Removes a leading apostrophe ('30235) and one pair of quotes around the text.",
  slug: 'Makes a URL handle, in any script: lower case, words joined by hyphens, accents off Latin letters.',
  number: 'Reads a number with a decimal point; anything else rejects the record.',
  integer: 'Reads a whole number (20.0 is 20); a fraction rejects the record.',
  boolean:
    'Reads yes/no words (true, yes, y, 1, on; false, no, n, 0, off), also as spreadsheets and shops write them in other languages (WAHR, FAUX, sí, não); any other word rejects the record.',
  date: 'Reads a date or a date with a time in ISO form, in UTC where it names no zone.',
  unique: 'Removes repeated items from a list.',
  email:
    'Reads an e-mail address, in lower case, also out of `Ann <ann@mail.example>` and `mailto:`; anything else rejects the record.',
} as const satisfies Record<string, string>;
/** A transform that takes no arguments. */
export type PlainTransform = keyof typeof PLAIN_TRANSFORMS;

const plainNames: [PlainTransform, ...PlainTransform[]] = [
  'trim',
  'squeeze',
  'lower',
  'upper',
  'unquote',
  'slug',
  'number',
  'integer',
  'boolean',
  'date',
  'unique',
  'email',
];

const otherwise = z.enum(['keep', 'blank', 'reject']);
const word = z.union([z.string(), z.number(), z.boolean()]);

/** All that a transform written as a map may say: one main key (the transform), and the options of that key. */
const fields = z.strictObject({
  trim: z.string().min(1).exactOptional().describe('Removes these characters from both ends.'),
  slug: z
    .strictObject({
      keep: z.string().min(1).exactOptional().describe('Further characters to keep, such as `_.`.'),
      case: z.enum(['lower', 'keep']).exactOptional().describe('`keep` leaves upper case as it is.'),
    })
    .exactOptional()
    .describe('As `slug`, with options.'),
  replace: z
    .string()
    .min(1)
    .exactOptional()
    .describe('A pattern (RE2 syntax); every match becomes the text of `with`.'),
  with: z
    .string()
    .exactOptional()
    .describe('With `replace`: the new text; `$1` stands for the first group. Nothing when left out.'),
  extract: z
    .string()
    .min(1)
    .exactOptional()
    .describe('A pattern (RE2 syntax); gives its first group, or the whole match. No match: blank.'),
  template: z
    .string()
    .min(1)
    .exactOptional()
    .describe('A text around `{value}`; `{column}` and `{param}` work as well.'),
  html: z
    .enum(['keep', 'strip', 'sanitize', 'decode', 'escape'])
    .exactOptional()
    .describe(
      '`keep` sends HTML as it is, `strip` leaves the text, `sanitize` keeps an allow-list of harmless tags, `decode` turns `&amp;` and the like into characters, `escape` makes HTML of plain text, with line breaks.',
    ),
  start: z.int().min(1).exactOptional().describe('The first so many characters.'),
  split: z
    .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
    .exactOptional()
    .describe('Splits a text into a list at this separator (or any of these); blank parts are dropped.'),
  escape: z
    .string()
    .length(1)
    .exactOptional()
    .describe(
      'With `split`: the character that makes a separator or a quote behind it ordinary, as in `10\\, 20`; before anything else it stands for itself.',
    ),
  quote: z
    .string()
    .length(1)
    .exactOptional()
    .describe('With `split`: the character around parts that hold the separator, as in `"a, b",c`.'),
  join: z.string().exactOptional().describe('Joins a list with this text between its items.'),
  number: z
    .strictObject({
      decimal: z
        .string()
        .exactOptional()
        .describe(
          'The decimal sign: `.`, `,`; `auto` takes either and refuses what could be read in two ways (1,299); `either` takes either, for files without thousands signs.',
        ),
      thousands: z
        .string()
        .exactOptional()
        .describe(
          'The thousands sign that may stand between groups of three digits; `other`: the comma where the point is decimal, and the other way round.',
        ),
      currency: z
        .string()
        .exactOptional()
        .describe(
          '`strip` removes the code, sign or abbreviation of a currency (EUR, $, zł) and refuses any other word; a code such as EUR also refuses other currencies. An amount with three digits behind its only sign (15.000) is refused, unless its currency has thousandths.',
        ),
      otherwise: z
        .enum(['blank', 'reject'])
        .exactOptional()
        .describe('What a text that is no number becomes. Default: reject.'),
    })
    .exactOptional()
    .describe('As `number`, with options.'),
  integer: z
    .strictObject({
      otherwise: z
        .enum(['blank', 'reject'])
        .exactOptional()
        .describe('What a text that is no whole number becomes. Default: reject.'),
    })
    .exactOptional()
    .describe('As `integer`, with options.'),
  min: z.number().exactOptional().describe('Raises smaller numbers to this one, and counts how often.'),
  max: z.number().exactOptional().describe('Lowers greater numbers to this one, and counts how often.'),
  boolean: z
    .strictObject({
      yes: z.array(word).min(1).exactOptional().describe('The words for yes.'),
      no: z.array(word).min(1).exactOptional().describe('The words for no.'),
    })
    .exactOptional()
    .describe('As `boolean`, with other words.'),
  date: z
    .strictObject({
      formats: z
        .array(z.string().min(1))
        .min(1)
        .exactOptional()
        .describe('Tried in order: `iso`, or yyyy yy MM M dd d HH H hh h mm ss a with what stands between.'),
      timezone: z
        .string()
        .exactOptional()
        .describe('Of dates that name no zone, such as Europe/Rome. Default: UTC.'),
    })
    .exactOptional()
    .describe('As `date`, with options.'),
  lookup: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
    .exactOptional()
    .describe('Words and what each becomes (null: blank); case does not matter.'),
  table: z.string().exactOptional().describe('The name of a lookup table, declared under `lookups`.'),
  column: z
    .string()
    .exactOptional()
    .describe('With `table`: which of its columns to take. Default: the first that is not matched.'),
  otherwise: otherwise
    .exactOptional()
    .describe(
      'With `lookup` and `table`: what becomes of words that are not there: `blank` (default), `keep`, `reject` (default for the lists of the store).',
    ),
  default: word.exactOptional().describe('What to take instead of a blank.'),
});

/** Main keys, and the options that may stand beside each. */
const OPTIONS_OF: Readonly<Record<string, readonly string[]>> = {
  trim: [],
  slug: [],
  replace: ['with'],
  extract: [],
  template: [],
  html: [],
  start: [],
  split: ['escape', 'quote'],
  join: [],
  number: [],
  integer: [],
  min: [],
  max: [],
  boolean: [],
  date: [],
  lookup: ['otherwise'],
  table: ['column', 'otherwise'],
  default: [],
};

const transformObject = fields.superRefine((transform, context) => {
  const keys = Object.keys(transform);
  const mains = keys.filter((key) => key in OPTIONS_OF);
  const [main] = mains;
  if (main === undefined || mains.length > 1) {
    context.addIssue({
      code: 'custom',
      message:
        main === undefined
          ? `expected one transform: ${Object.keys(OPTIONS_OF).join(', ')}`
          : `expected one transform, found ${mains.join(' and ')}; write them one after the other, as two items`,
    });
    return;
  }
  for (const key of keys) {
    if (key !== main && !OPTIONS_OF[main]?.includes(key)) {
      context.addIssue({ code: 'custom', path: [key], message: `${key} is no option of ${main}` });
    }
  }
});

/** A step of a pipeline: a bare name, or a map with the transform's name and its options. */
export const transformSchema = z
  .union([
    z
      .enum(
        plainNames,
        `expected a transform: ${[...new Set([...plainNames, ...Object.keys(OPTIONS_OF)])].join(', ')}`,
      )
      .describe(
        Object.entries(PLAIN_TRANSFORMS)
          .map(([name, does]) => `\`${name}\`: ${does}`)
          .join('\n'),
      ),
    transformObject,
  ])
  .meta({
    id: 'Transform',
    description: 'A step of a pipeline: a bare name, or a map of one transform and its options.',
  });

/** A transform as a map: exactly one main key is there. */
export type TransformObject = Readonly<z.infer<typeof fields>>;
/** One step of a pipeline. */
export type Transform = PlainTransform | TransformObject;
