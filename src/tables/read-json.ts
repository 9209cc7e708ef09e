import { TextDecoder } from 'node:util';
import { getManyValues, type Many, none } from 'stream-chain/defs.js';
import { jsonParser, type Token } from 'stream-json/core/parser.js';
import { LineSplitter, rowPlace } from '../model/row.ts';
import { SourceError } from '../model/storeferry-error.ts';
import { collectRecordPaths, MAX_BESIDE_LENGTH, type RecordPaths } from './record-paths.ts';
import { type ObjectPlace, type RecordsAsRows, recordsAsRows } from './records-as-rows.ts';
import {
  recordsIn,
  refuseRowBytes,
  type TableFile,
  type TableReader,
  type TableRow,
  tableError,
  tableLimitError,
} from './table-file.ts';

/**
 * Reads the records of a JSON file as a stream: the objects at the path `records`, in arrays or alone; without a path
 * those of the outermost array, or the outermost object if it is one record. In JSON Lines each line is a record. Numbers keep their written digits, those below 1e11 without an exponent.
 */
export async function readJson(file: TableFile): Promise<TableReader> {
  const rows = recordsAsRows(file);
  if (file.format === 'jsonl') return makeReader(file, readLines(file, rows), () => rows);
  const single = recordsAsRows(file);
  const repeated = collectRecordPaths();
  const read = readRecords(file, rows, single, repeated);
  return { ...makeReader(file, read, () => (single.count > 0 ? single : rows)), beside: repeated.beside };
}

function makeReader(
  file: TableFile,
  batches: TableReader['batches'],
  rows: () => RecordsAsRows,
): TableReader {
  return { batches, title: () => recordsIn(file.choice).path ?? '', header: () => rows().header };
}

/** `single` gets the outermost object as its record, if that has several values and no lists of objects, and is not large. */
async function* readRecords(
  file: TableFile,
  rows: RecordsAsRows,
  single: RecordsAsRows,
  repeated: RecordPaths,
): AsyncGenerator<readonly TableRow[]> {
  const { path } = recordsIn(file.choice);
  const recordWalker = documentWalker(rows, file, path ?? '', repeated);
  const singleWalker = documentWalker(single, file, '', collectRecordPaths(), true);
  let found: 'open' | 'records' | 'single' = path === undefined ? 'open' : 'records';
  for await (const tokens of readTokens(file)) {
    for (const token of tokens) {
      if (found !== 'single') recordWalker.take(token);
      if (found === 'records') continue;
      singleWalker.take(token);
      if (found === 'single') continue;
      if (rows.isOpen || !repeated.isEmpty || single.isLarge) found = 'records';
      else if (single.count > 0) found = single.header.length > 1 ? 'single' : 'records';
      if (found === 'records') single.clear();
    }
    yield found === 'single' ? single.take() : rows.take();
  }
  const read = found === 'single' ? single : rows;
  if (read.count > 0) {
    (found === 'single' ? singleWalker : recordWalker).refuseNonObjects();
    return read.refuseWithoutInner();
  }
  if (recordWalker.hasEmptyList()) return;
  const where = path === undefined ? 'in its outermost array' : `at \`${path}\``;
  throw repeated.tableChoiceError(
    file,
    `The JSON file has no records ${where}.`,
    'Set `records` in the source of the job to the path of the records, such as `data.products`.',
  );
}

/** Text is parsed in pieces of at most this many characters, because an error can only name the lines of its piece. */
const PIECE_CHARACTERS = 4096;

/** The tokens of each piece of input. */
async function* readTokens(file: TableFile): AsyncGenerator<readonly Token[]> {
  const parse = tokenizer();
  let sinceToken = 0;
  const at = { line: 1, column: 1 };
  const parsed = (text: string | typeof none) => {
    try {
      return parse(text);
    } catch (cause) {
      const end = text === none ? at : advancePlace(text, at);
      const [lines, columns] = [`${at.line} to ${end.line}`, `${at.column} to ${end.column}`];
      const place = end.line > at.line ? `lines ${lines}` : `line ${at.line}, columns ${columns}`;
      throw syntaxError(file, cause, text === none ? 'at its end' : `in ${place}`);
    }
  };
  for await (const whole of decodeText(file)) {
    for (const text of splitPieces(whole)) {
      const tokens = parsed(text);
      sinceToken = tokens.length > 0 ? 0 : sinceToken + text.length;
      if (sinceToken > file.limits.rowBytes) throw tableLimitError(file, 'rowBytes');
      yield tokens;
      Object.assign(at, advancePlace(text, at));
    }
  }
  yield parsed(none);
}

