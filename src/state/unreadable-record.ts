import { z } from 'zod';
import { parsedJson, type Stored } from '../model/json-object.ts';
import { reasonSchema, refusalSchema } from '../model/reason.ts';
import { tablePlacesSchema } from '../model/row.ts';
import { changedIdSchema, type Run, runSchema } from '../model/run.ts';
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

/**
 * A kind of record that the state stores as JSON, and checks when it reads it: UnreadableRecord describes the problem and uses the name.
 */
function storedRecord<Type>(what: string, schema: z.ZodType<Type>): (json: string, name: string) => Type {
  return (json, name) => {
    const value = parsedJson(json);
    if (value === undefined) throw new UnreadableRecord(what, name, 'it is not JSON');
    const { data, error } = schema.safeParse(value);
    if (error === undefined) return data;
    // Neither values nor the names within them are quoted, because their content is unknown.
    const [issue] = error.issues;
    const problem = `field '${String(issue?.path[0] ?? '')}': ${issue?.message ?? 'another shape'}`;
    throw new UnreadableRecord(what, name, problem);
  };
}

const parseAnyRun = storedRecord('run', runSchema);
/** A record that the store refused. */
export const parseRefusal = storedRecord('refused record', refusalSchema);
/** Why a record was rejected or not sent. */
export const parseReason = storedRecord('reason', reasonSchema);
export const parseChangedId = storedRecord('changed id', changedIdSchema);

/** The run with this id; UnreadableRecord for another one too. */
export function parseRun(json: string, id: string): Run {
  const run = parseAnyRun(json, id);
  if (run.id === id) return run;
  throw new UnreadableRecord('run', id, 'it says that it is another one');
}

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
