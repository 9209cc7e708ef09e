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

/** A media type object of OpenAPI. */
export function jsonContent(schema: unknown): Readonly<Record<string, unknown>> {
  return { content: { 'application/json': { schema } } };
}
