import type { Plan } from '../../src/model/plan.ts';
import type { Run } from '../../src/model/run.ts';
import { documentText } from '../../src/report/document-text.ts';
import { runDocument } from '../../src/report/run-document.ts';
import { type RunFacts, runTotals, type View } from '../../src/report/run-facts.ts';
import type { OutcomeTally } from '../../src/state/state.ts';

export const NOW = Date.UTC(2030, 0, 2, 3, 0, 0);

export function aRun(changes: Partial<Run> = {}): Run {
  return {
    id: 'k3f9',
    sequence: 7,
    job: 'nightly-catalog',
    kind: 'run',
    resource: 'products',
    store: 'main',
    baseUrl: 'http://127.0.0.1:3999',
    storeId: '//localhost:3999',
    status: 'done',
    step: 'finish',
    digest: null,
    keyDigest: null,
    startedAt: NOW - 60_000,
    stagedAt: NOW - 59_000,
    finishedAt: NOW - 47_655,
    totals: null,
    error: null,
    approved: false,
    resend: false,
    retryOf: null,
    ...changes,
  };
}

const records = (figure: number, rows = figure) => ({ records: figure, rows });

/** 511 products in 520 rows: 10 new, 2 changed, 498 unchanged, 1 rejected; 3 removed. */
export const COUNTS: Plan['counts'] = {
  rows: 520,
  records: 511,
  new: records(10, 12),
  changed: records(2, 3),
  resent: records(0),
  unchanged: records(498, 503),
  rejected: records(1, 2),
  skipped: records(0),
  held: records(0),
  removed: 3,
  deletes: 3,
};

export function aPlan(changes: Partial<Plan> = {}): Plan {
  return {
    job: 'nightly-catalog',
    resource: 'products',
    mode: 'mirror',
    counts: COUNTS,
    fieldsChanged: [
      { field: 'variants.price', records: 2, samples: [{ key: 'lamp', old: '10', new: '12' }] },
      { field: 'file', records: 1, samples: [{ key: 'song', old: null, new: '' }] },
    ],
    moves: { prices: [], stocks: [] },
    priceMoves: 0,
    emptied: [],
    rejections: [
      {
        code: 'price-not-a-number',
        message: 'the price is not a number',
        field: 'variants.price',
        column: 'Variant Price',
        records: 1,
        rows: 2,
        lines: [{ file: 0, line: 14 }],
      },
    ],
    skips: [],
    notices: [],
    examples: {
      new: [{ key: 'aurora', file: 0, line: 12 }],
      changed: [{ key: 'lamp', file: 0, line: 3 }],
      removed: [{ key: 'old-lamp', file: null, line: null }],
    },
    duplicates: null,
    takeovers: [],
    sharedFields: [],
    unreadableKeys: 0,
    deletesWithheld: null,
    deletesWithoutId: 0,
    unconfirmed: { keys: 0, examples: [] },
    guards: [],
    safety: [
      {
        limit: 'maxDeletes',
        exceeded: false,
        figure: 3,
        base: 500,
        message: 'maxDeletes: 3 of 500; the limit is 5%',
      },
    ],
    rejectionsSha256: '',
    shards: [
      { number: 1, name: 'shard-00001.jsonl', kind: 'upserts', operations: 12, bytes: 100, sha256: '' },
      { number: 2, name: 'delete-00001.jsonl', kind: 'deletes', operations: 3, bytes: 100, sha256: '' },
    ],
    source: {
      files: [{ name: 'catalog.csv', rows: 520, delimiter: ';', encoding: 'utf-8', blankLines: 0 }],
      columnsNotUsed: ['Vendor', 'Tags'],
      dates: null,
    },
    ...changes,
  };
}

export const ALL_APPLIED: OutcomeTally = {
  applied: 12,
  appliedRows: 15,
  rejected: 0,
  rejectedRows: 0,
  deleted: 3,
  left: 0,
  requests: 15,
};

export function facts(run: Partial<Run>, changes: Partial<RunFacts> = {}, tally = ALL_APPLIED): RunFacts {
  const plan = changes.plan === undefined ? aPlan() : changes.plan;
  return {
    run: aRun(run),
    plan,
    totals: runTotals(plan, tally),
    unsentDeletes: 0,
    leftDeletes: 0,
    refusals: [],
    unsentReasons: [],
    changedIds: [],
    changedIdCount: changes.changedIds?.length ?? 0,
    rejectsFile: null,
    reportFile: null,
    exported: null,
    traffic: null,
    ...changes,
  };
}

/** How escape sequences begin, as colours do. */
export const ESCAPE = '\u001b[';

/** The text of a run for a terminal of 100 columns, without colours unless asked for. */
export function textOf(
  shown: RunFacts,
  { colors = false, width = 100, ...view }: Partial<View> & { colors?: boolean; width?: number } = {},
): string {
  const document = runDocument(shown, { now: NOW, program: 'storeferry', version: '1.2.3', ...view });
  return documentText(document, { colors, width });
}
