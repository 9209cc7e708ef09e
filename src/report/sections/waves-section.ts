import { type JudgedWave, stoppedWave, waveSizes } from '../../model/wave-limits.ts';
import { counted, grouped, listed } from '../../text/printable.ts';
import type { RunFacts } from '../run-facts.ts';
import { type Section, table, type Words } from '../section.ts';

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
