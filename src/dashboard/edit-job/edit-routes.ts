import type { FastifyInstance } from 'fastify';
import {
  type EditableFile,
  editedText,
  editFile,
  hasSecret,
  type Path,
  readEditable,
  type YamlEdit,
} from '../../config/edit-file.ts';
import { scheduleProblems, whyNoSchedule } from '../../config/job/job.ts';
import { overriddenText, type Workspace } from '../../config/workspace.ts';
import { placeholder } from '../../config/yaml-text.ts';
import { withoutAbsent } from '../../model/json-object.ts';
import { jobFile } from '../../model/run.ts';
import { placeInWorkspace } from '../../onboarding/preview-source.ts';
import { testNotifications } from '../../run/execute-run.ts';
import { secretRedactor } from '../../text/mask-personal-data.ts';
import { serverTimezone } from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import { jobHref } from '../pages/link-button.ts';
import { audit, FOR_EDITORS, type RouteParts, workspaceToEdit } from '../route-parts.ts';
import { besideFields, type EditValues, fieldErrors, mapValues } from './edit-field.ts';
import { editsOf, pathsOf, valuesOf, withTypedValues } from './edit-form.ts';
import { type EditPageFacts, editPage, LOCATION_MISSING } from './edit-page.ts';
import { MAIL_SERVER, typedMailServer } from './notify-groups.ts';

/** Changes the settings of a job in its file; the file stays as it is elsewhere. */
export function editRoutes(app: FastifyInstance, { dashboard }: Pick<RouteParts, 'dashboard'>): void {
  const factsOf = (workspace: Workspace, name: string): EditPageFacts => {
    const { inspection } = workspace;
    // Reads also the secrets of the file, which its text must not show.
    const job = inspection.job(name)?.value;
    const mapping = job?.kind === 'import' ? inspection.mapping(job.mapping)?.value : undefined;
    const file = { ...readEditable(workspace, jobFile(name)), params: mapping?.spec.params };
    const redactor = secretRedactor(HIDDEN);
    for (const secret of [...workspace.secrets(), ...file.secrets]) redactor.add(secret);
    const text = redactor.redact(file.text);
    const values = mapValues(valuesOf(file, serverTimezone()), (value) => redactor.redact(value));
    return {
      name,
      file,
      values,
      text,
      program: dashboard.program,
      hasWorker: dashboard.workerHealth !== undefined,
      shown: values,
      errors: new Map(),
    };
  };

  const testedPage = async (name: string, viewer: Viewer) => {
    const workspace = workspaceToEdit(dashboard, name);
    const { notify } = workspace.job(name);
    const results = await testNotifications(dashboard.context, name, notify);
    const told = results.map(({ host, problem }) => `${host}: ${problem ?? 'it has arrived'}`);
    const isGood = results.length > 0 && results.every(({ problem }) => problem === null);
    const text =
      results.length === 0
        ? 'Saved. There is no recipient that a test could be sent to.'
        : `Saved, and sent a test. ${told.join('. ')}.`;
    const tested = { tone: isGood ? 'good' : 'warning', text: dashboard.redact(text) } as const;
    return editPage({ ...factsOf(workspace, name), tested }, viewer);
  };

  app.get('/jobs/:job/edit', FOR_EDITORS, (request, reply) => {
    const { subject: name } = request;
    const facts = factsOf(workspaceToEdit(dashboard, name), name);
    return reply.sendPage(editPage(facts, request.viewer), facts.file.problems.length > 0 ? 422 : 200);
  });

  app.post('/jobs/:job/edit', async (request, reply) => {
    const { subject: name } = request;
    const workspace = workspaceToEdit(dashboard, name);
    const facts = factsOf(workspace, name);
    const { file, values: now } = facts;
    const fields = request.fields;
    const before = mapValues(now, (value, name) => fields[`was.${name}`] ?? value);
    const typed = withTypedValues(file, now, fields);
    const values = merged(now, before, typed);
    const again = (status: number, more: Partial<EditPageFacts>) => {
      const page = { ...facts, values, ...more };
      const shown = { ...page, values: withoutSecrets(page.values, now) };
      return reply.sendPage(editPage(shown, request.viewer), status);
    };
    const outdated = () => {
      const current = factsOf(workspaceToEdit(dashboard, name), name);
      return again(409, { ...current, values: merged(current.values, before, typed), outdated: before });
    };
    if (file.problems.length > 0) return again(422, {});
    if (fields['sha256'] !== file.sha256) return outdated();
    const missing = fieldProblems(now, values);
    if (missing.size > 0) return again(422, { errors: missing });
    const edits = editsOf(file, now, values);
    const isTest = fields['do'] === 'test';
    if (edits.length === 0 && !isTest) return reply.redirect(jobHref(name), 303);
    const server = typedMailServer(values);
    const variables = typeof server === 'string' ? { [MAIL_SERVER]: server } : {};
    const [overridden] = dashboard.newStore.known().overridden(variables);
    const wrong =
      overridden === undefined ? mailProblem(workspace, edits, server) : overriddenText(overridden);
    if (wrong !== undefined) return again(422, { errors: fieldErrors({ [mailField(values)]: wrong }) });
    const outside = await whyPathRefused(workspace, name, file, edits);
    if (outside !== undefined)
      return again(422, { errors: fieldErrors({ [outside.field]: outside.message }) });
    const paths = pathsOf(file);
    const saved = editFile(workspace, jobFile(name), {
      variables,
      sha256: file.sha256,
      edits,
      fields: [...paths.values()].flat(),
      check: (inspection) => inspection.job(name)?.problems ?? [],
    });
    switch (saved.kind) {
      case 'outdated':
        return outdated();
      case 'refused':
        return again(422, { errors: besideFields(saved.problems, paths, dashboard.redact) });
      case 'saved':
        await audit(dashboard, request, { action: 'edit', job: name });
        if (isTest) return reply.sendPage(await testedPage(name, request.viewer));
        if (saved.removed.length === 0) return reply.redirect(jobHref(name), 303);
        return reply.sendPage(
          editPage(
            { ...factsOf(workspaceToEdit(dashboard, name), name), removed: saved.removed },
            request.viewer,
          ),
        );
      default:
        return saved satisfies never;
    }
  });
}

