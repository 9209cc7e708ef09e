import { open as openFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ExportJob } from '../../config/job/job.ts';
import { sumOf } from '../../model/json-object.ts';
import type { FilePlace } from '../../model/remote-address.ts';
import { codeOf, DestinationError, messageOf } from '../../model/storeferry-error.ts';
import { type DatabaseSession, RemoteFailure, retryTransient } from '../../remote/remote-client.ts';
import { openSession } from '../../remote/remote-kinds.ts';
import { allowedPath, type FileAccess, fileErrorText, found, makeFolders } from '../../state/file-access.ts';
import {
  type ColumnType,
  cellAsText,
  columnTypes,
  DECIMAL_NUMBER,
  MIN_SCALE,
  type TablePass,
  type TypedCell,
} from '../../tables/write-table.ts';
import { refusal, withDestinationErrors } from '../open-destination.ts';
import type { RowShape } from './row-shape.ts';
import { type FileContent, lineKey, type Written } from './write-file.ts';

/** The table of a database that an export writes into. */
export interface DatabaseTable {
  /** For people: as the job names it. */
  readonly location: string;
  /** What its lock is called. Equal for every way to name the table: those that differ in schema or case alone share it, and wait. */
  readonly lockedAs: string;
  /**
   * Adds the rows, or updates those with their key, all in one transaction. DestinationError where the table is missing or lacks a column
   * and may not be created, and where it would keep fewer digits than a number has.
   */
  upsert(content: Omit<FileContent, 'file'>): Promise<Written>;
  /** Whether the database has the table. DestinationError where it does not answer. */
  exists(signal: AbortSignal): Promise<boolean>;
}

type TableSpec = FilePlace & Pick<ExportJob['destination'], 'create'> & { readonly table: string };

/** The table at a place; nothing is connected yet. DestinationError for a file that jobs may not write. */
export async function openDatabaseTable(place: TableSpec, access: FileAccess): Promise<DatabaseTable> {
  const { table, create = false } = place;
  const { name, open } = await databaseAt(place, access);
  const location = `${name}, table ${table}`;
  return {
    location,
    lockedAs: `${name}, table ${table.split('.').at(-1)?.toLowerCase()}`,
    upsert: (content) =>
      withDestinationErrors(location, 'written', content.signal, async () => {
        // Once more from the beginning: the transaction of a failed attempt has changed nothing.
        const attempt = async () => {
          await using session = await open(content.signal, create);
          return await new TableWriter(session, { table, create, location, content }).write();
        };
        return await retryTransient(attempt, content.signal);
      }),
    exists: (signal) =>
      withDestinationErrors(location, 'read', signal, async () => {
        try {
          await using session = await open(signal, false);
          return (await columnsOf(session, partsOf(session, table))).size > 0;
        } catch (error) {
          if (error instanceof RemoteFailure && error.kind === 'absent') return false;
          throw error;
        }
      }),
  };
}

async function databaseAt(place: TableSpec, access: FileAccess) {
  const { remote } = place;
  if (remote !== undefined)
    return { name: remote.location, open: (signal: AbortSignal) => openSession(remote, signal) };
  const allowed = await allowedPath(place.path, access);
  if ('refused' in allowed) throw refusal(`The destination ${place.path}`, allowed);
  return {
    name: allowed.real,
    open: (_: AbortSignal, create: boolean) => sqliteSession(allowed.real, create),
  };
}

/** How a kind of database writes what the SQL standard leaves open. Names are in `"` in all of them. */
interface Dialect {
  readonly maxNameBytes: number;
  /**
   * Columns with how many decimals they keep, null for any; for most also how many digits, and how many of a whole number. No
   * rows where there is no table.
   */
  readonly columnsOf: (parts: readonly string[]) => {
    readonly sql: string;
    readonly values: readonly (string | null)[];
  };
  readonly begin: string;
  readonly types: Readonly<
    Record<'text' | 'keyText' | 'boolean' | 'time' | 'whole' | 'long' | 'decimal', string>
  >;
  readonly tableSuffix: string;
  readonly bools: readonly [string, string];
  readonly timeText: (time: Date) => string;
  readonly placeholder: (position: number) => string;
  readonly onConflict: (key: readonly string[], others: readonly string[]) => string;
}

