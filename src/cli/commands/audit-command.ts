import { auditWords, storedAuditEntries } from '../../model/action.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { isoTime } from '../../report/run-summary.ts';
import { verifyAuditChain } from '../../state/state.ts';
import { counted, printable } from '../../text/printable.ts';
import { requiredArgument, text, unknownAction } from '../define-command.ts';
import { defineStateCommand } from '../define-state-command.ts';

/** `storeferry audit`: verifies the chain of the audit log, or prints the log as it is stored. */
export const auditCommand = defineStateCommand({
  arguments: { action: requiredArgument('verify or export') },
  options: { known: text('hash', 'with verify: an earlier hash, which must still be in the log') },
  notes: `verify names the first entry that was altered, that follows a missing one, or that is in another place: exit code 1.
Who can write the state can also write the whole chain again: note the printed hash elsewhere, and give it to --known.
export prints one JSON object per entry, the oldest first. Its "hash" is the SHA-256 of the line without that key,
"previous" the hash of the line before.`,
  examples: ['audit verify', 'audit verify --known HASH --json', 'audit export'],
  json: '`{"entries","from","to","hash","unchained","fault"}`: `hash` of the newest entry, `unchained` entries before the chain, `fault`: null or the first: `kind` (`altered`, `missing`, `reordered`, or `unknown` for the hash of `--known`), `number` (from the oldest entry) and `entry`',
  withoutThread: true,
  check({ action }, { known }) {
    if (action !== 'verify' && action !== 'export')
      throw unknownAction('audit', action, 'Type: storeferry audit verify, or storeferry audit export');
    if (action === 'export' && known !== undefined) throw new UsageError('--known is for audit verify.');
  },
  async run({ context }, { action }, { known }) {
    const stored = await context.state.audit.stored();
    if (action === 'export') return { text: stored.map((entry) => `${entry}\n`).join(''), isData: true };
    const { fault: chainFault, hashes, unchained } = verifyAuditChain(stored);
    const isUnknown = known !== undefined && !hashes.includes(known.toLowerCase());
    const fault = chainFault ?? (isUnknown ? { kind: 'unknown' as const, number: null } : null);
    const ends = storedAuditEntries([...stored.slice(0, 1), ...stored.slice(-1)]);
    const [from = null, to = from] = ends.map(({ at }) => isoTime(at));
    const [entry = null] =
      chainFault === undefined ? [] : storedAuditEntries([stored[chainFault.number - 1] ?? '']);
    const hash = hashes.at(-1) ?? null;
    const shown = fault && { ...fault, entry: entry && { ...entry, at: isoTime(entry.at) } };
    const json = { entries: stored.length, from, to, hash, unchained, fault: shown };
    if (fault === null) {
      const whole = `The audit log is whole: ${counted(stored.length, 'entry', 'entries')}`;
      const newest = hash === null ? '' : ` from ${from} to ${to}.\nHash of the newest: ${hash}`;
      const older = unchained > 0 ? `\nThe oldest ${unchained} are from before entries had hashes.` : '';
      return { json, text: `${whole}${newest || '.'}${older}\n` };
    }
    const what =
      entry === null
        ? ''
        : ` (${isoTime(entry.at)}, ${entry.who}: ${[auditWords(entry), entry.job, entry.run].filter(Boolean).join(' ')})`;
    const named = `Entry ${fault.number} of ${stored.length}${printable(what)}`;
    const sentences = {
      altered: `${named} was altered after it was written.`,
      missing: `${named} follows an entry that is no longer in the log.`,
      reordered: `${named} is not in its place, or the one before it is not.`,
      unknown:
        'No entry has the hash of --known: the newest entries were removed, the log was written again, or the entry was removed by its age.',
    };
    return { json, text: `${sentences[fault.kind]}\n`, code: 1 };
  },
});
