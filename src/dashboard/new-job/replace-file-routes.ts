import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { writeWhole } from '../../config/edit-file.ts';
import type { Workspace } from '../../config/workspace.ts';
import { SourceError, sentenceOf } from '../../model/storeferry-error.ts';
import { placeInWorkspace } from '../../onboarding/preview-source.ts';
import { html } from '../../report/html/markup.ts';
import { formatBytes } from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import { receiveUpload, UPLOAD_LIMIT_BYTES, withoutFolder } from '../actions/uploads.ts';
import { notFoundError } from '../guard/page-error.ts';
import { placeWords } from '../pages/job-card.ts';
import { jobHref, jobLink } from '../pages/link-button.ts';
import type { Page } from '../pages/page.ts';
import { uploadForm } from '../pages/post-form.ts';
import { audit, FOR_EDITORS, formFields, type RouteParts } from '../route-parts.ts';
import { type UploadTarget, uploadTargets } from './upload-targets.ts';

/** Replaces a file that a job reads, as soon as an uploaded one has proved that the job can read it. */
export function replaceFileRoutes(app: FastifyInstance, { dashboard, uploads }: RouteParts): void {
  const targetOf = ({ subject: name, query }: FastifyRequest) => {
    const { file = 'source' } = formFields(query);
    const workspace = dashboard.readWorkspace();
    const targetsOf = (one: string) => {
      const { job } = workspace.inspectJob(one);
      return job?.kind === 'import' ? uploadTargets(workspace, job) : [];
    };
    const target = targetsOf(name).find(({ id }) => id === file);
    if (target === undefined) throw notFoundError(`The job ${name} reads no such file that can be uploaded.`);
    const { path } = target;
    const others = workspace
      .jobNames()
      .filter((other) => other !== name && targetsOf(other).some((one) => one.path === path));
    return { workspace, job: name, target: { ...target, others } };
  };

  app.get('/jobs/:job/upload', FOR_EDITORS, (request, reply) => {
    const { job, target } = targetOf(request);
    return reply.sendPage(uploadPage(job, target, null, request.viewer));
  });

  app.post('/jobs/:job/upload', { config: { streamed: true } }, async (request, reply) => {
    const { workspace, job, target } = targetOf(request);
    const hint = `Put a larger one in its place, ${target.path}, or give the job an address.`;
    const upload = await receiveUpload(request, uploads, { run: `job ${job}`, hint });
    try {
      await target.refuse(upload);
      const path = await pathInWorkspace(workspace, target.path);
      await mkdir(dirname(path), { recursive: true });
      await writeWhole(path, await upload.read(), { mode: 0o600 });
    } catch (error) {
      const problem = withoutFolder(dashboard.redact(sentenceOf(error)), upload);
      return reply.sendPage(uploadPage(job, target, problem, request.viewer), 422);
    } finally {
      await uploads.drop(upload);
    }
    const action = target.id === 'source' ? 'replace-source' : 'replace-table';
    await audit(dashboard, request, { action, job });
    return reply.redirect(`${jobHref(job)}/plan`, 303);
  });
}

/** The real path of a file that an upload writes; SourceError if it is, or a link leads, outside the workspace. */
async function pathInWorkspace(workspace: Workspace, path: string) {
  const allowed = await placeInWorkspace(path, workspace.dir);
  if ('real' in allowed) return allowed.real;
  throw new SourceError(`The file ${path} ${allowed.refused}.`, { hint: allowed.hint });
}

function uploadPage(
  job: string,
  { id, what, path, isThere, others }: UploadTarget & { readonly others: readonly string[] },
  problem: string | null,
  viewer: Viewer,
): Page {
  const link = html`${jobLink(job)}${others.map((other) => html`, ${jobLink(other)}`)}`;
  return {
    form: true,
    title: id === 'source' ? `Upload a new file for ${job}` : `Upload the ${what} of ${job}`,
    section: 'jobs',
    notice: problem === null ? null : { tone: 'bad', text: `The file was not taken. ${problem}` },
    lead: html`It ${isThere ? 'replaces' : 'becomes'} ${placeWords({ path })}, ${id === 'source' ? html`which every run of ${link} reads` : html`the ${what} that every run of ${link} reads`}. ${id === 'pictures' ? 'It must be a ZIP.' : 'It must have the columns that the job needs.'} Nothing is sent: plan the job afterwards.`,
    body: uploadForm(
      {
        action: `${jobHref(job)}/upload?${new URLSearchParams({ file: id })}`,
        label: `The new file, at most ${formatBytes(UPLOAD_LIMIT_BYTES)}`,
        button: `Upload${isThere ? ' and replace' : ''}`,
        back: jobHref(job),
      },
      viewer,
    ),
  };
}