const updateOnConflict: Dialect['onConflict'] = (key, others) => {
  const sets = others.map((name) => `${quoted(name)} = excluded.${quoted(name)}`);
  const change = sets.length === 0 ? 'NOTHING' : `UPDATE SET ${sets.join(', ')}`;
  return `ON CONFLICT (${key.map(quoted).join(', ')}) DO ${change}`;
};

/** The most digits of a whole number in 64 bits, and of a decimal that SQLite keeps. */
const MAX_DIGITS = { whole: 18, real: 15 };

const DIALECTS: Readonly<Record<DatabaseSession['kind'], Dialect>> = {
  postgres: {
    maxNameBytes: 63,
    columnsOf: (parts) => ({
      sql: `SELECT attname, information_schema._pg_numeric_scale(atttypid, atttypmod), CASE atttypid WHEN 'float4'::regtype THEN 6 WHEN 'float8'::regtype THEN 15 WHEN 'numeric'::regtype THEN 131072 END FROM pg_attribute WHERE attrelid = to_regclass($1::text) AND attnum > 0 AND NOT attisdropped`,
      values: [parts.map(quoted).join('.')],
    }),
    begin: 'BEGIN',
    types: {
      text: 'text',
      keyText: 'text',
      boolean: 'boolean',
      time: 'timestamptz',
      whole: 'bigint',
      long: 'numeric',
      decimal: 'numeric',
    },
    tableSuffix: '',
    bools: ['false', 'true'],
    timeText: (time) => time.toISOString(),
    placeholder: (position) => `$${position}`,
    onConflict: updateOnConflict,
  },
  mysql: {
    maxNameBytes: 64,
    columnsOf: (parts) => ({
      sql: `SELECT column_name, CAST(numeric_scale AS char), CASE data_type WHEN 'float' THEN '6' WHEN 'double' THEN '15' END FROM information_schema.columns WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ?`,
      values: schemaAndName(parts),
    }),
    begin: 'START TRANSACTION',
    types: {
      text: 'longtext',
      keyText: 'varchar(191) COLLATE utf8mb4_bin',
      boolean: 'boolean',
      time: 'datetime(3)',
      whole: 'bigint',
      long: 'decimal(65,0)',
      decimal: `decimal(38,${MIN_SCALE})`,
    },
    tableSuffix: ' CHARACTER SET utf8mb4',
    bools: ['0', '1'],
    timeText: (time) => time.toISOString().replace('T', ' ').replace('Z', ''),
    placeholder: () => '?',
    onConflict: (key, others) => {
      // A key alone: nothing to change.
      const sets = (others.length === 0 ? key : others).map(
        (name) => `${quoted(name)} = VALUES(${quoted(name)})`,
      );
      return `ON DUPLICATE KEY UPDATE ${sets.join(', ')}`;
    },
  },
  sqlite: {
    maxNameBytes: 1_000,
    columnsOf: (parts) => ({
      // The affinity of each column decides: section 3.1 of https://sqlite.org/datatype3.html.
      sql: `SELECT name, NULL, CASE WHEN type NOT LIKE '%INT%' AND (type = '' OR type LIKE '%CHAR%' OR type LIKE '%CLOB%' OR type LIKE '%TEXT%' OR type LIKE '%BLOB%') THEN NULL ELSE ${MAX_DIGITS.real} END,
        CASE WHEN type NOT LIKE '%INT%' AND (type LIKE '%REAL%' OR type LIKE '%FLOA%' OR type LIKE '%DOUB%') THEN ${MAX_DIGITS.real} ELSE ${MAX_DIGITS.whole} END FROM pragma_table_info(?)`,
      values: [parts.join('.')],
    }),
    begin: 'BEGIN IMMEDIATE',
    types: {
      text: 'TEXT',
      keyText: 'TEXT',
      boolean: 'INTEGER',
      time: 'TEXT',
      whole: 'INTEGER',
      long: 'TEXT',
      decimal: 'NUMERIC',
    },
    tableSuffix: '',
    bools: ['0', '1'],
    timeText: (time) => time.toISOString(),
    placeholder: () => '?',
    onConflict: updateOnConflict,
  },
};

