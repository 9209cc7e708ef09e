import { CONTACT_TEXT_FIELDS, type Resource } from '../../model/mapped-record.ts';
import { hidden } from '../../model/masked.ts';
import type { FieldChanges } from '../../model/plan.ts';
import type { FieldChange } from './field-changes.ts';

/** A page shows all of them, a terminal the first three. */
const SAMPLES_KEPT = 10;

interface OpenField {
  records: number;
  samples: FieldChanges['samples'][number][];
}

/** Counts over all records which fields differ, and keeps the first few old and new values of each. */
export class ChangeTally {
  readonly #resource: Resource;
  readonly #fields = new Map<string, OpenField>();
  readonly #emptied = new Map<string, number>();

  constructor(resource: Resource) {
    this.#resource = resource;
  }

  /**
   * Counts the differences, and returns whether any of them can be sent: the API cannot empty a contact's field
   * (section 4.2), so if nothing else differs there is nothing to send.
   */
  add(key: string, changes: readonly FieldChange[]): boolean {
    let sendable = false;
    for (const change of changes) {
      if (this.#isEmptied(change)) {
        this.#emptied.set(change.field, (this.#emptied.get(change.field) ?? 0) + 1);
        continue;
      }
      sendable = true;
      const field = this.#fieldNamed(change.field);
      field.records++;
      if (field.samples.length < SAMPLES_KEPT) field.samples.push(sampleOf(this.#resource, key, change));
    }
    return sendable;
  }

  /**
   * A removed field of a contact. One of several custom properties is not such a field: the others are sent and
   * replace all.
   */
  #isEmptied(change: FieldChange): boolean {
    return (
      this.#resource === 'contacts' && change.new === undefined && !change.field.startsWith('properties.')
    );
  }

  /** Most frequent first. */
  changes(): FieldChanges[] {
    return [...this.#fields]
      .map(([field, { records, samples }]) => ({ field, records, samples }))
      .sort((a, b) => b.records - a.records);
  }

  /** Contact fields that the last acknowledged body had and the new one lacks: the store keeps them. */
  emptied(): { field: string; records: number }[] {
    return [...this.#emptied]
      .map(([field, records]) => ({ field, records }))
      .sort((a, b) => b.records - a.records);
  }

  #fieldNamed(name: string): OpenField {
    const known = this.#fields.get(name);
    if (known !== undefined) return known;
    const field: OpenField = { records: 0, samples: [] };
    this.#fields.set(name, field);
    return field;
  }
}

const SAMPLE_LENGTH = 60;
/** How much of the common beginning is shown before the first difference. */
const LEAD_IN = 12;
const personalFields = new Set<string>(CONTACT_TEXT_FIELDS);

/** An old and a new value, shortened to a line: long texts are cut to the part where they begin to differ. */
export function sampleOf(
  resource: Resource,
  key: string,
  change: FieldChange,
): FieldChanges['samples'][number] {
  const personal =
    resource === 'contacts' && (personalFields.has(change.field) || change.field.startsWith('properties'));
  const render = (value: unknown) => (personal ? hidden(textOf(value)) : textOf(value));
  const old = change.old === undefined ? null : render(change.old);
  const now = change.new === undefined ? null : render(change.new);
  const from = old === null || now === null ? 0 : differsAt(old, now);
  return { key, old: excerpt(old, from), new: excerpt(now, from) };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
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
