import type { Plan } from '../../../src/model/plan.ts';
import type { ReasonGroup } from '../../../src/model/reason.ts';
import type { Run, TrafficSample } from '../../../src/model/run.ts';
import { NO_TOTALS, type RunFacts, type View } from '../../../src/report/run-facts.ts';
import type { OutcomeTally } from '../../../src/state/state.ts';
import { ALL_APPLIED, aPlan, COUNTS, facts, NOW } from '../run-facts.ts';

const NOTHING_SENT: OutcomeTally = {
  ...ALL_APPLIED,
  applied: 0,
  appliedRows: 0,
  deleted: 0,
  requests: 0,
};
const PACE = { slowest: 18, fastest: 20, runs: 5 };

/** A run and how it is shown. */
export interface Sample {
  readonly facts: RunFacts;
  readonly view: View;
}

/** A run with all that is known about it, and how it is shown. */
export function sample(
  run: Partial<Run> = {},
  changes: Partial<RunFacts> = {},
  tally?: OutcomeTally,
): Sample {
  const view = { now: NOW, program: 'storeferry -C shop', version: '1.2.3' };
  return { facts: facts(run, changes, tally), view };
}

/** A reason with its figures. */
export function aReason(changes: Partial<ReasonGroup> = {}): ReasonGroup {
  return {
    code: 'store-422',
    message: 'The store answered 422: sku "TEA-1" is taken by another product.',
    field: null,
    column: null,
    records: 2,
    rows: 2,
    lines: [
      { file: 0, line: 40 },
      { file: 0, line: 7 },
    ],
    ...changes,
  };
}

const SAFETY: Plan['safety'] = [
  {
    limit: 'maxDeletes',
    exceeded: false,
    figure: 3,
    base: 500,
    allowed: { text: '5%', amount: 25 },
    message:
      'maxDeletes: 3 products would be deleted, of 500 products that this job sent (0.6%); the limit is 5%',
  },
  {
    limit: 'maxRejects',
    exceeded: false,
    figure: 1,
    base: 511,
    allowed: { text: '10%', amount: 51.1 },
    message: 'maxRejects: 1 records are rejected, of 511 records (0.2%); the limit is 10%',
  },
  {
    limit: 'minRows',
    exceeded: false,
    figure: 520,
    base: 512,
    allowed: { text: '80%', amount: 409.6 },
    message: 'minRows: 520 rows; the last completed run had 512 (102%); the limit is 80%',
  },
];

/** A plan in which something of everything is found. */
export function fullPlan(changes: Partial<Plan> = {}): Plan {
  return aPlan({
    counts: {
      ...COUNTS,
      unchanged: { records: 420, rows: 425 },
      skipped: { records: 78, rows: 78 },
      held: { records: 0, rows: 0 },
      removed: 3,
    },
    fieldsChanged: [
      {
        field: 'variants.price',
        records: 214,
        samples: [
          { key: 'lamp-aurora', old: '10', new: '1000' },
          { key: 'tea-darjeeling-first-flush', old: '12.5', new: '11.9' },
        ],
      },
      {
        field: 'description',
        records: 61,
        samples: [
          { key: 'lamp-aurora', old: '…<p>A lamp of brass</p>', new: '…<p>A lamp of solid brass</p>' },
        ],
      },
      { field: 'variants.quantity', records: 12, samples: [{ key: 'mug', old: '40', new: '0' }] },
      { field: 'file', records: 1, samples: [{ key: 'song', old: null, new: '' }] },
    ],
    moves: {
      prices: [
        { key: 'lamp-aurora', what: 'Large / Brass', field: 'variants.price', old: 10, new: 1000 },
        { key: 'desk-oak', what: null, field: 'variants.price', old: 899, new: 0 },
        { key: 'rug-wool', what: 'Red', field: 'variants.regularPrice', old: 120, new: 38.5 },
        { key: 'tea-darjeeling-first-flush', what: null, field: 'variants.price', old: 12.5, new: 15 },
        { key: 'mug', what: 'Blue', field: 'variants.salePrice', old: 9.5, new: 9 },
      ],
      stocks: [
        { key: 'mug', what: 'Blue', field: 'variants.quantity', old: 40, new: 0 },
        { key: 'rug-wool', what: 'Red', field: 'variants.quantity', old: 4, new: 12 },
      ],
    },
    rejections: [
      {
        code: 'price-not-a-number',
        message:
          'the price is not a number: expected something like 12.50, found "call us"; correct it, or leave it blank',
        field: 'variants.price',
        column: 'Variant Price',
        records: 1,
        rows: 2,
        lines: [{ file: 0, line: 14 }],
      },
    ],
    skips: [
      {
        code: 'draft',
        message: 'the column Status says draft',
        field: null,
        column: 'Status',
        records: 78,
        rows: 78,
        lines: [3, 5, 8, 13, 21].map((line) => ({ file: 0, line })),
      },
    ],
    notices: [{ message: 'quantity below 0 raised to 0', records: 12 }],
    takeovers: [{ job: 'weekly-catalog', sent: 4, left: 1, examples: ['mug', 'rug-wool', 'desk-oak'] }],
    safety: SAFETY,
    source: {
      files: [
        {
          name: 'exports/catalog-2030-01-02.csv',
          rows: 520,
          delimiter: ';',
          encoding: 'utf-8',
          blankLines: 2,
        },
      ],
      columnsNotUsed: ['Vendor', 'Tags', 'Google Shopping / Condition', 'Variant Weight Unit'],
      dates: null,
    },
    ...changes,
  });
}

