import type { ChangeSample, FieldChanges } from '../model/plan.ts';
import type { Resource } from '../model/record.ts';
import type { FieldChange } from './field-change.ts';
import { sampleOf } from './value-samples.ts';

interface OpenField {
  records: number;
  samples: ChangeSample[];
}

const SAMPLES_KEPT = 3;

/** Counts over all changed records which fields differ, and keeps the first few old and new values of each. */
export class ChangeTally {
  readonly #resource: Resource;
  readonly #fields = new Map<string, OpenField>();
  readonly #emptied = new Map<string, number>();

  constructor(resource: Resource) {
    this.#resource = resource;
  }

  add(key: string, changes: readonly FieldChange[]): void {
    for (const change of changes) {
      const field = this.#fieldNamed(change.field);
      field.records++;
      if (field.samples.length < SAMPLES_KEPT) field.samples.push(sampleOf(this.#resource, key, change));
      if (this.#resource === 'contacts' && change.new === undefined) {
        this.#emptied.set(change.field, (this.#emptied.get(change.field) ?? 0) + 1);
      }
    }
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