/** Fields whose whole numbers stay whole; any other number may have decimals in a later run. */
const ID_FIELD = /(?:^id|Id)$/;
/** PostgreSQL takes 65 535 values in a statement, SQLite 32 766. */
const MAX_VALUES = 30_000;
const MAX_ROWS = 500;
/** MariaDB takes 16 MiB in a statement by default. */
const MAX_CHARACTERS = 1_000_000;

interface WriteOptions {
  readonly table: string;
  readonly create: boolean;
  readonly location: string;
  readonly content: Omit<FileContent, 'file'>;
}

class TableWriter {
  readonly #session: DatabaseSession;
  readonly #dialect: Dialect;
  readonly #options: WriteOptions;
  readonly #parts: readonly string[];

  constructor(session: DatabaseSession, options: WriteOptions) {
    this.#session = session;
    this.#dialect = DIALECTS[session.kind];
    this.#options = options;
    this.#parts = partsOf(session, options.table);
  }

  get #table(): string {
    return this.#parts.map(quoted).join('.');
  }

  get #shape(): RowShape {
    return this.#options.content.shape;
  }

  async write(): Promise<Written> {
    const types = await columnTypes(this.#shape.columns.length, this.#rows('types'));
    // Before the transaction, which the definition of a table would end in MySQL.
    const known = await columnsOf(this.#session, this.#parts);
    const kept = this.#shape.columns.map((name) => known.get(folded(this.#session, name)));
    const begun = await this.#prepareTable(types, kept, known.size > 0);
    await this.#session.run(this.#dialect.begin);
    let lines = 0;
    for await (const rows of this.#rows('content')) {
      for (const part of this.#statements(rows, types, kept)) {
        await this.#session.run(this.#insert(part.length / this.#shape.columns.length), part);
      }
      lines += rows.length;
    }
    await this.#session.run('COMMIT');
    return { lines, bytes: 0, notes: [], ...(begun && { begun }) };
  }

  async *#rows(pass: TablePass): AsyncGenerator<(readonly TypedCell[])[]> {
    const { items, signal } = this.#options.content;
    for await (const batch of items(pass)) {
      signal.throwIfAborted();
      yield batch.map((item) => this.#shape.cells(item));
    }
  }

  /** True if the table was created, else undefined. `kept` has the columns that are there. */
  async #prepareTable(
    types: readonly (ColumnType | undefined)[],
    kept: readonly (KeptDigits | undefined)[],
    isThere: boolean,
  ): Promise<true | undefined> {
    const { columns } = this.#shape;
    const { maxNameBytes } = this.#dialect;
    const long = columns.find((name) => Buffer.byteLength(name) > maxNameBytes);
    if (long !== undefined)
      throw this.#error(
        `The name of the column ${long} is longer than ${maxNameBytes} bytes.`,
        'Name it otherwise: { path: …, as: … } under columns of the job.',
      );
    const { create } = this.#options;
    const lacking = columns.filter((_, index) => kept[index] === undefined);
    if (!isThere && !create)
      throw this.#error(
        'There is no such table.',
        'Set `create: true` under destination in the job, or create it.',
      );
    if (lacking.length > 0 && !create)
      throw this.#error(
        `The table has no column ${lacking.slice(0, 5).join(', ')}.`,
        'Add it, set `create: true` under destination in the job, or name the columns that the table has under `columns`.',
      );
    const definition = (name: string) =>
      `${quoted(name)} ${this.#typeOf(name, types[columns.indexOf(name)])}`;
    if (!isThere) {
      const key = this.#shape.keyColumns.map(quoted).join(', ');
      const all = columns.map(definition).join(', ');
      await this.#session.run(
        `CREATE TABLE ${this.#table} (${all}, PRIMARY KEY (${key}))${this.#dialect.tableSuffix}`,
      );
      return true;
    }
    for (const name of lacking)
      await this.#session.run(`ALTER TABLE ${this.#table} ADD COLUMN ${definition(name)}`);
    this.#refuseRounding(types, kept);
    await this.#refuseOtherKeys();
    return undefined;
  }

  /** PostgreSQL and MySQL round what a column cannot keep, without a word. */
  #refuseRounding(
    types: readonly (ColumnType | undefined)[],
    kept: readonly (KeptDigits | undefined)[],
  ): void {
    for (const [index, name] of this.#shape.columns.entries()) {
      const type = types[index];
      const { scale } = kept[index] ?? {};
      if (type?.kind !== 'number' || scale === undefined || type.scale <= scale) continue;
      throw this.#error(
        `The column ${name} keeps ${scale} decimals, and a number has ${type.scale}.`,
        'Give the column a type with more decimals.',
      );
    }
  }

  /** MySQL updates by any unique key: without one there would be copies, and with another one a different row could change. */
  async #refuseOtherKeys(): Promise<void> {
    if (this.#session.kind !== 'mysql') return;
    const rows = await this.#session.run(
      'SELECT index_name, column_name FROM information_schema.statistics WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ? AND non_unique = 0',
      schemaAndName(this.#parts),
    );
    const indexes = Map.groupBy(rows, ([index]) => index);
    const key = sorted(this.#shape.keyColumns.map((name) => folded(this.#session, name)));
    const written = new Set(this.#shape.columns.map((name) => folded(this.#session, name)));
    let hasKey = false;
    for (const [index, parts] of indexes) {
      const columns = parts.map(([, column]) => folded(this.#session, column));
      if (sorted(columns) === key) hasKey = true;
      else if (columns.every((column) => written.has(column)))
        throw this.#error(
          `The unique index ${index} has other columns than ${this.#shape.keyColumns.join(', ')}: a row could replace another one.`,
          'Make it an index that is not unique.',
        );
    }
    if (!hasKey)
      throw this.#error(
        `The table has no unique key of ${this.#shape.keyColumns.join(', ')}, by which rows are updated.`,
        'Make it the primary key.',
      );
  }

  #typeOf(name: string, type: ColumnType | undefined): string {
    const { types } = this.#dialect;
    const isKey = this.#shape.keyColumns.includes(name);
    if (type === undefined || type.kind === 'text') return isKey ? types.keyText : types.text;
    if (type.kind !== 'number') return types[type.kind];
    const isId = type.scale === 0 && (isKey || ID_FIELD.test(name));
    if (isId) return type.digits > MAX_DIGITS.whole ? types.long : types.whole;
    const isExact = this.#session.kind !== 'sqlite' || type.digits + type.scale <= MAX_DIGITS.real;
    if (!isExact) return types.text;
    return this.#session.kind === 'mysql' && type.scale > MIN_SCALE
      ? `decimal(65,${Math.min(type.scale, 30)})`
      : types.decimal;
  }

  /** The values of as many rows as a statement takes, one after the other; of rows with one key the last one. */
  *#statements(
    rows: readonly (readonly TypedCell[])[],
    types: readonly (ColumnType | undefined)[],
    kept: readonly (KeptDigits | undefined)[],
  ): Generator<(string | null)[]> {
    const { columns, keyColumns } = this.#shape;
    const keyPlaces = keyColumns.map((name) => columns.indexOf(name));
    const byKey = new Map<string, (string | null)[]>();
    for (const cells of rows) {
      const values = cells.map((cell, index) => this.#valueOf(cell, types[index]));
      for (const [index, value] of values.entries()) {
        const loss = lossOf(value, kept[index]);
        if (loss !== undefined)
          throw this.#error(
            `The column ${columns[index]} ${loss}; nothing was written.`,
            `Give the column a type that keeps all digits, such as ${this.#session.kind === 'postgres' ? 'text' : 'TEXT'}.`,
          );
      }
      const key = keyPlaces.map((place) => values[place] ?? '');
      if (key.includes(''))
        throw this.#error(
          `A row has no ${keyColumns.join(' and ')}, by which rows are updated; nothing was written.`,
          'Choose a file as destination.',
        );
      byKey.set(lineKey(key), values);
    }
    const maxRows = Math.max(1, Math.min(MAX_ROWS, Math.floor(MAX_VALUES / columns.length)));
    let part: (string | null)[] = [];
    let characters = 0;
    for (const values of byKey.values()) {
      const length = sumOf(values, (value) => value?.length ?? 0);
      const isFull = part.length >= maxRows * columns.length || characters + length > MAX_CHARACTERS;
      if (part.length > 0 && isFull) {
        yield part;
        part = [];
        characters = 0;
      }
      part.push(...values);
      characters += length;
    }
    if (part.length > 0) yield part;
  }

  #valueOf(cell: TypedCell, type: ColumnType | undefined): string | null {
    if (cell === null || cell === '') return null;
    const { bools, timeText } = this.#dialect;
    if (type?.kind === 'boolean' && typeof cell === 'boolean') return bools[cell ? 1 : 0];
    if (cell instanceof Date) return timeText(cell);
    // No database keeps half of a surrogate pair, and PostgreSQL no NUL character.
    return cellAsText(cell).replaceAll('\0', '\ufffd').toWellFormed();
  }

  #insert(rows: number): string {
    const { columns, keyColumns } = this.#shape;
    const { placeholder, onConflict } = this.#dialect;
    const others = columns.filter((name) => !keyColumns.includes(name));
    const tuples = Array.from({ length: rows }, (_, row) => {
      const places = columns.map((_name, column) => placeholder(row * columns.length + column + 1));
      return `(${places.join(', ')})`;
    });
    const names = columns.map(quoted).join(', ');
    return `INSERT INTO ${this.#table} (${names}) VALUES ${tuples.join(', ')} ${onConflict(keyColumns, others)}`;
  }

  #error(message: string, hint: string): DestinationError {
    return new DestinationError(`${this.#options.location}: ${message}`, { hint });
  }
}