/** A catalog of which half is gone: 52 of 100 products would be deleted. */
export function halfGone(): Plan {
  return aPlan({
    counts: {
      rows: 48,
      records: 48,
      new: { records: 0, rows: 0 },
      changed: { records: 0, rows: 0 },
      resent: { records: 0, rows: 0 },
      unchanged: { records: 48, rows: 48 },
      rejected: { records: 0, rows: 0 },
      skipped: { records: 0, rows: 0 },
      held: { records: 0, rows: 0 },
      removed: 52,
      deletes: 52,
    },
    fieldsChanged: [],
    rejections: [],
    examples: {
      new: [],
      changed: [],
      removed: ['lamp-aurora', 'desk-oak', 'rug-wool', 'mug', 'tea-darjeeling-first-flush'].map((key) => ({
        key,
        file: null,
        line: null,
      })),
    },
    safety: [
      {
        limit: 'maxDeletes',
        exceeded: true,
        figure: 52,
        base: 100,
        allowed: { text: '5%', amount: 5 },
        message:
          'maxDeletes: 52 products would be deleted, of 100 products that this job sent (52%); the limit is 5%. If this is correct, approve run k3f9',
      },
      {
        limit: 'minRows',
        exceeded: true,
        figure: 48,
        base: 100,
        allowed: { text: '80%', amount: 80 },
        message:
          'minRows: 48 rows; the last completed run had 100 (48%); the limit is 80%. If this is correct, approve run k3f9',
      },
      {
        limit: 'maxRejects',
        exceeded: false,
        figure: 0,
        base: 48,
        allowed: { text: '10%', amount: 4.8 },
        message: 'maxRejects: 0 records are rejected, of 48 records (0%); the limit is 10%',
      },
    ],
    shards: [
      { number: 1, name: 'delete-00001.jsonl', kind: 'deletes', operations: 52, bytes: 100, sha256: '' },
    ],
    source: {
      files: [{ name: 'catalog.csv', rows: 48, delimiter: ',', encoding: 'utf-8', blankLines: 0 }],
      columnsNotUsed: [],
      dates: null,
    },
  });
}

/** So many seconds of sending, with a failing store in the middle. */
export function someTraffic(seconds: number): TrafficSample[] {
  return Array.from({ length: seconds }, (_, index) => {
    const fails = index > seconds * 0.45 && index < seconds * 0.6;
    const rate = Math.min(40, 6 + index * 2) + (index % 5);
    return {
      at: NOW - 60_000 + index * 1_000,
      ms: 1_000,
      requests: fails ? 4 : rate,
      failed: fails ? 3 : index % 13 === 0 ? 1 : 0,
      retries: fails ? 2 : index % 13 === 1 ? 1 : 0,
      p50: fails ? 900 : 80 + (index % 7) * 6,
      p95: fails ? 2_900 : 190 + (index % 5) * 40,
      concurrency: fails ? 2 : Math.min(16, 2 + Math.floor(index / 2)),
      pausedMs: fails && index % 3 !== 0 ? 900 : 0,
    };
  });
}

