import { withoutAbsent } from '../../model/json-object.ts';
import { hasRejectsWorkbook, type PlanSource } from '../../model/plan.ts';
import { isUnmatched, LINES_KEPT, type ReasonGroup } from '../../model/reason.ts';
import { REJECTS_FILE, REJECTS_WORKBOOK, UNMATCHED_FILE } from '../../rejects/rejects-file.ts';
import { capitalise, counted, listed, printable } from '../../text/printable.ts';
import { formatPlace, hasNamedRows } from '../format-place.ts';
import { isOnlyPlanned, type RunFacts, type View } from '../run-facts.ts';
import {
  type Block,
  foreign,
  onlyIn,
  paragraph,
  type Section,
  type Shortened,
  styled,
  table,
} from '../section.ts';

/** The most reasons that are listed. */
const REASONS_SHOWN = { page: 25, text: 100 };

/** What the mapping and the store rejected, with reasons and lines; null if nothing was rejected. */
export function rejectedSection(facts: RunFacts, view: View): Section | null {
  const { plan, refusals } = facts;
  const rejections = plan?.rejections ?? [];
  const groups = [...rejections, ...refusals];
  const [most] = groups.toSorted((a, b) => b.rows - a.rows);
  if (most === undefined) return null;
  const top = `${groups.length > 1 ? 'Mostly: ' : ''}${reasonAmount(most)}: ${most.message}`;
  const blocks = [
    paragraph([top], { only: 'message' }),
    ...(namesRejects(facts.run) ? [] : rejectsFiles(facts, view)),
  ];
  const inRejectsFile = facts.rejectsFile !== null;
  if (rejections.length > 0) blocks.push(reasonsTable('Found in the file', rejections, facts, inRejectsFile));
  if (refusals.length > 0) blocks.push(reasonsTable('Refused by the store', refusals, facts, inRejectsFile));
  return { id: 'rejected', title: 'Rejected, and why', blocks };
}

/** What was left out on purpose, with reasons; null if nothing was. */
export function skippedSection(facts: RunFacts): Section | null {
  const skips = facts.plan?.skips ?? [];
  if (skips.length === 0) return null;
  return {
    id: 'skipped',
    title: 'Skipped, and why',
    ...(!isOnlyPlanned(facts) && { only: 'page' }),
    blocks: [reasonsTable('Left out on purpose', skips, facts, false)],
  };
}

/** What the store did not confirm, with reasons; null if everything was confirmed. */
export function unsentSection({ unsentReasons }: RunFacts): Section | null {
  if (unsentReasons.length === 0) return null;
  return {
    id: 'unsent',
    title: 'Unsent, and why',
    blocks: [
      table(
        'Requests that the store never confirmed, by reason',
        ['Why', ['Requests', 'bare', 'leads']],
        unsentReasons.map(({ reason, count }) => [
          styled('text', foreign(reason.message)),
          counted(count, 'operation'),
        ]),
        moreReasons(false),
      ),
    ],
  };
}

/** Whether the next step is about the rejects file and so names it. */
export function namesRejects({ status }: RunFacts['run']): boolean {
  return status === 'done-with-rejects';
}

/** The paths of the files with rejected rows; a page of the dashboard has links to them, and needs their names only. */
export function rejectsFiles({ plan, rejectsFile }: RunFacts, { onRunPage }: View): Block[] {
  if (rejectsFile === null) return [];
  const unmatched = (plan?.rejections ?? []).some(({ code }) => isUnmatched(code));
  const folder = onRunPage === true ? '' : rejectsFile.slice(0, -REJECTS_FILE.length);
  const beside = (name: string) => `${folder}${name}`;
  const lines = withoutAbsent([
    onRunPage !== true && `Rejects file: ${rejectsFile}`,
    plan !== null &&
      hasRejectsWorkbook(plan.source) &&
      `The same as a workbook: ${beside(REJECTS_WORKBOOK)} (correct either, not both)`,
    unmatched &&
      (plan?.mode === 'update'
        ? `Rows without a product: ${beside(UNMATCHED_FILE)} (correct the SKU, url or id, or let another job send the product first)`
        : `Contacts without a match: ${beside(UNMATCHED_FILE)} (create them in the store, or complete the crosswalk)`),
  ]);
  return lines.map((line) => paragraph([foreign(line)], { role: 'file' }));
}

function moreReasons(inRejectsFile: boolean): Shortened {
  const moreNote = inRejectsFile ? ': the rejects file names the reason of every row' : '';
  return { shown: REASONS_SHOWN, more: 'reason', moreNote };
}

/** `inRejectsFile`: whether the rejects file of the run has these rows. */
function reasonsTable(
  caption: string,
  groups: readonly ReasonGroup[],
  { plan }: RunFacts,
  inRejectsFile: boolean,
) {
  const files = plan?.source.files ?? [];
  return table(
    caption,
    ['Why', ['How many', 'bare', 'leads'], ['Where', 'bare']],
    groups.map((group) => {
      const { message, code, field, column } = group;
      const named = [field, column === null ? null : `column "${printable(column)}"`];
      const subject = withoutAbsent(named).join(', ');
      const places = reasonPlaces(group, files);
      return {
        cells: [
          [
            onlyIn('page', [styled('text', foreign(capitalise(message))), ' ', styled('setting', code)]),
            onlyIn('text', [foreign(message), subject !== '' && [' [', foreign(subject), ']']]),
          ],
          styled('strong', reasonAmount(group)),
          [
            onlyIn('page', [
              places !== '' &&
                styled('places', foreign(places.startsWith('line') ? capitalise(places) : places)),
              subject !== '' && [' ', styled('subject', foreign(subject))],
              places === '' && subject === '' && '–',
            ]),
            onlyIn('text', [places, places !== '' && ' · ', code]),
          ],
        ],
      };
    }),
    { captionHidden: false, ...moreReasons(inRejectsFile) },
  );
}

/** `3 records (7 rows)`; `7 rows`, or `3 records` if no rows are known or one figure is enough. */
function reasonAmount({ also = 0, ...group }: ReasonGroup) {
  if (also === 0) return ownAmount(group);
  const others = `also in ${counted(also, 'record')} counted under another reason`;
  return group.records === 0 ? others : `${ownAmount(group)}, ${others}`;
}

function ownAmount({ records, rows }: ReasonGroup) {
  if (rows === 0) return counted(records, 'record');
  return records === rows || records === 0
    ? counted(rows, 'row')
    : `${counted(records, 'record')} (${counted(rows, 'row')})`;
}

/** `lines 3, 8 and 14` or `Prices!C3`, with the names of files if there are several; empty if no line is known. */
function reasonPlaces({ lines, rows, column }: ReasonGroup, files: PlanSource['files']) {
  if (lines.length === 0) return '';
  const more = lines.length === LINES_KEPT && rows > LINES_KEPT;
  const inOrder = lines.toSorted((a, b) => a.file - b.file || a.line - b.line);
  const nameOf = (file: number) => (files.length > 1 ? (files[file]?.name ?? `file ${file + 1}`) : undefined);
  const places = inOrder.map(({ file, line }) => formatPlace(line, column, files[file], nameOf(file)));
  const isNumbered = files.length <= 1 && !hasNamedRows(files[0]);
  const word = !isNumbered ? '' : lines.length === 1 ? 'line ' : 'lines ';
  return `${word}${more ? `${places.join(', ')} …` : listed(places)}`;
}
