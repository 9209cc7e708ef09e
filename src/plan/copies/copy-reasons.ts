import { beyondLimit, raiseLimit } from '../../model/input-limits.ts';
import type { Resource } from '../../model/mapped-record.ts';
import type { Reason } from '../../model/reason.ts';
import type { RowSpan } from '../../model/row.ts';

/** Why a copy of a repeated key is not sent. */
export type CopyReasonCode =
  | 'duplicate-key'
  | 'rows-not-adjacent'
  | 'copy-rejected'
  | 'too-many-copies'
  | 'identical-copy'
  | 'earlier-copy-kept'
  | 'later-copy-kept';

/** What is said of all copies of one key. */
export interface CopiesOfKey {
  readonly resource: Resource;
  readonly copies: number;
  /** The most that are merged. */
  readonly mostMerged: number;
  /** The rows of the first few copies. */
  readonly firstSpans: readonly RowSpan[];
}

/** The reason for leaving out a copy, with the lines on which the copies stand. */
export function copyReason(code: CopyReasonCode, found: CopiesOfKey): Reason {
  const { resource, copies, mostMerged, firstSpans } = found;
  const field = resource === 'products' ? 'url' : 'id';
  const places = placesOf(firstSpans, copies);
  if (code === 'too-many-copies') {
    const beyond = beyondLimit('mergedCopies', mostMerged, { copies });
    return { code, field, message: `${beyond} They begin in ${places}. ${raiseLimit('mergedCopies')}` };
  }
  return { code, field, message: sentence(code, field, copies, places) };
}

function sentence(
  code: Exclude<CopyReasonCode, 'too-many-copies'>,
  field: string,
  copies: number,
  places: string,
): string {
  switch (code) {
    case 'duplicate-key':
      return `the same ${field} stands ${copies} times in the source with different content, in ${places}; keep one, or let the job's \`duplicates\` choose`;
    case 'rows-not-adjacent':
      return `rows of one product stand apart, in ${places}; sort the file so that they follow each other`;
    case 'copy-rejected':
      return `the same ${field} stands ${copies} times, in ${places}, and not all of them can be read; correct or remove those`;
    case 'identical-copy':
      return `an identical copy of another record, as in ${places}`;
    case 'earlier-copy-kept':
      return `the same ${field} stands ${copies} times, in ${places}; the first is kept`;
    case 'later-copy-kept':
      return `the same ${field} stands ${copies} times, in ${places}; the last is kept`;
    default:
      return code satisfies never;
  }
}

let listFormat: Intl.ListFormat | undefined;

/** Made with the first copies that are met: making it takes a fiftieth of a second, which most plans need not wait. */
function conjunction(items: readonly string[]): string {
  listFormat ??= new Intl.ListFormat('en', { type: 'conjunction' });
  return listFormat.format(items);
}

/** `lines 20-22 and 170`; with the number of the file where there are several. */
function placesOf(spans: readonly RowSpan[], copies: number): string {
  const severalFiles = spans.some((span) => span.file > 0);
  const places = spans.map(({ file, from, to }) => {
    const lines = from === to ? `${from}` : `${from}-${to}`;
    return severalFiles ? `file ${file + 1} line ${lines}` : lines;
  });
  const named = copies > spans.length ? `${places.join(', ')} and more` : conjunction(places);
  return severalFiles ? named : `lines ${named}`;
}