const contacts = (): Plan =>
  aPlan({
    job: 'bulk-contacts',
    resource: 'contacts',
    mode: 'upsert',
    counts: {
      rows: 12_400,
      records: 12_380,
      new: { records: 9_800, rows: 9_810 },
      changed: { records: 120, rows: 120 },
      resent: { records: 0, rows: 0 },
      unchanged: { records: 2_200, rows: 2_210 },
      rejected: { records: 240, rows: 240 },
      skipped: { records: 20, rows: 20 },
      held: { records: 0, rows: 0 },
      removed: 0,
      deletes: 0,
    },
    fieldsChanged: [
      { field: 'lastName', records: 88, samples: [{ key: '4711', old: 'M•••••', new: 'S•••••-M•••••' }] },
      { field: 'properties.city', records: 40, samples: [{ key: '4712', old: null, new: 'B•••••' }] },
    ],
    emptied: [{ field: 'phone', records: 12 }],
    rejections: [
      aReason({
        code: 'crosswalk-no-match',
        message:
          'the crosswalk has no contact with this e-mail: create it in the store, or complete the crosswalk',
        field: 'id',
        column: 'Email',
        records: 240,
        rows: 240,
        lines: [9, 14, 88, 91, 120].map((line) => ({ file: 0, line })),
      }),
    ],
    examples: {
      new: [{ key: '4711', file: 0, line: 2 }],
      changed: [{ key: '812', file: 0, line: 9 }],
      removed: [],
    },
    safety: [
      {
        limit: 'maxRejects',
        exceeded: false,
        figure: 240,
        base: 12_380,
        allowed: { text: '10%', amount: 1_238 },
        message: 'maxRejects: 240 records are rejected, of 12,380 records (1.9%); the limit is 10%',
      },
    ],
    shards: [
      { number: 1, name: 'shard-00001.jsonl', kind: 'upserts', operations: 9_920, bytes: 100, sha256: '' },
    ],
    source: {
      files: [
        { name: 'crm-export.csv', rows: 12_400, delimiter: ',', encoding: 'windows-1252', blankLines: 0 },
      ],
      columnsNotUsed: ['Lead Status', 'Owner'],
      dates: null,
    },
  });

const LONG = 'Die außerordentlich lange Bezeichnung eines Artikels, der sich nirgends umbrechen lässt: ';
const strange = (): Plan => {
  const plan = fullPlan();
  const key = 'ein-sehr-langer-schluessel-ohne-jede-luecke-'.repeat(4);
  return {
    ...plan,
    fieldsChanged: [
      {
        field: 'title',
        records: 3,
        samples: [{ key: 'שולחן-עץ', old: 'שולחן עץ אלון', new: 'שולחן עץ אלון מלא (חדש)' }],
      },
      {
        field: 'description',
        records: 2,
        samples: [{ key, old: '東京タワーの置物', new: '東京タワーの置物（限定版）' }],
      },
      {
        field: 'properties.<script>alert(1)</script>',
        records: 1,
        samples: [
          { key: '"><img src=x onerror=alert(1)>', old: 'a\u001b[31mb\u202e', new: 'javascript:alert(1)' },
        ],
      },
    ],
    moves: {
      prices: [
        { key, what: 'سجادة حمراء كبيرة', field: 'variants.price', old: 1.2345, new: 1_234_567.89 },
        { key: '東京タワー', what: null, field: 'variants.price', old: 100, new: 30 },
      ],
      stocks: [],
    },
    rejections: Array.from({ length: 60 }, (_, index) =>
      aReason({
        code: `reason-${index}`,
        message: `${LONG.repeat(2)}${index}, und dazu noch ${'x'.repeat(60)}`,
        field: index % 2 === 0 ? 'variants.price' : null,
        column: index % 3 === 0 ? 'Preis (brutto, inklusive aller Nebenkosten)' : null,
        records: 60 - index,
        rows: 90,
        lines: [1, 2, 3, 4, 5].map((line) => ({ file: index % 2, line: line * 1_000 + index })),
      }),
    ),
    source: {
      files: ['übersicht-der-artikel-stand-januar.csv', '商品一覧.csv', 'قائمة.csv'].map((name) => ({
        name,
        rows: 173,
        delimiter: '\t',
        encoding: 'utf-16le',
        blankLines: 0,
      })),
      columnsNotUsed: Array.from({ length: 90 }, (_, index) => `Spalte ${index}`),
      dates: null,
    },
  };
};

