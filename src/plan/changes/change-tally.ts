import type { Resource } from '../../model/mapped-record.ts';
import type { ChangeSample, FieldChanges } from '../../model/plan.ts';
import type { FieldChange } from './field-change.ts';
import { sampleOf } from './value-samples.ts';

interface OpenField {
  records: number;
  samples: ChangeSample[];
}

/** A page shows them all, a terminal the first three. */
const SAMPLES_KEPT = 10;

/** Counts over all records which fields differ, and keeps the first few old and new values of each. */
export class ChangeTally {
  readonly #resource: Resource;
  readonly #fields = new Map<string, OpenField>();
  readonly #emptied = new Map<string, number>();

  constructor(resource: Resource) {
    this.#resource = resource;
  }

  /**
   * Counts what differs, and gives whether any of it can be sent: a contact's field cannot be emptied through the API
   * (section 4.2), so where nothing else differs there is nothing to send.
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

  /** A field of a contact that is gone. One property of several is no field: the others are sent, and replace all. */
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

  /** Contact fields that the last acknowledged body had and the new one has not: the store keeps them. */
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
