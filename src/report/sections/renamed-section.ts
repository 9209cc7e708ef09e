import { type Plan, REDIRECTS_FILE } from '../../model/plan.ts';
import { counted, grouped, isOrAre, itOrThem } from '../../text/printable.ts';
import { REPORT_FILE, type RunFacts, type View } from '../run-facts.ts';
import { type Block, foreign, paragraph, type Section, styled, table } from '../section.ts';

const PAIRS_SHOWN = { page: 100, text: 10 };
const MAX_KEY_LENGTH = 80;

/** By what a product was found, for people. */
const BY_WORDS: Readonly<Record<string, string>> = {
  url: 'the same url',
  skus: 'the same SKUs',
  pictures: 'the same title and pictures',
  title: 'the same title',
  history: 'the history',
  table: 'the table',
};

/** Products with a new url, as pairs, and those that wait for a decision; null if there are none. */
export function renamedSection(facts: RunFacts, { onRunPage }: View): Section | null {
  const renamed = facts.plan?.renamed;
  if (renamed === undefined) return null;
  const { records, waiting, byId, examples } = renamed;
  const way = byId
    ? 'Each keeps its id, and is sent whole under its new url.'
    : 'Each is created under its new url first, and then deleted under the old one.';
  const file = `${facts.reportFile?.slice(0, -REPORT_FILE.length) ?? ''}${REDIRECTS_FILE}`;
  const blocks: Block[] = [
    paragraph([
      records > 0 && way,
      records > 0 &&
        facts.totals.applied > 0 &&
        `The old and new urls, for redirects: ${onRunPage === true ? REDIRECTS_FILE : file}`,
      waiting > 0 &&
        `${counted(waiting, 'product')} may have a new url, and ${isOrAre(waiting)} held. To create ${itOrThem(waiting)} as new, release ${itOrThem(waiting)}.`,
    ]),
  ];
  if (records > 0) blocks.push(pairsTable('Products with a new url', ['Old url', 'New url'], examples));
  const title = records > 0 ? `${grouped(records)} renamed` : 'Renamed';
  return { id: 'renamed', title, blocks };
}

/** Products that the store had before the first import, as pairs, and those that wait for a decision; null if there are none. */
export function adoptedSection({ run, plan }: RunFacts): Section | null {
  if (plan?.adopted === undefined) return null;
  const { records, waiting, examples } = plan.adopted;
  const table = `adopted-${run.store}-${run.job}.csv`;
  const blocks: Block[] = [
    paragraph([
      records > 0 && 'The store had them before. Each gets the values of the source, and keeps its url.',
      `The pairs are in ${table}.`,
      waiting > 0 &&
        `${counted(waiting, 'record')} may be a product that the store has, and ${isOrAre(waiting)} held: decide on the page of the job (Pairs with the store), or write \`adopt\` or \`new\` into the column decision, and run the job again; or release ${itOrThem(waiting)} to create ${itOrThem(waiting)} as new.`,
    ]),
  ];
  if (records > 0)
    blocks.push(
      pairsTable('Products of the store that are adopted', ['In the source', 'In the store'], examples),
    );
  return { id: 'adopted', title: records > 0 ? `${grouped(records)} adopted` : 'Adoption', blocks };
}

function pairsTable(
  caption: string,
  headers: readonly [string, string],
  pairs: NonNullable<Plan['renamed']>['examples'],
): Block {
  return table(
    caption,
    [...headers, ['Found by', 'bare']],
    pairs.map(({ from, to, by }) => [
      styled('text', foreign(from, MAX_KEY_LENGTH)),
      styled('text', foreign(to, MAX_KEY_LENGTH)),
      BY_WORDS[by] ?? by,
    ]),
    { shown: PAIRS_SHOWN },
  );
}
