import { createHash, hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DRIFT_FILE, REDIRECTS_FILE } from '../model/plan.ts';
import { REJECTS_FILE, REJECTS_WORKBOOK, UNMATCHED_FILE } from '../rejects/rejects-file.ts';
import { STYLESHEET_URL } from '../report/html/document-sections.ts';
import { REPORT_FILE } from '../report/run-facts.ts';
import { openExport } from '../run/export/export-run.ts';
import { rejectsForLanguage } from '../run/read-corrections.ts';
import { recordContent, runRecords } from '../run/records/run-records.ts';
import type { DashboardContext } from './dashboard-context.ts';
import { notFoundError } from './guard/page-error.ts';
import { accessTo, actionRoute } from './pages/link-button.ts';
import { recordsOf } from './pages/record-page.ts';
import { audit, keptRun, type RouteParts, refuseLargeWorkbook, workspaceOf } from './route-parts.ts';

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

async function fileOf(dashboard: DashboardContext, id: string, name: string, languages?: string) {
  const run = await keptRun(dashboard, id);
  const folder = dashboard.context.artifacts.run(id);
  if (!(await folder.exists(name))) throw notFoundError(`The run ${id} has no such file, or has it no more.`);
  const content = name === REJECTS_FILE ? rejectsForLanguage(folder, languages) : folder.read(name);
  return { run, content: await content };
}

/** Sends a file of a run to be saved, and records that. PageError if there is none. */
export async function sendRunFile(
  dashboard: DashboardContext,
  { request, reply }: Exchange,
  id: string,
  { name, type, action }: (typeof RUN_FILES)[number],
): Promise<FastifyReply> {
  const { run, content } = await fileOf(dashboard, id, name, request.headers['accept-language']);
  await recorded(content, audit(dashboard, request, { action, job: run.job, run: run.id }));
  return sendFile(reply, `${run.job}-${run.id}-${name}`, type, content);
}

function sendFile(reply: FastifyReply, name: string, type: string, content: Readable): FastifyReply {
  return reply.headers({ 'content-type': type, 'content-disposition': attachment(name) }).send(content);
}

/** Without its record nothing is sent, and the opened file is closed. */
async function recorded(content: Readable, record: Promise<void>) {
  try {
    await record;
  } catch (error) {
    content.destroy();
    throw error;
  }
}

/** Sends the newest file of an export, and records that. PageError for an import. */
export async function sendExport(
  dashboard: DashboardContext,
  { request, reply }: Exchange,
  name: string,
): Promise<FastifyReply> {
  const { context } = dashboard;
  const job = workspaceOf(dashboard, name).job(name);
  if (job.kind !== 'export') throw notFoundError(`The job ${name} is an import: it writes no file.`);
  const { location, content } = await openExport(context, job, context.signal);
  await recorded(content, audit(dashboard, request, { action: 'download-export', job: name }));
  return sendFile(reply, fileName(location), 'application/octet-stream', content);
}

/** Of which run records are read, and how they are written. */
interface RecordsRequest extends Pick<Parameters<typeof runRecords>[1], 'outcome'> {
  readonly id: string;
  readonly format: Parameters<typeof recordContent>[1];
  readonly languages?: string;
}

/** The records of a run as a file, whose reading is recorded. PageError if it has none, or the visitor may not see them. */
export async function openRecords(
  dashboard: DashboardContext,
  request: FastifyRequest,
  { id, format, outcome, languages }: RecordsRequest,
) {
  const { run, ledger } = await recordsOf(dashboard, id, request.viewer);
  await refuseLargeWorkbook(dashboard, ledger, format);
  await audit(dashboard, request, { action: 'download-records', job: ledger.job, run: ledger.id });
  const open = () => runRecords(dashboard.context, { ...ledger, run, outcome });
  const content = Readable.from(recordContent(open, format, languages), { objectMode: false });
  return { name: `${ledger.job}-${ledger.id}`, content };
}

