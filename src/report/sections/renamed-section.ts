import { counted, grouped } from '../../text/printable.ts';
import { isOnlyPlanned, type RunFacts } from '../run-facts.ts';
import { type Block, columns, foreign, paragraph, type Section } from '../section.ts';

/** The old and new urls of products that the store has renamed, in the folder of the run. */
export const REDIRECTS_FILE = 'redirects.csv';
const REPORT_FILE = 'report.html';
const PAIRS_SHOWN = { page: 100, text: 10 };
const MAX_KEY_LENGTH = 80;

/** By what a product was found, for people. */
const BY_WORDS: Readonly<Record<string, string>> = {
  url: 'the same url',
  skus: 'the same SKUs',
  pictures: 'the same title and pictures',
  title: 'the same title',
  history: 'the history',
};

/** Products with a new url, as pairs, and those that wait for a decision; null if there are none. */
export function renamedSection(facts: RunFacts): Section | null {
  const renamed = facts.plan?.renamed;
  if (renamed === undefined) return null;
  const { records, waiting, byId, examples } = renamed;
  const would = isOnlyPlanned(facts);
  const way = byId
    ? 'Each keeps its id: only its url changes.'
    : 'Each is created under its new url first, and then deleted under the old one.';
  const file = `${facts.reportFile?.slice(0, -REPORT_FILE.length) ?? ''}${REDIRECTS_FILE}`;
  const blocks: Block[] = [
    paragraph([
      records > 0 && way,
      records > 0 && !would && `The old and new urls, for redirects: ${file}`,
      waiting > 0 &&
        `${counted(waiting, 'product')} may have a new url, and ${waiting === 1 ? 'is' : 'are'} held. To create ${waiting === 1 ? 'it' : 'them'} as new, release ${waiting === 1 ? 'it' : 'them'}.`,
    ]),
  ];
  if (records > 0) {
    blocks.push({
      kind: 'table',
      caption: 'Products with a new url',
      captionHidden: true,
      columns: columns('Old url', 'New url', ['Found by', 'bare']),
      rows: examples.map(({ from, to, by }) => ({
        cells: [
          { as: 'text', words: foreign(from, MAX_KEY_LENGTH) },
          { as: 'text', words: foreign(to, MAX_KEY_LENGTH) },
          BY_WORDS[by] ?? by,
        ],
      })),
      shown: PAIRS_SHOWN,
    });
  }
  const title = records > 0 ? `${grouped(records)} renamed` : 'Renamed';
  return { id: 'renamed', title, blocks };
}
