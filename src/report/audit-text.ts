import { AUDITED_ACTIONS, type AuditEntry } from '../model/audit-entry.ts';
import { Page, type PageOptions } from './document-text.ts';
import { isoTime } from './run-summary.ts';

/** Entries of the audit log, one per line, in the given order. */
export function auditText(entries: readonly AuditEntry[], options: PageOptions): string {
  const page = new Page(options);
  if (entries.length === 0) {
    page.say('The audit log has no such entry.');
    return page.toString();
  }
  page.table(
    ['when', 'who', 'by', 'did', 'job', 'run'],
    entries.map((entry) => ({
      cells: [isoTime(entry.at), entry.who, entry.by, auditWords(entry), entry.job ?? '', auditedRun(entry)],
      tone: entry.outcome === 'refused' ? 'warning' : 'strong',
    })),
  );
  return page.toString();
}

/** What somebody did, in words; an action that was refused by its name. */
export function auditWords({ action, outcome }: AuditEntry): string {
  return outcome === 'refused' ? `${action}: refused` : AUDITED_ACTIONS[action];
}

/** `b2b2c3d4, of k3v9x2ab`. */
function auditedRun({ run, of }: AuditEntry): string {
  return of === null ? (run ?? '') : `${run ?? '?'}, of ${of}`;
}

/** An entry for programs: the time as ISO 8601. */
export function listedEntry({ at, ...entry }: AuditEntry): Omit<AuditEntry, 'at'> & { readonly at: string } {
  return { at: isoTime(at), ...entry };
}
