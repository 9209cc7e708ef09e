import type { DatabaseSync } from 'node:sqlite';
import type { LedgerTarget } from '../state.ts';
import { integer, text } from './columns.ts';

/** The numbers under which targets and jobs stand in the large tables. */
export interface Names {
  /** The target's number; undefined while nothing was written for it. */
  findTarget(target: LedgerTarget): number | undefined;
  target(target: LedgerTarget): number;
  job(name: string): number;
  jobName(number: number): string;
}

/** Numbers are given once and never change, so each is asked for once. */
export function createNames(database: DatabaseSync): Names {
  const selectTarget = database.prepare('SELECT number FROM targets WHERE store_id = ? AND resource = ?');
  const insertTarget = database.prepare('INSERT OR IGNORE INTO targets (store_id, resource) VALUES (?, ?)');
  const selectJob = database.prepare('SELECT number FROM jobs WHERE name = ?');
  const insertJob = database.prepare('INSERT OR IGNORE INTO jobs (name) VALUES (?)');
  const selectJobName = database.prepare('SELECT name FROM jobs WHERE number = ?');
  const jobNames = new Map<number, string>();

  const findTarget = ({ storeId, resource }: LedgerTarget) => {
    const number = selectTarget.get(storeId, resource)?.['number'];
    return number === undefined ? undefined : integer(number, 'targets.number');
  };
  return {
    findTarget,
    target(target) {
      const known = findTarget(target);
      if (known !== undefined) return known;
      return Number(insertTarget.run(target.storeId, target.resource).lastInsertRowid);
    },
    job(name) {
      const known = selectJob.get(name)?.['number'];
      return known === undefined
        ? Number(insertJob.run(name).lastInsertRowid)
        : integer(known, 'jobs.number');
    },
    jobName(number) {
      const known = jobNames.get(number);
      if (known !== undefined) return known;
      const name = text(selectJobName.get(number)?.['name'], 'jobs.name');
      jobNames.set(number, name);
      return name;
    },
  };
}