/** What a column keeps of a number; undefined: all. */
interface KeptDigits {
  /** Decimals. */
  readonly scale: number | undefined;
  readonly digits: number | undefined;
  /** Of a number without decimals. */
  readonly wholeDigits: number | undefined;
}

/** The columns of a table; none where there is no such table. */
async function columnsOf(
  session: DatabaseSession,
  parts: readonly string[],
): Promise<ReadonlyMap<string, KeptDigits>> {
  const { sql, values } = DIALECTS[session.kind].columnsOf(parts);
  const rows = await session.run(sql, values);
  const count = (value: string | null | undefined) =>
    value === null || value === undefined ? undefined : Number(value);
  return new Map(
    rows.map(([name, scale, digits, wholeDigits]) => [
      folded(session, name),
      { scale: count(scale), digits: count(digits), wholeDigits: count(wholeDigits) },
    ]),
  );
}

/** What a column of numbers would lose of a value, for a sentence about it. */
function lossOf(value: string | null, kept: KeptDigits | undefined) {
  const { scale, digits, wholeDigits = digits } = kept ?? {};
  if (value === null || (scale ?? digits) === undefined) return undefined;
  // Such as a postcode.
  if (/^0\d+(?:\.\d+)?$/.test(value)) return 'is one of numbers, and a value begins with 0';
  if (digits === undefined || wholeDigits === undefined || value.length <= digits) return undefined;
  const [, , whole, decimals = ''] = DECIMAL_NUMBER.exec(value) ?? [];
  if (whole === undefined) return undefined;
  const exact = decimals.replace(/(?<!0)0+$/, '');
  const significant = `${whole}${exact}`.replace(/^0+/, '');
  return significant.length <= (exact === '' ? wholeDigits : digits)
    ? undefined
    : `keeps ${digits} digits, and a number has more`;
}

