import type { z } from 'zod';

/** A request as a route sees it: authorised, its body parsed as JSON. */
export interface Call {
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

/** What a route answers: a status and JSON, whole as text or in pieces. */
export interface Answer {
  readonly status: number;
  readonly json: string | Iterable<string>;
}

/** One method of one path, with what the OpenAPI document says of it. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** As the router has it: `/api/site/contacts/:id`. */
  readonly path: string;
  readonly summary: string;
  /** The name of the schema of its answer in the document; `Contact[]` for a list. */
  readonly answers: string;
  /** That of its body. */
  readonly takes?: string;
  readonly query?: z.ZodObject;
  handle(call: Call): Answer;
}

/** Defines a route. */
export function route(
  method: Route['method'],
  path: string,
  summary: string,
  answers: string,
  handle: Route['handle'],
  more: Pick<Route, 'takes' | 'query'> = {},
): Route {
  return { method, path, summary, answers, handle, ...more };
}

/** An answer whose JSON text is still to be made. */
export function answer(status: number, body: unknown): Answer {
  return { status, json: JSON.stringify(body) };
}

/** The error body of storefront-api.md, section 2. */
export function refusalAnswer(status: number, message: string): Answer {
  return answer(status, { success: false, message });
}

/** The id in a path, or undefined when it is no positive whole number that could be one. */
function idOf(call: Call): number | undefined {
  const { id = '' } = call.params;
  return /^[0-9]{1,15}$/.test(id) ? Number(id) : undefined;
}

/** 404: the record of an address, or of a query, is not there. */
export function notFoundAnswer(): Answer {
  return refusalAnswer(404, 'Resource not found: no such record');
}

/** The record that a call names, as JSON text. */
export function answerRecord(call: Call, read: (id: number) => string | undefined): Answer {
  const id = idOf(call);
  const json = id === undefined ? undefined : read(id);
  return json === undefined ? notFoundAnswer() : { status: 200, json };
}

/** The answer to a delete of the record that a call names. */
export function answerDelete(call: Call, remove: (id: number) => boolean): Answer {
  const id = idOf(call);
  return id !== undefined && remove(id) ? answer(200, { success: true, message: '' }) : notFoundAnswer();
}

/** Handles a call whose body fits a schema. */
export function withBody<Value>(
  schema: z.ZodType<Value>,
  { body }: Call,
  handle: (value: Value) => Answer,
): Answer {
  return withInput(schema, body, 'body', handle);
}

/** Handles a call whose query fits a schema. */
export function withQuery<Value>(
  schema: z.ZodType<Value>,
  { query }: Call,
  handle: (value: Value) => Answer,
): Answer {
  return withInput(schema, query, 'query', handle);
}

const ISSUES_SHOWN = 5;

/** Checks input against a schema, and refuses what does not fit; `whole` names the input itself. Values are not quoted. */
function withInput<Value>(
  schema: z.ZodType<Value>,
  input: unknown,
  whole: string,
  handle: (value: Value) => Answer,
): Answer {
  const { success, data, error } = schema.safeParse(input);
  if (success) return handle(data);
  const shown = error.issues.slice(0, ISSUES_SHOWN).map((issue) => {
    const place = pathText(issue.path) || whole;
    return `${place}: ${issue.message.replace(/^Invalid input: /, '')}`;
  });
  const more = error.issues.length - shown.length;
  return refusalAnswer(422, `${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}`);
}

/** `variants[2].price`. */
function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((step, index) =>
      typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${String(step)}`,
    )
    .join('');
}
