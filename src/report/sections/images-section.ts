import type { ImageFindings, ImageProblem } from '../../model/plan.ts';
import { counted, grouped, listed } from '../../text/printable.ts';
import type { RunFacts } from '../run-facts.ts';
import { columns, foreign, type Section, type Table, type Words } from '../section.ts';

/** Image addresses that were looked at while the plan was made; null if the job asks for no check. */
export function imagesSection({ plan }: RunFacts): Section | null {
  const images = plan?.images;
  if (images === undefined || images.addresses === 0) return null;
  const { broken, unknown, unchecked } = images;
  return {
    id: 'images',
    title: 'Images',
    blocks: [
      {
        kind: 'paragraph',
        sentences: [
          imagesWords(images),
          unknown.length > 0 &&
            `${counted(sum(unknown), 'address', 'addresses')} could not be checked: the servers refuse programs or did not answer. This says nothing about the images.`,
          unchecked > 0 &&
            `${counted(unchecked, 'address was', 'addresses were')} left unchecked when the time was over (images.withinSeconds). The next plan checks them.`,
          'Nothing is rejected for this: the records are sent as they are.',
        ],
      },
      ...problemsTable([...broken, ...unknown]),
    ],
  };
}

function problemsTable(problems: readonly ImageProblem[]): Table[] {
  if (problems.length === 0) return [];
  return [
    {
      kind: 'table',
      caption: 'Problems of image addresses',
      captionHidden: true,
      columns: columns('Problem', ['Addresses', 'numeric'], ['Examples', 'bare']),
      rows: problems.map(({ problem, addresses, samples }) => {
        const items = samples.map(
          ({ key, address }): Words => [{ as: 'key', words: foreign(key, 60) }, ' ', foreign(address, 200)],
        );
        return { cells: [foreign(problem), grouped(addresses), { as: 'samples', items }] };
      }),
      shown: { page: 25, text: 8 },
      more: (left) => `and ${counted(left, 'more problem')}`,
    },
  ];
}

/** `Images: 3 of 240 new addresses have problems: 2 not found (404), 1 is text/html.` */
function imagesWords({ addresses, broken, unknown, unchecked }: ImageFindings): string {
  const all = counted(addresses, 'new address', 'new addresses');
  const bad = sum(broken);
  if (bad === 0) {
    const good = addresses - sum(unknown) - unchecked;
    return good === addresses
      ? `Images: ${all} checked, no problems.`
      : `Images: ${grouped(good)} of ${all} checked, no problems.`;
  }
  const problems = broken.map(({ problem, addresses: count }) => `${grouped(count)} ${problem}`);
  return `Images: ${grouped(bad)} of ${all} ${bad === 1 ? 'has a problem' : 'have problems'}: ${listed(problems)}.`;
}

function sum(problems: readonly ImageProblem[]): number {
  return problems.reduce((total, { addresses }) => total + addresses, 0);
}