/** Splits a text at ends of lines, and a long line also within. */
function* splitPieces(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const lineEnd = text.lastIndexOf('\n', from + PIECE_CHARACTERS - 1) + 1;
    const end = lineEnd > from ? lineEnd : from + PIECE_CHARACTERS;
    yield text.slice(from, end);
    from = end;
  }
}

interface JsonPlace {
  readonly line: number;
  readonly column: number;
}

function advancePlace(text: string, { line, column }: JsonPlace): JsonPlace {
  const lineStart = text.lastIndexOf('\n') + 1;
  const breaks = lineStart === 0 ? 0 : text.split('\n').length - 1;
  return { line: line + breaks, column: (breaks > 0 ? 1 : column) + text.length - lineStart };
}

/** Texts come in pieces, so that a long one can be refused before it fills memory; keys and numbers come whole. */
function tokenizer(): (text: string | typeof none) => readonly Token[] {
  const parse = jsonParser({
    packStrings: false,
    streamKeys: false,
    streamNumbers: false,
    jsonStreaming: true,
  });
  return (text) => {
    // The types of the parser do not say that `none` ends the input.
    const tokens: Many<Token> | typeof none = Reflect.apply(parse, undefined, [text]);
    return tokens === none ? [] : getManyValues(tokens);
  };
}

/** The column of a line at which parsing fails. */
function findErrorColumn(line: string) {
  const parse = tokenizer();
  let column = 1;
  for (const character of line) {
    try {
      parse(character);
    } catch {
      break;
    }
    column += 1;
  }
  return column;
}

async function* decodeText(file: TableFile): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const chunk of file.content()) yield decoder.decode(chunk, { stream: true });
    yield decoder.decode();
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw tableError(file, 'The JSON file is not UTF-8.', 'Export it again: JSON is always UTF-8.', cause);
  }
}

function syntaxError(file: TableFile, cause: unknown, where: string) {
  const why =
    cause instanceof Error
      ? cause.message.replace(/^Parser (?:cannot parse input: |has )?/, '').replace(/\.$/, '')
      : '';
  return tableError(
    file,
    `The JSON is broken ${where}: ${why}.`,
    'The file may be incomplete: export it again.',
    cause,
  );
}

/** An open object or array: its path (outside of records without the arrays), and whether it is a record. */
interface OpenValue {
  readonly isArray: boolean;
  readonly path: string;
  readonly isRecord: boolean;
  /** The innermost object of a list that it is or is in. */
  readonly object: ObjectPlace | undefined;
}

/**
 * Follows the tokens of a document, and converts the content of records to rows. `outermost`: the outermost objects are the records.
 * `line`, in its methods: the line of the record, if the file has one record per line.
 */
