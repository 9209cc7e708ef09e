import type { Transform, TransformObject } from '../../config/mapping/mapping-transform.ts';
import { didYouMean } from '../../model/nearest.ts';
import { isTimezone } from '../../model/timezone.ts';
import type { Path } from '../problems.ts';
import { argument, type Scope } from '../scope.ts';
import type { ItemKind } from '../values/cell.ts';
import { compileTemplate } from '../values/template.ts';
import { boolean } from './boolean.ts';
import { date, dateReader } from './date.ts';
import { email } from './email.ts';
import { html } from './html.ts';
import { join, split, unique } from './list.ts';
import { lookup, tableLookup } from './lookup.ts';
import { bounded, integer, number, PLAIN_NUMBER } from './number.ts';
import { compilePattern, extract, replace } from './pattern.ts';
import { slug } from './slug.ts';
import { lower, squeeze, start, trim, trimCharacters, unquote, upper } from './text.ts';
import { type Step, textStep } from './transform.ts';

/** Leaves everything as it is: stands in for a transform that was complained of. */
const NOTHING: Step = textStep((text) => text);

/** A step of a pipeline as the mapping writes it, ready to run. What is wrong with it is added to the problems. */
export function compileTransform(scope: Scope, path: Path, transform: Transform): Step {
  if (typeof transform !== 'string') return compileObject(scope, path, transform);
  switch (transform) {
    case 'trim':
      return trim;
    case 'squeeze':
      return squeeze;
    case 'lower':
      return lower;
    case 'upper':
      return upper;
    case 'unquote':
      return unquote;
    case 'slug':
      return slug({});
    case 'number':
      return number(PLAIN_NUMBER, scope.quote);
    case 'integer':
      return integer('reject', scope.quote);
    case 'boolean':
      return boolean({}, scope.quote);
    case 'date':
      return compileDate(scope, path, {});
    case 'unique':
      return unique;
    case 'email':
      return email(scope.quote);
    default:
      return transform satisfies never;
  }
}

function compileObject(scope: Scope, path: Path, transform: TransformObject): Step {
  const complain = (key: string) => (message: string) => scope.problems.add([...path, key], message);
  if (transform.trim !== undefined) return trimCharacters(transform.trim);
  if (transform.slug !== undefined) {
    const { keep, case: letterCase } = transform.slug;
    return slug({
      ...(keep === undefined ? {} : { keep }),
      ...(letterCase === undefined ? {} : { case: letterCase }),
    });
  }
  if (transform.replace !== undefined) {
    const pattern = compilePattern(transform.replace, scope.limits, complain('replace'));
    return pattern === undefined
      ? NOTHING
      : replace(pattern, argument(scope, [...path, 'with'], transform.with ?? ''));
  }
  if (transform.extract !== undefined) {
    const pattern = compilePattern(transform.extract, scope.limits, complain('extract'));
    return pattern === undefined ? NOTHING : extract(pattern);
  }
  if (transform.template !== undefined) {
    const fill = compileTemplate(scope, [...path, 'template'], transform.template, true);
    return textStep((text, row, n) => fill(row, n, text));
  }
  if (transform.html !== undefined) return html(transform.html);
  if (transform.start !== undefined) return start(transform.start);
  if (transform.split !== undefined) {
    const separators = typeof transform.split === 'string' ? [transform.split] : transform.split;
    return split(
      separators.map((separator) => argument(scope, [...path, 'split'], separator)),
      { escapedBy: transform.escape, quotedBy: transform.quote },
    );
  }
  if (transform.join !== undefined) return join(transform.join);
  return compileReading(scope, path, transform);
}

/** The transforms that read numbers, words and dates. */
function compileReading(scope: Scope, path: Path, transform: TransformObject): Step {
  if (transform.number !== undefined) return compileNumber(scope, [...path, 'number'], transform.number);
  if (transform.integer !== undefined) return integer(transform.integer.otherwise ?? 'reject', scope.quote);
  if (transform.min !== undefined) return bounded('min', transform.min, noteOf(scope));
  if (transform.max !== undefined) return bounded('max', transform.max, noteOf(scope));
  if (transform.boolean !== undefined) return boolean(transform.boolean, scope.quote);
  if (transform.date !== undefined) return compileDate(scope, [...path, 'date'], transform.date);
  if (transform.lookup !== undefined) {
    return compileLookup(scope, path, transform.lookup, transform.otherwise ?? 'blank');
  }
  if (transform.table !== undefined) {
    return compileTable(scope, path, transform.table, transform.column, transform.otherwise);
  }
  const value = transform.default;
  if (value === undefined) {
    scope.problems.add(path, 'expected a transform');
    return NOTHING;
  }
  const filled = typeof value === 'string' ? argument(scope, [...path, 'default'], value) : value;
  return {
    takes: 'any',
    gives: (taken) => taken,
    run: (present) => present,
    blank: () => (filled === '' ? undefined : filled),
  };
}

