import { createHash, hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { FastifyInstance } from 'fastify';
import { REJECTS_FILE, REJECTS_WORKBOOK, UNMATCHED_FILE } from '../rejects/rejects-file.ts';
import { STYLESHEET_URL } from '../report/html/document-sections.ts';
import { openExport } from '../run/export/export-folder.ts';
import { rejectsForLanguage } from '../run/read-corrections.ts';
import { recordContent, runRecords } from '../run/records/run-records.ts';
import { audit } from './audit.ts';
import { notFound } from './guard/page-error.ts';
import { accessTo, actionRoute } from './pages/link-button.ts';
import { refusePersonalData } from './pages/record-page.ts';
import {
  formFields,
  keptRun,
  type OfJob,
  type OfRun,
  type RouteParts,
  rememberedRun,
  workspaceOf,
} from './route-parts.ts';

const REPORT_FILE = 'report.html';

/** Serves files of runs: the rejects to correct, and the report as one file. */
export function fileRoutes(app: FastifyInstance, { dashboard }: RouteParts): void {
  const { context } = dashboard;
  const fileOf = async (id: string, name: string, languages?: string) => {
    const run = await keptRun(dashboard, id);
    const folder = context.artifacts.run(id);
    if (!(await folder.exists(name))) throw notFound(`The run ${id} has no such file, or has it no more.`);
    const content = name === REJECTS_FILE ? rejectsForLanguage(folder, languages) : folder.read(name);
    return { run, content: await content };
  };

  // Rows of the source contain personal data: only visitors who may correct them get the file.
  for (const [file, type] of Object.entries(REJECTS_FILES))
    app.get<OfRun>(`/runs/:run/${file}`, accessTo('download-rejects'), async (request, reply) => {
      const { run, content } = await fileOf(request.params.run, file, request.headers['accept-language']);
      await audit(dashboard, request, { action: 'download-rejects', job: run.job, run: run.id });
      return reply
        .headers({
          'content-type': type,
          'content-disposition': attachment(`${run.job}-${run.id}-${file}`),
        })
        .send(content);
    });

  for (const [format, type] of Object.entries(RECORDS_TYPES)) {
    const who = accessTo('download-records');
    app.get<OfRun>(`${actionRoute('download-records')}.${format}`, who, async (request, reply) => {
      const { run, ledger } = await rememberedRun(dashboard, request.params.run);
      if (ledger === undefined) throw notFound('An export has no records.');
      refusePersonalData(ledger.target, request.viewer);
      await audit(dashboard, request, { action: 'download-records', job: ledger.job, run: ledger.id });
      const open = () => runRecords(context, { ...ledger, run });
      const languages = request.headers['accept-language'] ?? '';
      return reply
        .headers({
          'content-type': type,
          'content-disposition': attachment(`${ledger.job}-${ledger.id}-records.${format}`),
        })
        .send(Readable.from(recordContent(open, format === 'csv' ? 'csv' : 'xlsx', languages)));
    });
  }

  // Orders and lists contain personal data.
  app.get<OfJob>(actionRoute('download-export'), accessTo('download-export'), async (request, reply) => {
    const { job: name } = request.params;
    const job = workspaceOf(dashboard, name).job(name);
    if (job.kind !== 'export') throw notFound(`The job ${name} is an import: it writes no file.`);
    const { location, content } = await openExport(context, job, context.signal);
    await audit(dashboard, request, { action: 'download-export', job: name });
    return reply
      .headers({
        'content-type': 'application/octet-stream',
        'content-disposition': attachment(fileName(location)),
      })
      .send(content);
  });

  app.get<OfRun>(actionRoute('download-report'), accessTo('download-report'), async (request, reply) => {
    const { run, content } = await fileOf(request.params.run, REPORT_FILE);
    const report = await text(content);
    if (formFields(request.query)['download'] !== undefined) {
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

const CSV = 'text/csv; charset=utf-8';
const WORKBOOK = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
/** The formats of the records of a run, with their types. */
const RECORDS_TYPES: Readonly<Record<string, string>> = { csv: CSV, xlsx: WORKBOOK };
/** What holds rejected rows, with its type. */
const REJECTS_FILES: Readonly<Record<string, string>> = {
  [REJECTS_FILE]: CSV,
  [REJECTS_WORKBOOK]: WORKBOOK,
  [UNMATCHED_FILE]: CSV,
};

/** Names of jobs consist of letters, digits, dots, `-` and `_`. */
function attachment(name: string): string {
  return `attachment; filename="${name}"`;
}

/** The last part of a path or an address, as far as a header can contain it. */
function fileName(location: string): string {
  const [path = ''] = location.split(/[?#]/, 1);
  return basename(path).replaceAll(/[^\w.-]/g, '_') || 'export';
}

/** Allows only the report's own stylesheet, which comes first: no script, no request and no form. */
function reportPolicy(report: string): string {
  const style = /<style[^>]*>([\s\S]*?)<\/style>/.exec(report)?.[1] ?? '';
  const hash = createHash('sha256').update(style).digest('base64');
  return `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox allow-popups`;
}

const CSS = 'text/css; charset=utf-8';
const JS = 'text/javascript; charset=utf-8';
const own = (name: string) => new URL(`public/${name}`, import.meta.url);

/** All served files; no other name leads to a file. */
const ASSETS = [
  { name: 'report.css', type: CSS, url: STYLESHEET_URL },
  { name: 'dashboard.css', type: CSS, url: own('dashboard.css') },
  { name: 'queues.css', type: CSS, url: own('queues.css') },
  { name: 'live.js', type: JS, url: own('live.js') },
  { name: 'form.js', type: JS, url: own('form.js') },
  { name: 'icon.svg', type: 'image/svg+xml', url: own('icon.svg') },
] as const;

/** Serves stylesheets, script and icon, also before the sign-in. Browsers revalidate them. */
export async function serveAssets(app: FastifyInstance): Promise<void> {
  for (const { name, type, url } of ASSETS) {
    const content = await readFile(url);
    const etag = `"${hash('sha256', content, 'base64url').slice(0, 20)}"`;
    app.get(`/assets/${name}`, { config: { who: 'anyone' } }, (request, reply) => {
      reply.headers({ etag, 'cache-control': 'no-cache' });
      return request.headers['if-none-match'] === etag
        ? reply.code(304).send()
        : reply.type(type).send(content);
    });
  }
}