function documentWalker(
  rows: RecordsAsRows,
  file: TableFile,
  recordPath: string,
  repeated: RecordPaths,
  outermost = file.format === 'jsonl',
) {
  const records = recordPath.replaceAll('[]', '');
  const open: OpenValue[] = [];
  let key: string | undefined;
  let text = '';
  /** The arrays at the path of the records, those within another one included. */
  let lists = 0;
  /** The number of records before the first value among them that is not an object. */
  let recordsBeforeNonObject: number | undefined;

  /** The path of the value that is next: within a record from the record, otherwise from the document. */
  const nextPath = () => {
    const parent = open.at(-1);
    if (parent === undefined) return '';
    if (key === undefined) return parent.path;
    const before = parent.isRecord ? '' : parent.path;
    return before === '' ? key : `${before}.${key}`;
  };
  const takePath = () => {
    const path = nextPath();
    key = undefined;
    return path;
  };
  const begin = (isArray: boolean, line: number | undefined) => {
    const { isArray: inArray = false, object } = open.at(-1) ?? {};
    const path = takePath();
    if (open.length >= MAX_DEPTH) {
      throw tableError(
        file,
        `Record ${line ?? rows.count + 1} of the JSON file has more than ${MAX_DEPTH} levels of lists and objects.`,
        'Export the file again with fewer levels.',
      );
    }
    if (rows.isOpen) {
      // The objects of an array: `images[].url`.
      const within = !isArray && inArray ? `${path}[]` : path;
      const isInner = !isArray && rows.isInner(within);
      if (isInner) rows.beginInner();
      const own = within === path ? object : rows.nextObject(within);
      open.push({ isArray, path: within, isRecord: false, object: isInner ? undefined : own });
      return;
    }
    if (!isArray) repeated.add(path, inArray);
    else if (path === records) lists += 1;
    // The outermost object is a record only in JSON Lines; otherwise it contains the records.
    const isRecord = !isArray && path === records && (path !== '' || inArray || outermost);
    if (isRecord) rows.begin();
    open.push({ isArray, path, isRecord, object: undefined });
  };
  const end = (line: number | undefined) => {
    const ended = open.pop();
    if (ended?.isRecord === true) rows.end(line);
    else if (ended?.isArray === false && rows.isInner(ended.path)) rows.endInner();
  };
  const put = (value: string) => {
    const parent = open.at(-1);
    const path = takePath();
    if (rows.isOpen) rows.put(path === '' ? 'value' : path, value, parent?.object);
    else if (parent === undefined ? outermost : parent.isArray && path === records)
      recordsBeforeNonObject ??= rows.count;
    else repeated.addLeaf(path, open.some(({ isArray }) => isArray) ? '' : value);
  };
  return {
    /** Whether there is one list of records, and it has nothing, no lists either: an export without changes. */
    hasEmptyList: () => lists === 1 && recordsBeforeNonObject === undefined && rows.count === 0,
    /** SourceError if a value among the records is not an object: otherwise it would be lost silently. */
    refuseNonObjects(line?: number) {
      if (recordsBeforeNonObject === undefined) return;
      const title = recordsIn(file.choice).path ?? '';
      const where =
        line === undefined
          ? `\`${rowPlace(recordsBeforeNonObject + 1, undefined, { format: 'json', title, letters: {} })}\` is`
          : `Line ${line} is`;
      throw tableError(
        file,
        `${where} not an object: expected a record with column names, such as {"sku": "A-1"}.`,
        'Export the file as a list of objects.',
      );
    },
    take(token: Token, line?: number) {
      switch (token.name) {
        case 'startObject':
        case 'startArray':
          begin(token.name === 'startArray', line);
          break;
        case 'endObject':
        case 'endArray':
          end(line);
          break;
        case 'keyValue':
          key = token.value;
          break;
        case 'startString':
          text = '';
          break;
        case 'stringChunk':
          if (rows.isOpen || text.length <= MAX_BESIDE_LENGTH) text += token.value;
          if (text.length > file.limits.cellBytes)
            throw tableLimitError(file, 'cellBytes', { line: rows.count + 1, column: nextPath() });
          break;
        case 'endString':
          put(text);
          break;
        case 'numberValue':
          put(withoutExponent(token.value));
          break;
        case 'trueValue':
        case 'falseValue':
          put(String(token.value));
          break;
        case 'nullValue':
          put('');
          break;
        default:
      }
    },
  };
}

const MAX_DEPTH = 200;

/** From here on spreadsheets shorten numbers. */
const MIN_SHORTENED = 1e11;

/** `10` for `1e1`, and `0` for `0E-8`, which some programs write. A number that may be a shortened code looks like one, and is refused like one. */
function withoutExponent(written: string) {
  if (!/e/i.test(written)) return written;
  const number = Number(written);
  const size = Math.abs(number);
  return (size >= 1e-6 && size < MIN_SHORTENED) || /^-?0[.0]*e/i.test(written)
    ? String(number)
    : written.replace(/e\+?(?=\d)/i, 'E+');
}

async function* readLines(file: TableFile, rows: RecordsAsRows): AsyncGenerator<readonly TableRow[]> {
  if (recordsIn(file.choice).path !== undefined) {
    throw tableError(
      file,
      'The file is JSON Lines: each line is a record, and a path to records does not apply.',
      'Remove `records` from the source of the job.',
    );
  }
  const lineWalker = documentWalker(rows, file, '', collectRecordPaths());
  const splitter = new LineSplitter();
  let line = 0;
  const take = (text: string) => {
    line += 1;
    if (text.trim() === '') return;
    const parse = tokenizer();
    try {
      for (const part of [text, none] as const) for (const token of parse(part)) lineWalker.take(token, line);
    } catch (cause) {
      if (cause instanceof SourceError) throw cause;
      throw syntaxError(file, cause, `in line ${line}, column ${findErrorColumn(text)}`);
    }
    lineWalker.refuseNonObjects(line);
  };
  for await (const text of decodeText(file)) {
    for (const ended of splitter.take(text)) take(ended);
    refuseRowBytes(file, splitter.rest.length, line + 1);
    yield rows.take();
  }
  take(splitter.rest);
  yield rows.take();
  if (rows.count > 0) rows.refuseWithoutInner();
}
