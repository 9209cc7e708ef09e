import { jobFile } from '../../model/run.ts';
import { counted, grouped, listed, truncate } from '../../text/printable.ts';
import { isOnlyPlanned, type RunFacts } from '../run-facts.ts';
import { type Block, foreign, paragraph, type Section, styled, type Words } from '../section.ts';
import { resourceNoun } from '../status-words.ts';

/** Keys that a sentence names. */
const KEYS_NAMED = 10;
const MAX_KEY_LENGTH = 60;

/** What an undo does not restore, and that the next run sends again what then differs from the source; null for other runs. */
export function undoSection(facts: RunFacts): Section | null {
  const { run, plan } = facts;
  const undo = plan?.undo;
  if (plan === null || undo === undefined) return null;
  const { recreated, kept, left } = undo;
  const would = isOnlyPlanned(facts);
  const one = resourceNoun(run.resource);
  const returned = recreated.examples.map(({ key, id }) => (id === null ? key : `${key} (was ${id})`));
  const items = left.map(({ message, records, keys }) => ({
    words: [
      `${counted(records, one)} left as ${records === 1 ? 'it is' : 'they are'}: `,
      foreign(message),
      ' (',
      foreign(namesOf(keys, records)),
      ')',
    ],
  }));
  const notes = [
    recreated.records > 0 && [
      `${counted(recreated.records, `deleted ${one}`)} ${would ? 'would return' : 'returned'} under ${recreated.records === 1 ? 'a new id' : 'new ids'}: `,
      foreign(namesOf(returned, recreated.records)),
      '.',
    ],
    plan.counts.deletes > 0 &&
      `Deleted are ${one}s that the run sent for the first time. Whether the store had them before is not known.`,
    kept.length > 0 &&
      `The run added fields (${listed(kept.map(({ field, records }) => `${field} in ${counted(records, one)}`))}): they may stay, because the API does not empty a field that a request leaves out.`,
    undo.hasNoJob !== true && sourceWords(run.job, undo.schedule),
  ];
  const blocks: Block[] = [paragraph(notes)];
  if (items.length > 0) blocks.unshift({ kind: 'list', style: 'notes', title: 'Not undone', items });
  return { id: 'undo', title: `Undo of run ${undo.of}`, blocks };
}

function namesOf(keys: readonly string[], records: number) {
  const shown = keys.slice(0, KEYS_NAMED).map((key) => truncate(key, MAX_KEY_LENGTH));
  const more = records - shown.length;
  return listed(more > 0 ? [...shown, `${grouped(more)} more`] : shown);
}

/** The source stays as it is. */
function sourceWords(job: string, schedule: string | null): Words {
  const again = `The source stays as it is: the next run of ${job} sends again what then differs from it.`;
  if (schedule === null) return `${again} To avoid this, correct the source first.`;
  return [
    `${again} To avoid this, correct the source first, or pause the schedule: tick Paused on the page Edit of the job in the dashboard, or put # before each line of \`schedule\` in `,
    styled('code', jobFile(job)),
    '.',
  ];
}