/** The schema, if it is named, and the table. */
function partsOf({ kind }: DatabaseSession, table: string): readonly string[] {
  return kind === 'sqlite' ? [table] : table.split('.');
}

/** Names of columns: PostgreSQL alone distinguishes upper and lower case. */
function folded({ kind }: DatabaseSession, name: string | null | undefined) {
  return kind === 'postgres' ? String(name) : String(name).toLowerCase();
}

function quoted(name: string) {
  return `"${name.replaceAll('"', '""')}"`;
}

function sorted(names: readonly string[]) {
  return lineKey(names.toSorted());
}

function schemaAndName(parts: readonly string[]) {
  return parts.length > 1 ? [parts[0] ?? null, parts.slice(1).join('.')] : [null, parts[0] ?? ''];
}

/** SQLITE_BUSY and SQLITE_LOCKED: another process writes. */
const TRANSIENT_CODES = new Set([5, 6]);
/** SQLITE_CONSTRAINT_TRIGGER. */
const BY_TRIGGER = 1811;
/** Who may read a new database, and a new folder for it. */
const OWN_RIGHTS = { file: 0o600, folder: 0o700 };

/**
 * A session of a SQLite file, which is made first if `create` is set, and else must be there. It waits for no lock: a locked file is a
 * transient failure.
 */
