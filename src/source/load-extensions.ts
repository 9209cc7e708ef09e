import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { csvLines, formatRow } from '../model/row.ts';
import { ConfigurationError, messageOf, SourceError } from '../model/storeferry-error.ts';
import { EXTENSIONS_FILE } from '../remote/remote-kinds.ts';
import { didYouMean } from '../text/printable.ts';

type Rows = AsyncIterable<Readonly<Record<string, unknown>>> | Iterable<Readonly<Record<string, unknown>>>;

const isFunction = (value: unknown): boolean => typeof value === 'function';
const extensionsSchema = z.strictObject({
  transforms: z
    .record(z.string(), z.custom<(text: string) => unknown>(isFunction, 'expected a function'))
    .default({}),
  sources: z
    .record(z.string(), z.custom<(signal: AbortSignal) => Rows>(isFunction, 'expected a function'))
    .default({}),
});

/** What `storeferry.config.ts` of a workspace adds to it, and the digest of that file. */
export type LoadedExtensions = z.output<typeof extensionsSchema> & { readonly digest: string };

const loaded = new Map<string, LoadedExtensions>();

/**
 * Loads `storeferry.config.ts` of a workspace as it is now; what that file imports, once for this process. Called only where a mapping or
 * a job names an extension, so that no other command executes code of a workspace. ConfigurationError.
 */
export async function loadExtensions(workspaceDir: string): Promise<LoadedExtensions> {
  const path = join(workspaceDir, EXTENSIONS_FILE);
  if (!existsSync(path)) throw new ConfigurationError([problem('this file does not exist')]);
  const digest = hash('sha256', readFileSync(path));
  const known = loaded.get(path);
  if (known?.digest === digest) return known;
  let module: unknown;
  try {
    // Of one address, a module is loaded once.
    module = await import(/* of the workspace */ `${pathToFileURL(path).href}?${digest}`);
  } catch (cause) {
    throw new ConfigurationError([problem(messageOf(cause))], {
      cause,
    });
  }
  const { data, error } = z.looseObject({ default: extensionsSchema }).safeParse(module);
  if (data === undefined) {
    const issues = error.issues.map(({ path: at, message }) => problem(`${at.join('.')}: ${message}`));
    throw new ConfigurationError(issues);
  }
  const extensions = { ...data.default, digest };
  loaded.set(path, extensions);
  return extensions;
}

function problem(message: string) {
  return { place: { file: EXTENSIONS_FILE }, message };
}

const ROWS_PER_TURN = 500;

/** The rows of a source of `storeferry.config.ts` as CSV. SourceError for a source that fails or gives no rows, ConfigurationError for a file that cannot be loaded. */
export async function* extensionRows(
  workspaceDir: string,
  name: string,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const { sources } = await loadExtensions(workspaceDir);
  const open = Object.hasOwn(sources, name) ? sources[name] : undefined;
  if (open === undefined)
    throw new SourceError(
      `${EXTENSIONS_FILE} has no source ${name}${didYouMean(name, Object.keys(sources))}`,
    );
  let columns: readonly string[] | undefined;
  let lines: (string | null)[][] = [];
  try {
    for await (const row of open(signal)) {
      signal.throwIfAborted();
      if (columns === undefined) {
        columns = Object.keys(row);
        yield `${formatRow(columns, ',')}\n`;
      }
      const known = columns;
      const unknown = Object.keys(row).find((column) => !known.includes(column));
      if (unknown !== undefined)
        throw failed(name, `a row has the column ${unknown}, which the first one lacks`);
      lines.push(columns.map((column) => textOf(row[column], name, column)));
      if (lines.length < ROWS_PER_TURN) continue;
      yield csvLines(lines);
      lines = [];
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof SourceError ? error : failed(name, messageOf(error));
  }
  if (columns === undefined) throw failed(name, 'it gives no row');
  yield csvLines(lines);
}

function textOf(value: unknown, source: string, column: string): string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Date) return value.toISOString();
  if (
    typeof value === 'string' ||
    typeof value === 'number' ||
    typeof value === 'bigint' ||
    typeof value === 'boolean'
  )
    return String(value);
  throw failed(source, `the column ${column} has a value that is no text, number, boolean or date`);
}

function failed(source: string, why: string): SourceError {
  return new SourceError(`The source ${source} of ${EXTENSIONS_FILE} cannot be read: ${why}.`, {
    place: { file: EXTENSIONS_FILE },
    hint: `Correct it under \`sources\` in ${EXTENSIONS_FILE}.`,
  });
}
