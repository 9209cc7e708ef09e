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

/** One method of one path, with its part of the OpenAPI document beside it. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** As the router has it: `/api/site/contacts/:id`. */
  readonly path: string;
  /** The OpenAPI operation: summary, parameters, request body, responses; what is common to all is added later. */
  readonly operation: Readonly<Record<string, unknown>>;
  handle(call: Call): Answer;
}

/** An answer whose JSON text is still to be made. */
export function answer(status: number, body: unknown): Answer {
  return { status, json: JSON.stringify(body) };
}

/** The error body of storefront-api.md, section 2. */
export function refuse(status: number, message: string): Answer {
  return answer(status, { success: false, message });
}

/** The id in a path, or undefined when it is no positive whole number that could be one. */
export function idOf(call: Call): number | undefined {
  const { id = '' } = call.params;
  return /^[0-9]{1,15}$/.test(id) ? Number(id) : undefined;
}

/** A media type object of OpenAPI, with a schema of the document by its name. */
export function jsonOf(name: string): Readonly<Record<string, unknown>> {
  return { content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } } };
}

/** The same for a list. */
export function jsonListOf(name: string): Readonly<Record<string, unknown>> {
  const schema = { type: 'array', items: { $ref: `#/components/schemas/${name}` } };
  return { content: { 'application/json': { schema } } };
}

const ISSUES_SHOWN = 5;

/** The checked input, or a message that names each wrong field with its path. */
type Checked<Value> = { readonly value: Value } | { readonly message: string };

/** Checks input against a schema; `whole` names the input itself in messages. Values are not quoted. */
export function check<Value>(schema: z.ZodType<Value>, input: unknown, whole: string): Checked<Value> {
  const { success, data, error } = schema.safeParse(input);
  if (success) return { value: data };
  const shown = error.issues.slice(0, ISSUES_SHOWN).map((issue) => {
    const place = pathText(issue.path) || whole;
    return `${place}: ${issue.message.replace(/^Invalid input: /, '')}`;
  });
  const more = error.issues.length - shown.length;
  return { message: `${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}` };
}

/** `variants[2].price`. */
function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((step, index) =>
      typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${String(step)}`,
    )
    .join('');
}
