import { describe, expect, it } from 'vitest';
import { type AuditEntry, findAudited } from '../../src/model/action.ts';
import { verifyAuditChain } from '../../src/state/chain-audit-entry.ts';
import { AUDIT_KEPT_MS, MAX_AUDIT_ENTRIES } from '../../src/state/state.ts';
import type { Opening } from './child.ts';
import { twoProcesses } from './two-processes.ts';

const AT = AUDIT_KEPT_MS * 2;

function entry(changes: Partial<AuditEntry> = {}): AuditEntry {
  return {
    ...{ at: AT, who: 'deploy@shop1', by: 'command', action: 'run', job: 'nightly', run: 'k3v9' },
    ...{ of: null, outcome: 'done', ...changes },
  };
}

/** The audit log, however it is kept. */
export function describeAudit(fresh: () => Promise<Opening>): void {
  describe('the audit log', () => {
    const processes = twoProcesses(fresh);

    it('has the newest entries first, equal ones too, and finds those of a run and a job', async () => {
      const { audit } = processes.state;
      const approval = entry({ at: AT + 1, action: 'approve', run: 'b2b2', of: 'k3v9' });
      const refused = entry({ at: AT + 2, job: 'weekly@uk', run: null, outcome: 'refused' });
      for (const each of [entry(), entry(), approval, refused]) await audit.append(each);
      expect(await audit.newest(0, 10)).toMatchObject([refused, approval, entry(), entry()]);
      expect(await audit.newest(1, 1)).toMatchObject([approval]);
      expect(await findAudited(audit, { run: 'k3v9', limit: 2 })).toMatchObject([approval, entry()]);
      expect(await findAudited(audit, { job: 'weekly', limit: 9 })).toMatchObject([refused]);
    });

    it('forgets entries after their time', async () => {
      const { audit } = processes.state;
      await audit.append(entry({ who: 'old', at: AT }));
      await audit.append(entry({ who: 'kept', at: AT + 1 }));
      await audit.append(entry({ who: 'new', at: AT + 1 + AUDIT_KEPT_MS }));
      const left = await findAudited(audit, { limit: MAX_AUDIT_ENTRIES });
      expect(left.map(({ who }) => who)).toEqual(['new', 'kept']);
    });

    it('is one chain, though two processes append at the same time', async () => {
      const { state, other } = processes;
      const appended = Array.from({ length: 20 }, () => [
        state.audit.append(entry()),
        other.audit.append(entry()),
      ]);
      await Promise.all(appended.flat());
      const { fault, hashes } = verifyAuditChain(await state.audit.stored());
      expect(fault).toBeUndefined();
      expect(new Set(hashes).size).toBe(40);
    });

    it('stays a chain where a clock was set back, and where the oldest entries are forgotten', async () => {
      const { audit } = processes.state;
      await audit.append(entry({ who: 'old' }));
      for (const at of [AT + 1, AT - AUDIT_KEPT_MS, AT + 1]) await audit.append(entry({ at }));
      await audit.append(entry({ at: AT + 1 + AUDIT_KEPT_MS, who: 'new' }));
      const stored = await audit.stored();
      expect(stored).toHaveLength(4);
      expect(stored.at(-1)).toContain('new');
      expect(verifyAuditChain(stored).fault).toBeUndefined();
    });
  });
}
