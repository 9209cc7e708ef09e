import { CONTACT_TEXT_FIELDS, type Resource } from '../../model/mapped-record.ts';
import type { ChangeSample } from '../../model/plan.ts';
import type { FieldChange } from './field-change.ts';

const SAMPLE_LENGTH = 60;
/** How much of what both values begin with is shown before the first difference. */
const LEAD_IN = 12;

const personalFields = new Set<string>(CONTACT_TEXT_FIELDS);

/** An old and a new value, short enough for a line: long texts are cut to where they begin to differ. */
export function sampleOf(resource: Resource, key: string, change: FieldChange): ChangeSample {
  const personal =
    resource === 'contacts' && (personalFields.has(change.field) || change.field.startsWith('properties'));
  const render = (value: unknown) => (personal ? masked(textOf(value)) : textOf(value));
  const old = change.old === undefined ? null : render(change.old);
  const now = change.new === undefined ? null : render(change.new);
  const from = old === null || now === null ? 0 : differsAt(old, now);
  return { key, old: excerpt(old, from), new: excerpt(now, from) };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Keeps the shape and hides the person: `anna@example.com` is `a•••@e••••••.c••`. */
function masked(text: string): string {
  return text.replaceAll(/(?<=[\p{L}\p{N}\p{M}])[\p{L}\p{N}\p{M}]/gu, '•');
}

function differsAt(old: string, now: string): number {
  let at = 0;
  while (at < old.length && at < now.length && old[at] === now[at]) at++;
  return at;
}

function excerpt(text: string | null, differsFrom: number): string | null {
  if (text === null || text.length <= SAMPLE_LENGTH) return text;
  const from = differsFrom <= LEAD_IN * 2 ? 0 : differsFrom - LEAD_IN;
  const cut = text.slice(from, from + SAMPLE_LENGTH).toWellFormed();
  return `${from > 0 ? '…' : ''}${cut}${from + SAMPLE_LENGTH < text.length ? '…' : ''}`;
}
