import { MIN_RECORDS_FOR_SHARE } from '../../model/guard.ts';
import { withoutAbsent } from '../../model/json-object.ts';
import type { GuardFinding } from '../../model/plan.ts';
import type { EditedFound } from '../../model/run.ts';
import { type JudgedWave, priceText, stoppedWave, waveSizes } from '../../model/safety-limits.ts';
import { counted, grouped, listed } from '../../text/printable.ts';
import { isOnlyPlanned, type RunFacts } from '../run-facts.ts';
import { foreign, paragraph, recordKey, type Section, styled, table, type Words } from '../section.ts';
import { changeWords, sampleValue } from './fields-section.ts';

/** What the guards of the job have found, with old and new values; null if they found nothing. */
export function heldSection({ run, plan, totals }: RunFacts): Section | null {
  const hit = plan?.guards.filter(({ records }) => records > 0) ?? [];
  if (hit.length === 0) return null;
  const warned = hit.some(({ action, isTriggered }) => action === 'warn' && isTriggered);
  const parts = withoutAbsent([
    totals.held > 0 && `${counted(totals.held, 'record')} held`,
    warned && 'look at the values below',
  ]);
  return {
    id: 'held',
    title: parts.length === 0 ? 'Guards' : `Guards: ${listed(parts)}`,
    blocks: [
      table(
        'The values that guards of the job have found, with samples',
        ['Guard', ['Records', 'bare', 'leads'], ['Values: old → new', 'bare']],
        hit.map((finding) => ({
          ...(!finding.isTriggered && { tone: 'quiet' as const }),
          cells: [
            styled('text', foreign(finding.guard, 160)),
            `${grouped(finding.records)} of ${grouped(finding.of)}, ${effectOf(finding, run)}`,
            { as: 'samples', items: finding.examples.map(exampleWords) },
          ],
        })),
      ),
    ],
  };
}

/** What a guard does to what it has found. */
function effectOf({ action, isTriggered, share, of }: GuardFinding, { approved }: RunFacts['run']) {
  if (isTriggered) return action === 'stop' && approved ? 'approved by a person' : ACTIONS[action];
  return of < MIN_RECORDS_FOR_SHARE ? `too few for its share of ${share}%` : `within its share of ${share}%`;
}

const ACTIONS = { hold: 'held', stop: 'stops the run', warn: 'only a warning' } as const satisfies Readonly<
  Record<GuardFinding['action'], string>
>;

function exampleWords({ key, what, field, old, new: now }: GuardFinding['examples'][number]) {
  const name = [recordKey(key), what !== null && [' (', foreign(what, 60), ')']];
  return changeWords(name, valueWords(field, old), valueWords(field, now));
}

function valueWords(field: string, value: string | number | boolean | null) {
  if (typeof value === 'number' && /price/i.test(field)) return priceText(value);
  return sampleValue(value === null ? null : String(value));
}

/** What is known of edits in the store: of the plan, and when the run has ended also what its answers have shown. */
export function editedFacts({
  run,
  plan,
}: Pick<RunFacts, 'run'> & Partial<Pick<RunFacts, 'plan'>>): EditedFound | null {
  return run.edited ?? plan?.edited ?? null;
}

/** Fields that somebody edited in the store, and what becomes of them; null if none is known. */
export function editedSection(facts: RunFacts): Section | null {
  const found = editedFacts(facts);
  const replaces = facts.plan?.replacesEdits === true;
  if (found === null && !replaces) return null;
  const { kept, held, overwritten, records } = found ?? { kept: 0, held: 0, overwritten: 0, records: [] };
  const parts = withoutAbsent([
    kept > 0 && `${counted(kept, 'record')} kept`,
    held > 0 && `${held} held`,
    overwritten > 0 && `${overwritten} overwritten`,
  ]);
  return {
    id: 'edited',
    title: parts.length === 0 ? 'Edited in the store' : `Edited in the store: ${listed(parts)}`,
    blocks: [
      paragraph([
        replaces &&
          styled(
            'tone-warning',
            `The store replaces whole products: what somebody edited there ${isOnlyPlanned(facts) ? 'will be' : 'is'} overwritten.`,
          ),
        held > 0 && 'Held records have a field that was changed in the store and in the source.',
        records.some(({ how, fields }) => how === 'held' && fields.includes('url')) &&
          'Sending those with another url there would create second products: change the url back in the store, or in the source.',
      ]),
      table(
        'Records that somebody edited in the store',
        ['Record', ['Edit', 'bare', 'leads'], ['Fields', 'bare']],
        records.map(({ key, how, fields }) => ({
          ...(how !== 'kept' && { tone: 'warning' as const }),
          cells: [recordKey(key), how, listed(fields)],
        })),
        { more: 'record' },
      ),
    ],
  };
}

/** The waves in which a plan is sent, and what the store answered to each; null if it is sent in one go. */
export function wavesSection({ run, plan }: RunFacts): Section | null {
  const sizes = plan === null ? [] : waveSizes(plan.shards);
  if (plan === null || sizes.length === 0) return null;
  const judged = run.waves ?? [];
  const noun = plan.resource === 'products' ? 'Products' : 'Contacts';
  const stopped = stoppedWave(run);
  const title =
    stopped === undefined
      ? `Waves: ${grouped(sizes.length)}`
      : `Waves: stopped after ${stopped.number} of ${sizes.length}`;
  return {
    id: 'waves',
    title,
    blocks: [
      table(
        'The waves of this run, and the answers to each',
        ['Wave', [noun, 'numeric'], ['Answers', 'bare']],
        sizes.map((records, index) => {
          const wave = judged[index];
          return {
            ...(wave?.stop != null && { tone: 'bad' as const }),
            cells: [`Wave ${index + 1}`, grouped(records), answersWords(wave, index + 1 < sizes.length)],
          };
        }),
      ),
    ],
  };
}

function answersWords(wave: JudgedWave | undefined, isFollowed: boolean): Words {
  if (wave === undefined) return isFollowed ? 'judged before the next is sent' : 'the rest';
  const { rejected, unsent, compared, altered, stop, approved } = wave;
  const found = listed([
    `${grouped(rejected)} rejected`,
    `${grouped(unsent)} unsent`,
    `${grouped(altered)} of ${counted(compared, 'answer')} changed`,
  ]);
  if (stop === null) return `${found}: within the limits`;
  return `${found}: ${approved ? 'approved by a person' : 'the run stopped here'}`;
}