async function sqliteSession(path: string, create: boolean): Promise<DatabaseSession> {
  if (create) await makeFile(path);
  else if ((await found(stat(path))) === undefined)
    // SQLite would make it, for everybody to read.
    throw new RemoteFailure('absent', 'there is no such file', {
      hint: 'Correct the path, set `create: true` under destination in the job, or create it.',
    });
  // Loaded on first use.
  const { DatabaseSync } = await import('node:sqlite');
  const database = failing(() => {
    const opened = new DatabaseSync(path, { timeout: 0 });
    opened.exec('PRAGMA trusted_schema = OFF');
    return opened;
  });
  return {
    kind: 'sqlite',
    run: async (sql, values = []) =>
      failing(() => {
        const statement = database.prepare(sql);
        statement.setReturnArrays(true);
        const rows: readonly unknown[] = statement.all(...values);
        return rows.map((row) => (Array.isArray(row) ? row.map(textOrNull) : []));
      }),
    async [Symbol.asyncDispose]() {
      database.close();
    },
  };
}

async function makeFile(path: string) {
  try {
    await makeFolders(dirname(path), OWN_RIGHTS.folder);
    await (await openFile(path, 'wx', OWN_RIGHTS.file)).close();
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EEXIST') return;
    throw new RemoteFailure('permanent', code === undefined ? messageOf(error) : fileErrorText(code), {
      cause: error,
    });
  }
}

function textOrNull(value: unknown) {
  return value === null ? null : String(value);
}

function failing<T>(action: () => T) {
  try {
    return action();
  } catch (error) {
    const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0;
    // What a trigger says may quote values of a row.
    const message = code === BY_TRIGGER ? 'a trigger refuses a row' : messageOf(error);
    throw new RemoteFailure(
      TRANSIENT_CODES.has(code & 0xff) ? 'transient' : 'permanent',
      `SQLite answered: ${message}`,
    );
  }
}
