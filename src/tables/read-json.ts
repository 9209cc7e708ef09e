import { TextDecoder } from 'node:util';
import { getManyValues, type Many, none } from 'stream-chain/defs.js';
import { jsonParser, type Token } from 'stream-json/core/parser.js';
import { RecordsAsRows, RepeatedPaths } from './records-as-rows.ts';
import {
  type TableFile,
  type TableReader,
  type TableRow,
  tableError,
  tableLimitError,
} from './table-file.ts';

/**
 * Reads the records of a JSON file as a stream: the objects at the path `records`, in arrays or alone; without a path
 * those of the outermost array. In JSON Lines each line is a record. Numbers keep their written digits.
 */
export async function readJson(file: TableFile): Promise<TableReader> {
  const rows = new RecordsAsRows(file);
  return {
    batches: file.format === 'jsonl' ? linesOf(file, rows) : recordsOf(file, rows),
    title: () => file.choice.records ?? '',
    header: () => rows.header,
  };
}

async function* recordsOf(file: TableFile, rows: RecordsAsRows): AsyncGenerator<readonly TableRow[]> {
  const repeated = new RepeatedPaths();
  const walker = new Walker(rows, file, file.choice.records ?? '', repeated);
  for await (const tokens of tokensOf(file)) {
    for (const token of tokens) walker.take(token);
    yield rows.take();
  }
  yield rows.take();
  if (rows.count > 0) return;
  const where =
    file.choice.records === undefined ? 'in its outermost array' : `at \`${file.choice.records}\``;
  throw repeated.unclear(
    file,
    `The JSON file has no records ${where}.`,
    'Set `records` in the source of the job to the path of the records, such as `data.products`.',
  );
}

/** The tokens of each piece of input. */
async function* tokensOf(file: TableFile): AsyncGenerator<readonly Token[]> {
  const parse = tokenizer(file);
  let sinceToken = 0;
  for await (const text of textOf(file)) {
    const tokens = parse(text);
    sinceToken = tokens.length > 0 ? 0 : sinceToken + text.length;
    if (sinceToken > file.limits.rowBytes) throw tableLimitError(file, 'rowBytes');
    yield tokens;
  }
  yield parse(none);
}

/** Texts come in pieces, so that a long one can be refused before it fills memory; keys and numbers come whole. */
function tokenizer(file: TableFile, line?: number): (text: string | typeof none) => readonly Token[] {
  const parse = jsonParser({ packStrings: false, streamKeys: false, streamNumbers: false });
  return (text) => {
    try {
      // The types of the parser do not say that `none` ends the input.
      const tokens: Many<Token> | typeof none = Reflect.apply(parse, undefined, [text]);
      return tokens === none ? [] : getManyValues(tokens);
    } catch (cause) {
      throw broken(file, cause, line);
    }
  };
}

async function* textOf(file: TableFile): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const chunk of file.content()) yield decoder.decode(chunk, { stream: true });
    yield decoder.decode();
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw tableError(file, 'The JSON file is not UTF-8.', 'Export it again: JSON is always UTF-8.', cause);
  }
}

function broken(file: TableFile, cause: unknown, line?: number) {
  const why =
    cause instanceof Error
      ? cause.message.replace(/^Parser (?:cannot parse input: )?/, '').replace(/\.$/, '')
      : '';
  return tableError(
    file,
    `The JSON is broken${line === undefined ? '' : ` in line ${line}`}: ${why}.`,
    'The file may be incomplete: export it again.',
    cause,
  );
}

/** Follows the tokens of a document, and converts the content of records to rows. */
class Walker {
  readonly #rows: RecordsAsRows;
  readonly #file: TableFile;
  readonly #records: string;
  readonly #repeated: RepeatedPaths;
  /** For each open object or array: its path (arrays left out before records begin), and whether it is a record. */
  readonly #open: { readonly isArray: boolean; readonly path: string; readonly isRecord: boolean }[] = [];
  #key: string | undefined;
  #text: string | undefined;
  /** The line of the record, if the file has one record per line. */
  line: number | undefined;

