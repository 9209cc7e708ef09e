import { withoutAbsent } from '../../model/json-object.ts';
import { forgotten, type Run, type Verification } from '../../model/run.ts';
import { counted, formatShare, grouped, listed, resourceNoun, wasOrWere } from '../../text/printable.ts';
import type { RunFacts } from '../run-facts.ts';
import { type Section, table } from '../section.ts';

const FIELDS_NAMED = 5;

/** The figures of a verification; null for all other runs. */
export function verificationSection({ run, totals }: RunFacts): Section | null {
  if (run.verification === undefined) return null;
  const { sampled, known, asKnown, recreated, altered, rejected, unsent } = run.verification;
  const row = (name: string, figure: number, note = '') => [name, grouped(figure), note];
  return {
    id: 'records',
    title: 'What the store still has',
    blocks: [
      table(
        'The answers of the store to the sample',
        ['Answer', ['Records', 'numeric'], ['What it means', 'bare']],
        withoutAbsent([
          row('sampled', sampled, `of ${grouped(known)} known`),
          row('as known', asKnown, 'the same id, and the fields that were sent'),
          row('recreated', recreated, 'another id than the ledger has'),
          row('altered', altered, 'the same id, other fields than were sent'),
          row('rejected', rejected),
          unsent > 0 && row('unsent', unsent),
          row('requests', totals.requests),
        ]),
      ),
    ],
  };
}

/** What a verification found, in one sentence, and what its sample proves about all known records. */
export function verificationHeadline(
  found: Verification,
  { resource, status }: Pick<Run, 'resource' | 'status'>,
): { readonly sentence: string; readonly explanation: readonly string[] } {
  const judged = judgedOf(found);
  const ended = status === 'done' ? '' : `${status === 'interrupted' ? 'Interrupted' : 'Failed'}. `;
  if (judged === 0)
    return { sentence: `${ended}No answer shows which records the store still has.`, explanation: [] };
  const lost = forgotten(found);
  const of = counted(judged, resourceNoun(resource));
  const otherIds = resource === 'contacts' ? '' : ', or had another id there';
  const gone =
    lost === 0
      ? 'none was missing from the store'
      : `${grouped(lost)} ${wasOrWere(lost)} missing from the store${otherIds}`;
  return { sentence: `${ended}Of ${of} sent again, ${gone}.`, explanation: [shareSentence(found, resource)] };
}

/** How many answers show whether the store still has the record. */
function judgedOf({ asKnown, altered, recreated, missing }: Verification): number {
  return asKnown + altered + recreated + missing;
}

/** The conclusion from the sample about all known records. */
function shareSentence(found: Verification, resource: Run['resource']): string {
  const { known, forgottenShare: share } = found;
  const all = counted(known, `known ${resourceNoun(resource)}`);
  if (judgedOf(found) === known) return `These were all ${all}: the figure is exact.`;
  const bound = (part: number) =>
    `${grouped(Math.round(part * known))} (${formatShare(part * known, known)})`;
  const at = 'With 95% confidence';
  if (forgotten(found) === 0) return `${at} at most ${bound(share.high)} of all ${all} are missing.`;
  if (share.high === 1) return `${at} at least ${bound(share.low)} of all ${all} are missing.`;
  return `${at} between ${bound(share.low)} and ${bound(share.high)} of all ${all} are missing.`;
}

/** Notes for the reader of the figures, one sentence each. */
export function verificationNotes(found: Verification, resource: Run['resource']): string[] {
  const { altered, alteredFields, missing, rejected, notComparable } = found;
  const things = `${resourceNoun(resource)}s`;
  const fields = alteredFields
    .slice(0, FIELDS_NAMED)
    .map(({ field, records }) => `${field} (${grouped(records)})`);
  const more = alteredFields.length > FIELDS_NAMED ? ' and others' : '';
  return withoutAbsent([
    altered > 0 &&
      `${counted(altered, 'answer')} ${altered === 1 ? 'has' : 'have'} other values than were sent: ${listed(fields)}${more}. The store changes or ignores these values; sending them again does not help.`,
    missing > 0 &&
      `${counted(missing, 'contact')} not found: the API cannot create contacts. Create them in the store and correct their ids in the crosswalk.`,
    rejected > missing &&
      `${counted(rejected - missing, 'record')} refused for another reason; this does not show whether the store still has them.`,
    notComparable > 0 &&
      `${counted(notComparable, `further ${resourceNoun(resource)}`)} of this job cannot be verified, because they are in doubt or have no id. The next run sends records in doubt again.`,
    `A verification sends ${things} with their values, so it cannot show whether the store had older values${resource === 'contacts' ? '' : `, or whether deleted ${things} are in the store again`}. After a restore, always run the job with --resend.`,
  ]);
}
