import type { FastifyInstance } from 'fastify';

/** Our forms are smaller. */
const FORM_LIMIT_BYTES = 64 * 1_024;

/** The fields of a form; the first of each name. Empty for any other body. */
export type FormFields = Readonly<Record<string, string | undefined>>;

/** Reads only bodies of forms: JSON and text are refused with 415. */
export function readForms(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: FORM_LIMIT_BYTES },
    (_request, text, done) => {
      const fields: Record<string, string> = Object.create(null);
      for (const [name, value] of new URLSearchParams(text.toString())) fields[name] ??= value;
      done(null, fields);
    },
  );
}

/** The fields of a parsed body. */
export function formFields(body: unknown): FormFields {
  if (typeof body !== 'object' || body === null) return {};
  return Object.fromEntries(Object.entries(body).filter(([, value]) => typeof value === 'string'));
}
