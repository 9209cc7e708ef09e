import { createHash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import type { FastifyInstance } from 'fastify';
import type { Run } from '../../model/run.ts';
import { REJECTS_FILE } from '../../report/rejects/rejects-index.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { notFound } from '../guard/page-error.ts';

const REPORT_FILE = 'report.html';

/** Gives the files of runs: the rejects to be corrected, and the report as it is mailed. */
export function fileRoutes(app: FastifyInstance, { context }: Pick<DashboardContext, 'context'>): void {
  const fileOf = async (id: string, name: string) => {
    const run = await context.state.runs.get(id);
    if (run === undefined) throw notFound(`There is no run ${id}.`);
    const folder = context.artifacts.run(id);
    if (!(await folder.exists(name))) throw notFound(`The run ${id} has no such file, or has it no more.`);
    return { run, content: await folder.read(name) };
  };

  // Rows as the source has them, people's addresses included: for those who are to correct them.
  const forActors = { config: { who: 'actors' } } as const;
  app.get<{ Params: { run: string } }>('/runs/:run/rejects.csv', forActors, async (request, reply) => {
    const { run, content } = await fileOf(request.params.run, REJECTS_FILE);
    return reply
      .headers({ 'content-type': 'text/csv; charset=utf-8', 'content-disposition': attachment(run) })
      .send(content);
  });

  app.get<{ Params: { run: string } }>('/runs/:run/report.html', async (request, reply) => {
    const { content } = await fileOf(request.params.run, REPORT_FILE);
    const report = await text(content);
    return reply
      .headers({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': reportPolicy(report),
      })
      .send(report);
  });
}

/** Names of jobs are letters, digits, dots, `-` and `_`. */
function attachment({ job, id }: Run): string {
  return `attachment; filename="${job}-${id}-rejects.csv"`;
}

/** The report's own stylesheet, which stands first, works; no script, no request and no form does, whatever is in it. */
function reportPolicy(report: string): string {
  const style = /<style[^>]*>([\s\S]*?)<\/style>/.exec(report)?.[1] ?? '';
  const hash = createHash('sha256').update(style).digest('base64');
  return `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox allow-popups`;
}
