import type { FastifyInstance } from 'fastify';
import type { ImportJob } from '../../config/job/job.ts';
import { writeWhole } from '../../config/new-workspace/write-together.ts';
import { fitHeader } from '../../mapping/guess-mapping.ts';
import type { MappingSpec } from '../../mapping/spec/mapping-spec.ts';
import { explainError, MappingError, StoreferryError } from '../../model/storeferry-error.ts';
import { html } from '../../report/html/markup.ts';
import { formatBytes } from '../../report/printable.ts';
import { lookAtSource } from '../../run/look-at-source.ts';
import { receiveUpload, UPLOAD_LIMIT_BYTES, type Uploads } from '../actions/uploads.ts';
import { audit } from '../audit.ts';
import type { DashboardContext, DashboardLog } from '../dashboard-context.ts';
import { notFound } from '../guard/page-error.ts';
import { jobHref } from '../pages/job-card.ts';
import { takesUploads } from '../pages/job-page.ts';
import { csrfInput, type Frame, frameOf, page, sendPage } from '../pages/page.ts';

interface OfJob {
  readonly Params: { readonly job: string };
}

/** Replaces the uploaded file of a job, as soon as a new one has proved that the job can read it. */
export function uploadRoutes(
  app: FastifyInstance,
  dashboard: DashboardContext,
  { uploads, log }: { readonly uploads: Uploads; readonly log: DashboardLog },
): void {
  const jobOf = (name: string) => {
    const workspace = dashboard.openWorkspace();
    const { job } = workspace.inspectJob(name);
    if (!takesUploads(job)) throw notFound(`The job ${name} reads no uploaded file.`);
    return { workspace, job, path: workspace.path(job.source.path) };
  };

  app.get<OfJob>('/jobs/:job/upload', { config: { who: 'actors' } }, (request, reply) =>
    sendPage(reply, uploadPage(jobOf(request.params.job).job, null, frameOf(dashboard, request))),
  );

  app.post<OfJob>('/jobs/:job/upload', { config: { streamed: true } }, async (request, reply) => {
    const { workspace, job, path } = jobOf(request.params.job);
    const hint = `Put a larger one in its place, ${job.source.path}, or give the job an address.`;
    const limits = { run: `job ${job.name}`, hint };
    const upload = await receiveUpload(request, uploads, limits);
    try {
      const { spec } = workspace.mapping(job.mapping);
      const look = await lookAtSource(upload.path, readingOf(job, spec));
      const { obstacle } = fitHeader(spec, look.header);
      if (obstacle !== null)
        throw new MappingError(`The file does not fit the mapping ${job.mapping}: ${obstacle}.`);
      await writeWhole(path, await upload.read(), { mode: 0o600 });
    } catch (error) {
      if (!(error instanceof StoreferryError)) throw error;
      const problem = dashboard.retell(explainError(error));
      return sendPage(reply, uploadPage(job, problem, frameOf(dashboard, request)), 422);
    } finally {
      await uploads.drop(upload);
    }
    log.info({ job: job.name }, 'replaced the uploaded file');
    await audit(dashboard, request, { action: 'replace-source', job: job.name });
    return reply.redirect(`${jobHref(job.name)}/plan`, 303);
  });
}

/** How a job reads its source. */
export function readingOf({ source }: ImportJob, { csv }: MappingSpec) {
  const { sheet, records, headerRow, encoding, delimiter } = source;
  return {
    ...{ sheet, records, headerRow },
    encoding: encoding ?? csv?.encoding,
    delimiter: delimiter ?? csv?.delimiter,
  };
}

function uploadPage({ name, source }: ImportJob, problem: string | null, frame: Frame): string {
  return page({
    ...frame,
    title: `Upload a new file for ${name}`,
    section: 'jobs',
    notice: problem === null ? null : { tone: 'bad', text: `The file was not taken. ${problem}` },
    body: html`<p class="page-lead">It replaces <code>${source.path}</code>, which every run of <a href="${jobHref(name)}">${name}</a> reads. It must have the columns that the mapping needs. Nothing is sent: plan the job afterwards.</p>
<form class="upload" method="post" action="${jobHref(name)}/upload" enctype="multipart/form-data">
${csrfInput(frame.viewer)}
<p><label for="file">The new file, at most ${formatBytes(UPLOAD_LIMIT_BYTES)}</label>
<input id="file" name="file" type="file" required></p>
<p class="actions"><button type="submit" class="button primary">Upload and replace</button> <a class="button" href="${jobHref(name)}">Cancel</a></p>
</form>`,
  });
}
