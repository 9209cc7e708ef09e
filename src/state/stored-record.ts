import { z } from 'zod';
import { parsedJson, type Stored } from '../model/json-object.ts';
import { reasonSchema, refusalSchema } from '../model/reason.ts';
import { tablePlacesSchema } from '../model/row.ts';
import { changedIdSchema, runSchema } from '../model/run.ts';
import { StateError } from '../model/storeferry-error.ts';

/** A record of the state that is damaged, or that another program or version wrote. */
export class UnreadableRecord extends StateError {
  constructor(what: string, name: string, problem: string) {
    // Another program may have chosen the name, so it is shortened and escaped.
    const shown = JSON.stringify(name.slice(0, 60)).slice(1, -1);
    super(`The stored ${what} ${shown} cannot be read: ${problem}.`, {
      hint: 'It is damaged, or another program or version wrote it.',
    });
  }
}

/** A kind of record that the state stores as JSON, and checks when it reads it. */
export class StoredRecord<Type> {
  readonly #what: string;
  readonly schema: z.ZodType<Type>;

  constructor(what: string, schema: z.ZodType<Type>) {
    this.#what = what;
    this.schema = schema;
  }

  /** The record in a JSON text; UnreadableRecord describes the problem and uses `name`. */
  parse(json: string, name: string): Type {
    const value = parsedJson(json);
    if (value === undefined) throw new UnreadableRecord(this.#what, name, 'it is not JSON');
    return this.check(value, name);
  }

  /** The same for a parsed value. */
  check(value: unknown, name: string): Type {
    const { data, error } = this.schema.safeParse(value);
    if (error === undefined) return data;
    // Neither values nor the names within them are quoted, because their content is unknown.
    const [issue] = error.issues;
    const problem = `field '${String(issue?.path[0] ?? '')}': ${issue?.message ?? 'another shape'}`;
    throw new UnreadableRecord(this.#what, name, problem);
  }
}

export const storedRun = new StoredRecord('run', runSchema);
/** A record that the store refused. */
export const storedRefusal = new StoredRecord('refused record', refusalSchema);
/** Why a record was rejected or not sent. */
export const storedReason = new StoredRecord('reason', reasonSchema);
export const storedChangedId = new StoredRecord('changed id', changedIdSchema);

/** A run of the history: kept for as long as its versions, longer than the run itself. */
const historyRunSchema = z.object({
  id: z.string(),
  job: z.string(),
  /** When it began to send, in milliseconds since the epoch. */
  at: z.number(),
  /** The files of its source, which spans refer to by their position. */
  files: z.array(z.object({ name: z.string(), places: tablePlacesSchema.exactOptional() })),
});
export type HistoryRun = Stored<typeof historyRunSchema>;

/** A run of the history as it is stored; undefined where it is damaged. */
export function storedHistoryRun(json: string): HistoryRun | undefined {
  return historyRunSchema.safeParse(parsedJson(json)).data;
}
