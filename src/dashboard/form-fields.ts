import type { FastifyInstance } from 'fastify';

/** Larger than any form of the dashboard, except those with rows of a source. */
const FORM_LIMIT_BYTES = 64 * 1_024;

/** The fields of a form; of repeated names the first. Empty for any other body. */
export type FormFields = Readonly<Record<string, string | undefined>>;

/** Accepts only form bodies up to a size: JSON and text are refused with 415. */
export function readForms(app: FastifyInstance, bodyLimit = FORM_LIMIT_BYTES): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit },
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