  constructor(rows: RecordsAsRows, file: TableFile, records: string, repeated: RepeatedPaths) {
    this.#rows = rows;
    this.#file = file;
    this.#records = records.replaceAll('[]', '');
    this.#repeated = repeated;
  }

  take(token: Token): void {
    switch (token.name) {
      case 'startObject':
      case 'startArray':
        this.#begin(token.name === 'startArray');
        break;
      case 'endObject':
      case 'endArray':
        if (this.#open.pop()?.isRecord === true) this.#rows.end(this.line);
        break;
      case 'keyValue':
        this.#key = token.value;
        break;
      case 'startString':
        this.#text = '';
        break;
      case 'stringChunk':
        if (this.#rows.isOpen) this.#text += token.value;
        if ((this.#text?.length ?? 0) > this.#file.limits.cellBytes) {
          throw tableLimitError(this.#file, 'cellBytes', {
            line: this.#rows.count + 1,
            column: this.#pathOf(this.#key),
          });
        }
        break;
      case 'endString':
        this.#value(this.#text ?? '');
        break;
      case 'numberValue':
        this.#value(token.value);
        break;
      case 'trueValue':
      case 'falseValue':
        this.#value(String(token.value));
        break;
      case 'nullValue':
        this.#value('');
        break;
      default:
    }
  }

  /** The path of the value that begins: within a record from the record, otherwise from the document. */
  #path(): string {
    const path = this.#pathOf(this.#key);
    this.#key = undefined;
    return path;
  }

  #pathOf(key: string | undefined): string {
    const parent = this.#open.at(-1);
    if (parent === undefined) return '';
    if (key === undefined) return parent.path;
    const before = parent.isRecord ? '' : parent.path;
    return before === '' ? key : `${before}.${key}`;
  }

  #begin(isArray: boolean): void {
    const inArray = this.#open.at(-1)?.isArray === true;
    const path = this.#path();
    if (this.#open.length >= DEEPEST) throw broken(this.#file, new Error(`more than ${DEEPEST} levels`));
    if (this.#rows.isOpen) {
      // The objects of an array: `images[].url`.
      const within = !isArray && inArray ? `${path}[]` : path;
      this.#open.push({ isArray, path: within, isRecord: false });
      return;
    }
    if (!isArray && inArray) this.#repeated.add(path);
    // The outermost object is a record only in JSON Lines; otherwise it contains the records.
    const isRecord =
      !isArray && path === this.#records && (path !== '' || inArray || this.#file.format === 'jsonl');
    if (isRecord) this.#rows.begin();
    this.#open.push({ isArray, path, isRecord });
  }

  #value(text: string): void {
    this.#text = undefined;
    const path = this.#path();
    if (this.#rows.isOpen) this.#rows.put(path === '' ? 'value' : path, text);
  }
}

const DEEPEST = 200;

async function* linesOf(file: TableFile, rows: RecordsAsRows): AsyncGenerator<readonly TableRow[]> {
  if (file.choice.records !== undefined) {
    throw tableError(
      file,
      'The file is JSON Lines: each line is a record, and a path to records does not apply.',
      'Remove `records` from the source of the job.',
    );
  }
  const walker = new Walker(rows, file, '', new RepeatedPaths());
  let rest = '';
  let line = 0;
  const take = (text: string) => {
    line += 1;
    if (text.trim() === '') return;
    walker.line = line;
    const parse = tokenizer(file, line);
    for (const token of parse(text)) walker.take(token);
    for (const token of parse(none)) walker.take(token);
  };
  for await (const text of textOf(file)) {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) take(part);
    if (rest.length > file.limits.rowBytes) throw tableLimitError(file, 'rowBytes', { line: line + 1 });
    yield rows.take();
  }
  take(rest);
  yield rows.take();
}