/** Serves files of runs: the rejects to correct, and the report as one file. */
export function fileRoutes(app: FastifyInstance, { dashboard }: RouteParts): void {
  // Rows of the source contain personal data: only visitors who may correct them get the file.
  for (const file of RUN_FILES.filter(({ action }) => action === 'download-rejects')) {
    app.get(`/runs/:run/${file.name}`, accessTo('download-rejects'), async (request, reply) =>
      sendRunFile(dashboard, { request, reply }, request.subject, file),
    );
  }

  for (const [format, type] of [
    ['csv', CSV],
    ['xlsx', XLSX],
  ] as const) {
    const who = accessTo('download-records');
    app.get(`${actionRoute('download-records')}.${format}`, who, async (request, reply) => {
      const languages = request.headers['accept-language'] ?? '';
      const asked = { id: request.subject, format, languages };
      const { name, content } = await openRecords(dashboard, request, asked);
      return sendFile(reply, `${name}-records.${format}`, type, content);
    });
  }

  // Orders and lists contain personal data.
  app.get(actionRoute('download-export'), accessTo('download-export'), async (request, reply) =>
    sendExport(dashboard, { request, reply }, request.subject),
  );

  app.get(actionRoute('download-report'), accessTo('download-report'), async (request, reply) => {
    const { run, content } = await fileOf(dashboard, request.subject, REPORT_FILE);
    const report = await text(content);
    if (request.fields['download'] !== undefined) {
      await audit(dashboard, request, { action: 'download-report', job: run.job, run: run.id });
      reply.header('content-disposition', attachment(`${run.job}-${run.id}-${REPORT_FILE}`));
    }
    return reply
      .headers({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': reportPolicy(report),
      })
      .send(report);
  });
}

/** The type of workbooks. */
export const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
const CSV = 'text/csv; charset=utf-8';

/** What can be downloaded of a run, and what that is in the audit log. `isLinked`: its page has a link to it; others have buttons. */
export const RUN_FILES = [
  { name: REPORT_FILE, type: 'text/html; charset=utf-8', action: 'download-report', isLinked: false },
  { name: REJECTS_FILE, type: CSV, action: 'download-rejects', isLinked: false },
  { name: REJECTS_WORKBOOK, type: XLSX, action: 'download-rejects', isLinked: false },
  ...[UNMATCHED_FILE, REDIRECTS_FILE, DRIFT_FILE].map(
    (name) => ({ name, type: CSV, action: 'download-rejects', isLinked: true }) as const,
  ),
] as const;

/** Names of jobs consist of letters, digits, dots, `-` and `_`. */
function attachment(name: string) {
  return `attachment; filename="${name}"`;
}

/** The last part of a path or an address, as far as a header can contain it. */
function fileName(location: string) {
  const [path = ''] = location.split(/[?#]/, 1);
  return basename(path).replaceAll(/[^\w.-]/g, '_') || 'export';
}

/** Allows only the report's own stylesheet, which comes first: no script, no request and no form. */
function reportPolicy(report: string) {
  const style = /<style[^>]*>([\s\S]*?)<\/style>/.exec(report)?.[1] ?? '';
  const hash = createHash('sha256').update(style).digest('base64');
  return `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox allow-popups`;
}

const CSS = 'text/css; charset=utf-8';
const JS = 'text/javascript; charset=utf-8';
const OWN_ASSETS = {
  'dashboard.css': CSS,
  'queues.css': CSS,
  'live.js': JS,
  'form.js': JS,
  'icon.svg': 'image/svg+xml',
};

/** All served files; no other name leads to a file. */
const ASSETS = [
  { name: 'report.css', type: CSS, url: STYLESHEET_URL },
  ...Object.entries(OWN_ASSETS).map(([name, type]) => ({
    name,
    type,
    url: new URL(`public/${name}`, import.meta.url),
  })),
];

/** Serves stylesheets, script and icon, also before the sign-in. Browsers revalidate them. */
export async function serveAssets(app: FastifyInstance): Promise<void> {
  for (const { name, type, url } of ASSETS) {
    const content = await readFile(url);
    const etag = `"${hash('sha256', content, 'base64url').slice(0, 20)}"`;
    app.get(`/assets/${name}`, { config: { role: 'anyone' } }, (request, reply) => {
      reply.headers({ etag, 'cache-control': 'no-cache' });
      return request.headers['if-none-match'] === etag
        ? reply.code(304).send()
        : reply.type(type).send(content);
    });
  }
}