function compileNumber(scope: Scope, path: Path, options: NonNullable<TransformObject['number']>): Step {
  const decimal = argument(scope, [...path, 'decimal'], options.decimal ?? '.');
  const decimalParam = /^\{(\w+)\}$/.exec(options.decimal ?? '')?.[1];
  if (decimal !== '.' && decimal !== ',' && decimal !== 'auto' && decimal !== 'either') {
    scope.problems.add([...path, 'decimal'], `expected '.', ',', auto or either, found '${decimal}'`);
    return NOTHING;
  }
  const written =
    options.thousands === undefined ? undefined : argument(scope, [...path, 'thousands'], options.thousands);
  const thousands = written === 'other' ? otherSign(decimal) : written;
  const currency =
    options.currency === undefined ? undefined : argument(scope, [...path, 'currency'], options.currency);
  if (thousands !== undefined && !["'", '’', ' ', '\u00a0', '\u202f', ',', '.'].includes(thousands)) {
    scope.problems.add(
      [...path, 'thousands'],
      `expected one of , . ' or a blank, or other, found '${thousands}'`,
    );
  }
  if (thousands !== undefined && thousands === decimal) {
    scope.problems.add([...path, 'thousands'], 'the thousands sign must differ from the decimal sign');
  }
  const otherwise = options.otherwise ?? 'reject';
  return number({ decimal, thousands, currency, otherwise, decimalParam }, scope.quote);
}

/** What stands between thousands where the decimal sign is known; undefined where it is not. */
function otherSign(decimal: '.' | ',' | 'auto' | 'either'): '.' | ',' | undefined {
  return decimal === ',' ? '.' : decimal === '.' ? ',' : undefined;
}

function compileDate(scope: Scope, path: Path, options: NonNullable<TransformObject['date']>): Step {
  const formats = (options.formats ?? ['iso']).map((format, index) =>
    argument(scope, [...path, 'formats', index], format),
  );
  const readers = formats.flatMap((format, index) => {
    const reader = dateReader(format);
    if (reader === undefined) {
      scope.problems.add([...path, 'formats', index], `'${format}' lacks a year, a month or a day`);
      return [];
    }
    return [reader];
  });
  const timezone = argument(scope, [...path, 'timezone'], options.timezone ?? 'UTC');
  if (!isTimezone(timezone)) {
    scope.problems.add(
      [...path, 'timezone'],
      `'${timezone}' is no time zone; expected one such as Europe/Rome`,
    );
    return NOTHING;
  }
  return date(readers, formats.join(' or '), timezone, scope.quote);
}

function compileLookup(
  scope: Scope,
  path: Path,
  words: Readonly<Record<string, string | number | boolean | null>>,
  otherwise: 'keep' | 'blank' | 'reject',
): Step {
  const kinds = new Set<ItemKind>();
  for (const becomes of Object.values(words)) {
    if (becomes !== null) {
      kinds.add(typeof becomes === 'string' ? 'text' : typeof becomes === 'number' ? 'number' : 'boolean');
    }
  }
  const [kind = 'text'] = kinds;
  if (kinds.size > 1) {
    scope.problems.add([...path, 'lookup'], `expected values of one kind, found ${[...kinds].join(' and ')}`);
  }
  if (otherwise === 'keep' && kind !== 'text') {
    scope.problems.add([...path, 'otherwise'], `keep leaves a text, but the lookup gives a ${kind}`);
  }
  return lookup(words, kind, otherwise, scope.quote);
}

function compileTable(
  scope: Scope,
  path: Path,
  name: string,
  column: string | undefined,
  otherwise: 'keep' | 'blank' | 'reject' | undefined,
): Step {
  if (!scope.lookups.has(name)) {
    scope.problems.add(
      [...path, 'table'],
      `${name} is not declared under lookups${didYouMean(name, [...scope.lookups.keys()])}`,
    );
  }
  scope.used.add(`lookup ${name}`);
  const table = scope.lookups.get(name);
  if (table !== undefined && column !== undefined && !table.columns.includes(column)) {
    scope.problems.add(
      [...path, 'column'],
      `the table ${name} has no column ${column}${didYouMean(column, table.columns)}`,
    );
  }
  return tableLookup(table, column, otherwise ?? (table?.unknown ? 'reject' : 'blank'), scope.quote);
}

function noteOf(scope: Scope): (sentence: string) => void {
  const { field, notes } = scope;
  return (sentence) => {
    notes.push(`${field}: ${sentence}`);
  };
}
