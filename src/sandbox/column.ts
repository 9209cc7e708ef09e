import type { SQLOutputValue } from 'node:sqlite';
import { StateError } from '../model/errors.ts';

const DAMAGED = { hint: 'Name another folder with --data, or remove this one.' };

type SqlRow = Readonly<Record<string, SQLOutputValue>>;

/** The value of a TEXT column; StateError when the database holds something else. */
export function textColumn(row: SqlRow, name: string): string {
  const value = row[name];
  if (typeof value === 'string') return value;
  throw new StateError(`The sandbox's database is damaged: column ${name} should hold text`, DAMAGED);
}

/** The value of a numeric column; StateError when the database holds something else. */
export function numberColumn(row: SqlRow, name: string): number {
  const value = row[name];
  if (typeof value === 'number') return value;
  throw new StateError(`The sandbox's database is damaged: column ${name} should hold a number`, DAMAGED);
}