/** What is wrong with the mail server of the form, or with none. */
function mailProblem(
  { hasVariable }: Workspace,
  edits: readonly YamlEdit[],
  server: string | null | undefined,
): string | undefined {
  if (server === null) return 'Give the address of a mail server, such as smtps://mail.example.';
  const isNeeded = edits.some((edit) => 'template' in edit && edit.template === placeholder(MAIL_SERVER));
  if (!isNeeded || hasVariable(MAIL_SERVER) || server !== undefined) return undefined;
  return 'Give the mail server: none is known yet.';
}

/** The field of the mail server of the last recipient by e-mail. */
function mailField(values: EditValues) {
  const mails = Object.keys(values).filter(
    (name) => /^notify\.\d+\.kind$/.test(name) && values[name] === 'email',
  );
  return (mails.at(-1) ?? '').replace(/kind$/, 'mailServer');
}

/** Shown in place of a secret of the file. */
const HIDDEN = '[secret not shown]';

/** What was typed, in the fields where something was typed, and the file elsewhere. */
function merged(now: EditValues, before: EditValues, typed: EditValues): EditValues {
  return mapValues(now, (value, name) => {
    const own = typed[name];
    return own === undefined || own === before[name] ? value : own;
  });
}

/** A typed secret of an address is not sent back. */
function withoutSecrets(values: EditValues, now: EditValues): EditValues {
  return mapValues(values, (value, name) => (hasSecret(value) ? (now[name] ?? '') : value));
}

type Errors = EditPageFacts['errors'];