const DAY = 86_400_000;
const LISTS = [
  { name: 'Newsletter', begun: 4_200, growth: 12 },
  { name: 'Wholesale', begun: 310, growth: 1 },
  { name: 'Spring sale', begun: 1_900, growth: -9 },
];
const HISTORY = {
  unreadable: 0,
  points: Array.from({ length: 30 }, (_, day) =>
    LISTS.map(({ name, begun, growth }, index) => ({
      id: String(index + 1),
      name,
      readAt: NOW - (29 - day) * DAY,
      subscribers: begun + day * growth + ((day * 7) % 5) * 3,
      opens: 0.31 + ((day + index) % 6) / 100,
      clicks: 0.04 + ((day + index) % 3) / 200,
    })),
  ).flat(),
};

const exported = (changes: Partial<NonNullable<RunFacts['exported']>> = {}) => ({
  location: 'exports/list-statistics.csv',
  mode: 'append' as const,
  format: 'csv' as const,
  readAt: new Date(NOW - 2_000).toISOString(),
  items: 3,
  lines: 3,
  bytes: 12_345,
  notes: [],
  ...changes,
});

/** One report of every kind, by name. */
export const REPORTS: Readonly<Record<string, () => Sample>> = {
  plan: () => sample({ kind: 'plan', status: 'planned', pace: PACE }, { plan: fullPlan() }, NOTHING_SENT),
  'plan-of-nothing': () => {
    const counts = {
      ...COUNTS,
      new: { records: 0, rows: 0 },
      changed: { records: 0, rows: 0 },
      unchanged: { records: 511, rows: 520 },
      rejected: { records: 0, rows: 0 },
      removed: 0,
      deletes: 0,
    };
    const plan = aPlan({ counts, fieldsChanged: [], rejections: [], shards: [] });
    return sample({ kind: 'plan', status: 'planned' }, { plan }, NOTHING_SENT);
  },
  stopped: () =>
    sample({ status: 'stopped', error: 'maxDeletes …', pace: PACE }, { plan: halfGone() }, NOTHING_SENT),
  'stopped-while-applying': () =>
    sample(
      {
        status: 'stopped',
        error: 'maxRejects: 80 records are rejected, of 511 records (15.7%); the limit is 10%',
      },
      {
        plan: fullPlan({
          counts: {
            ...fullPlan().counts,
            new: { records: 200, rows: 200 },
            unchanged: { records: 230, rows: 237 },
          },
        }),
        refusals: [aReason({ records: 79, rows: 79 })],
        rejectsFile: '.storeferry/artifacts/k3f9/rejects.csv',
        traffic: { samples: someTraffic(20) },
      },
      {
        ...ALL_APPLIED,
        applied: 50,
        appliedRows: 50,
        rejected: 79,
        rejectedRows: 79,
        deleted: 0,
        requests: 131,
      },
    ),
  done: () => {
    const plan = fullPlan({
      rejections: [],
      counts: {
        ...fullPlan().counts,
        rejected: { records: 0, rows: 0 },
        unchanged: { records: 421, rows: 427 },
      },
    });
    const limits = { concurrency: 16, because: 'the limit in stores.yaml', rate: null };
    return sample(
      { limits },
      { plan, traffic: { samples: someTraffic(60) } },
      { ...ALL_APPLIED, requests: 118 },
    );
  },
  'done-with-rejects': () =>
    sample(
      { status: 'done-with-rejects' },
      {
        plan: fullPlan(),
        refusals: [aReason()],
        rejectsFile: '.storeferry/artifacts/k3f9/rejects.csv',
        changedIds: [{ key: 'mug', knownId: 12, answeredId: 91 }],
      },
      { ...ALL_APPLIED, applied: 10, appliedRows: 12, rejected: 2, rejectedRows: 3 },
    ),
  failed: () =>
    sample(
      {
        status: 'failed',
        error:
          'The store has failed for 15 minutes: 503 Service Unavailable. 9 operations are unsent; run the job again to continue.',
      },
      {
        plan: fullPlan(),
        traffic: { samples: someTraffic(40) },
        unsentReasons: [
          { reason: { code: 'store-503', message: 'The store answered 503 after 9 attempts.' }, count: 9 },
        ],
      },
      { ...ALL_APPLIED, applied: 3, appliedRows: 4, deleted: 0, requests: 84 },
    ),
  'failed-early': () =>
    sample(
      {
        status: 'failed',
        step: 'stage',
        error: 'catalog.csv: there is no such file. Look at `source.path` of jobs/nightly-catalog.yaml.',
      },
      { plan: null, totals: NO_TOTALS },
    ),
  interrupted: () =>
    sample(
      { status: 'interrupted', error: 'Interrupted.' },
      { plan: fullPlan() },
      { ...ALL_APPLIED, applied: 5, appliedRows: 5, deleted: 0, requests: 5 },
    ),
  running: () =>
    sample(
      { status: 'running', finishedAt: null, step: 'apply' },
      { plan: fullPlan(), traffic: { samples: someTraffic(8) } },
      { ...ALL_APPLIED, applied: 5, appliedRows: 5, deleted: 0, requests: 5 },
    ),
  nothing: () => {
    const counts = {
      ...COUNTS,
      new: { records: 0, rows: 0 },
      changed: { records: 0, rows: 0 },
      unchanged: { records: 511, rows: 520 },
      rejected: { records: 0, rows: 0 },
      removed: 0,
      deletes: 0,
    };
    return sample(
      {},
      { plan: aPlan({ counts, fieldsChanged: [], rejections: [], shards: [] }) },
      NOTHING_SENT,
    );
  },
  unchanged: () =>
    sample(
      { unchangedSince: 'j2e8' },
      {
        plan: null,
        totals: {
          ...NO_TOTALS,
          rows: 520,
          records: 511,
          unchanged: 511,
          inRows: { ...NO_TOTALS.inRows, unchanged: 520 },
        },
      },
    ),
  contacts: () =>
    sample(
      { kind: 'plan', status: 'planned', job: 'bulk-contacts', resource: 'contacts', pace: PACE },
      { plan: contacts(), rejectsFile: '.storeferry/artifacts/k3f9/rejects.csv' },
      NOTHING_SENT,
    ),
  retry: () => {
    const counts = {
      ...COUNTS,
      rows: 3,
      records: 2,
      new: { records: 0, rows: 0 },
      changed: { records: 2, rows: 3 },
      unchanged: { records: 0, rows: 0 },
      rejected: { records: 0, rows: 0 },
      removed: 0,
      deletes: 0,
    };
    return sample(
      { kind: 'retry', retryOf: 'j2e8' },
      { plan: aPlan({ counts, rejections: [], mode: 'upsert', safety: [], deletesWithheld: 'retry' }) },
      { ...ALL_APPLIED, applied: 2, appliedRows: 3, deleted: 0, requests: 2 },
    );
  },
  lists: () =>
    sample(
      { kind: 'export', job: 'list-statistics', resource: 'subscriber-lists', step: 'finish' },
      { plan: null, totals: { ...NO_TOTALS, requests: 1 }, exported: exported(), history: HISTORY },
    ),
  orders: () =>
    sample(
      { kind: 'export', job: 'orders', resource: 'orders', step: 'finish' },
      {
        plan: null,
        totals: { ...NO_TOTALS, requests: 33 },
        exported: exported({
          location: 'exports/orders.csv',
          mode: 'replace',
          items: 3_204,
          lines: 3_204,
          bytes: 1_234_567,
          notes: ['12 orders changed while they were read: they are as they were last seen.'],
        }),
      },
    ),
  'export-failed': () =>
    sample(
      {
        kind: 'export',
        job: 'orders',
        resource: 'orders',
        status: 'failed',
        error: 'The store answered 401: the key is wrong.',
      },
      { plan: null, totals: { ...NO_TOTALS, requests: 1 } },
    ),
  strange: () =>
    sample(
      { status: 'done-with-rejects', job: 'nächtlicher-katalog', store: 'متجر' },
      { plan: strange(), rejectsFile: '.storeferry/artifacts/k3f9/rejects.csv' },
      { ...ALL_APPLIED },
    ),
};