/**
 * Why the form may not save a path that a job reads or writes; undefined if it may. Who edits jobs in a browser must not thereby
 * reach other files of this machine: such paths are written into the job file by hand. Judges the value, with its placeholders
 * filled in, and each path that its braces stand for.
 */
async function whyPathRefused(
  workspace: Workspace,
  name: string,
  file: EditableFile,
  edits: readonly YamlEdit[],
): Promise<{ readonly field: string; readonly message: string } | undefined> {
  if (!edits.some((edit) => 'to' in edit && edit.to !== undefined && fieldOfPlace(edit.set) !== undefined))
    return undefined;
  const edited = editedText(file, edits);
  // A text that is refused is not saved.
  if ('problem' in edited) return undefined;
  const job = workspace.inspectionWith({ [jobFile(name)]: edited.text }).job(name)?.value;
  const path = job?.kind === 'import' ? job.source.path : job?.destination.path;
  const watch = job?.kind === 'import' ? job.source.watch : undefined;
  const isEdited = (field: string) => edits.some((edit) => 'to' in edit && fieldOfPlace(edit.set) === field);
  if (watch !== undefined && isEdited('location') && !isPathIn(INBOX, watch)) {
    const message = `Give files of the folder ${INBOX}, such as ${INBOX}*.csv: what arrives is moved. Another folder is written into the file of the job by hand.`;
    return { field: 'location', message };
  }
  const pictures = job?.kind === 'import' ? job.images?.publish : undefined;
  if (path !== undefined && job?.kind === 'export' && !isPathIn(EXPORTS, path)) {
    const message = `Give a path in the folder ${EXPORTS}, such as ${EXPORTS}orders.csv: other files of the workspace are settings. A path elsewhere is written into the file of the job by hand.`;
    return { field: 'location', message };
  }
  const named = {
    location: path,
    'images.publish.from': pictures?.from,
    'images.publish.path': pictures?.path,
  };
  for (const [field, written] of Object.entries(named)) {
    if (written === undefined || !isEdited(field)) continue;
    const place = await placeInWorkspace(written, workspace.dir).catch(() => ({
      refused: 'cannot be followed',
    }));
    if ('refused' in place) {
      const message = `Give a path inside the workspace: this one ${place.refused}. A path outside it is written into the file of the job by hand.`;
      return { field, message };
    }
  }
  return undefined;
}

/** The field of a path that a job reads or writes. */
function fieldOfPlace(path: Path) {
  const name = path.join('.');
  if (['source.path', 'source.watch', 'destination.path'].includes(name)) return 'location';
  return ['images.publish.from', 'images.publish.path'].find((field) => field === name);
}

/** The folder of the files that a form may name for exports: others are settings, which an export would replace. */
export const EXPORTS = 'exports/';

/** The folder of files that a form may let arrive: others are settings, which a worker would move. */
const INBOX = 'inbox/';

function isPathIn(folder: string, path: string) {
  return path.startsWith(folder) && path.split('/').every((part) => /^[^.\\~][^\\]*$/.test(part));
}

/** Problems that the checks of the file cannot see: a blank field, a hidden secret in a new address, a paused schedule (a comment). */
function fieldProblems(now: EditValues, values: EditValues): Errors {
  const { place, location, schedule, timezone = '' } = values;
  const isNew = location !== undefined && (location !== now['location'] || place !== now['place']);
  // A paused schedule is a comment, which the checks of a file do not read.
  const isPaused = schedule !== 'no' && values['paused'] === 'on' && timezone !== now['timezone'];
  const wrong = isPaused ? whyNoSchedule('* * * * *', timezone || 'UTC') : undefined;
  const found = withoutAbsent<readonly [field: string, why: string]>([
    isNew &&
      location.includes(HIDDEN) && [
        'location',
        'Give the whole address: a secret of the file is not shown here.',
      ],
    wrong !== undefined && ['timezone', wrong],
    location === '' && ['location', LOCATION_MISSING],
    ...scheduleProblems(values),
  ]);
  return fieldErrors(Object.fromEntries(found));
}
