import { existsSync } from 'node:fs';
import { extname } from 'node:path';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import {
  editedText,
  freeName,
  moveNew,
  readEditable,
  writeTogether,
  type YamlEdit,
} from '../../config/edit-file.ts';
import { cronOf, scheduleProblems, timesOf } from '../../config/job/job.ts';
import { isName } from '../../config/store-config.ts';
import type { Workspace } from '../../config/workspace.ts';
import { flow, schemaLine, yamlText } from '../../config/yaml-text.ts';
import type { AuditedAction } from '../../model/action.ts';
import { actionOf } from '../../model/action.ts';
import { withoutAbsent } from '../../model/json-object.ts';
import { namePlaceholders, storeIdentity } from '../../model/remote-address.ts';
import { jobFile } from '../../model/run.ts';
import { explainError, UsageError } from '../../model/storeferry-error.ts';
import { bullets, html, type Slot } from '../../report/html/markup.ts';
import { removeJob, renameJob, settleRenames } from '../../run/execute-run.ts';
import { listLiveRuns } from '../../run/report/read-stored-report.ts';
import { confirmationPage } from '../actions/confirmation.ts';
import { PageError } from '../guard/page-error.ts';
import { accessTo, actionHref, actionRoute, jobHref, jobLink } from '../pages/link-button.ts';
import { alertText, type Page } from '../pages/page.ts';
import {
  type Choice,
  fieldset,
  formActions,
  NAME_CHECK,
  namedChoices,
  postForm,
} from '../pages/post-form.ts';
import { audit, type RouteParts, workspaceToEdit } from '../route-parts.ts';
import { type Control, controlOf, type EditValues, fieldErrors } from './edit-field.ts';
import { scheduleControls } from './edit-page.ts';
import { EXPORTS } from './edit-routes.ts';

/** A form of a few fields, what they have at first, and what saving them does. */
interface JobForm {
  readonly title: string;
  readonly lead: Slot;
  readonly controls: readonly Control[];
  readonly effects?: readonly string[];
  readonly initialValues: EditValues;
  /** Gives the name of the job, or what is wrong by the fields; '' for no field. */
  readonly save: (values: EditValues) => Promise<string | Errors>;
}

type Errors = Readonly<Record<string, string>>;

/** Jobs as files: exports are made, and jobs copied, renamed and removed. */
export function jobFileRoutes(app: FastifyInstance, { dashboard }: RouteParts): void {
  const { context, actions, readWorkspace, redact } = dashboard;
  /** PageError while the job works: its run reads the file, and is listed under its name. */
  const refuseActive = async (job: string) => {
    const runs = await listLiveRuns(context, { job, statuses: ['running'] });
    if (!(await actions.atWork()).has(job) && !runs.some(({ status }) => status === 'running')) return;
    throw new PageError(409, `${job} is running`, 'Wait until its run has ended, or interrupt it.');
  };
  /** Writes the file of a new job, unless its name or, as its checks say, its text is wrong. */
  const create = async (
    workspace: Workspace,
    name: string,
    { text, errors }: { readonly text?: string; readonly errors: Errors },
  ): Promise<string | Errors> => {
    const wrong = { ...nameErrors(workspace, name), ...errors };
    if (text === undefined || Object.keys(wrong).length > 0) return wrong;
    const found = workspace.inspectionWith({ [jobFile(name)]: text }).job(name)?.problems ?? [];
    if (found.length > 0) return { '': redact(found.map(({ message }) => message).join('; ')) };
    writeTogether([{ path: workspace.path(jobFile(name)), content: { text }, existing: 'refuse' }]);
    return name;
  };
  /** The pages of a form: what it shows, and what becomes of it. */
  const formRoutes = (
    does: AuditedAction['action'],
    path: string,
    after: string,
    formOf: (job: string) => JobForm,
  ) => {
    const show = (
      { subject: job, viewer }: FastifyRequest,
      { title, lead, controls, effects = [] }: JobForm,
      values: EditValues,
      errors: Errors,
    ): Page => {
      const facts = { values, shown: values, errors: fieldErrors(errors) };
      const [action, back] = job === '' ? [path, '/'] : [actionHref(does, job), jobHref(job)];
      const body = html`${fieldset(
        'The job',
        controls.map((control) => controlOf(control, facts)),
      )}
${formActions(actionOf(does).button?.label ?? 'Create', back)}`;
      const isWrong = Object.keys(errors).length > 0;
      return {
        title,
        section: 'jobs',
        form: true,
        notice: isWrong ? { tone: 'bad', text: 'Nothing was written: see below.' } : null,
        lead,
        body: html`${errors[''] !== undefined && alertText(errors[''])}
${effects.length > 0 && bullets(effects, 'does')}
${postForm({ action, style: 'draft', body }, viewer)}`,
      };
    };
    app.get(path, accessTo(does), (request, reply) => {
      const form = formOf(request.subject);
      return reply.sendPage(show(request, form, form.initialValues, {}));
    });
    app.post(path, accessTo(does), async (request, reply) => {
      const form = formOf(request.subject);
      const { fields } = request;
      const values = Object.fromEntries(form.controls.map(({ name }) => [name, (fields[name] ?? '').trim()]));
      const saved = await form.save(values);
      if (typeof saved === 'object') return reply.sendPage(show(request, form, values, saved), 422);
      await audit(dashboard, request, { action: does, job: saved });
      return reply.redirect(`${jobHref(saved)}${after}`, 303);
    });
  };

  formRoutes('make-job', '/exports/new', '', () => {
    const workspace = readWorkspace();
    const stores = storeChoices(workspace);
    return {
      title: 'New export',
      lead: 'A job that reads from the store into a file. It changes nothing in the store.',
      controls: [
        {
          name: 'what',
          label: 'What is exported?',
          choices: Object.entries(EXPORTED).map(([value, { label }]): Choice => [value, label]),
        },
        { name: 'store', label: 'Store', choices: stores },
        { ...NAME, hint: 'Its file is in the folder exports, with this name.' },
        ...scheduleControls(),
      ],
      initialValues: { ...EXPORT_USUAL, store: stores[0]?.[0] ?? '' },
      save: (values) => create(workspace, values['name'] ?? '', exportText(values)),
    };
  });
  formRoutes('duplicate', actionRoute('duplicate'), '/edit', (job) => {
    const workspace = workspaceToEdit(dashboard, job);
    const file = readEditable(workspace, jobFile(job));
    const stores = storeChoices(workspace);
    return {
      title: `Duplicate ${job}`,
      lead: 'A job with the same settings, such as for a second store.',
      controls: [NAME, { name: 'store', label: 'Store', choices: stores }],
      effects: [
        'Its schedule is paused until you resume it. Nothing is sent.',
        'It reads the same source, with the same mapping. An export writes a file of its own name; check its destination.',
      ],
      initialValues: { name: `${job}-2`, store: String(file.at(['store']) ?? '') },
      save: ({ name = '', store = '' }) => {
        const isKnown = stores.some(([one]) => one === store);
        const errors = isKnown ? {} : { store: 'Choose a store.' };
        const edited =
          file.problems.length > 0
            ? { problem: 'The file of the job is not valid YAML.' }
            : editedText(file, copyEdits(file, name, store));
        const copy =
          'problem' in edited ? { errors: { ...errors, '': edited.problem } } : { text: edited.text, errors };
        return create(workspace, name, copy);
      },
    };
  });
  formRoutes('rename', actionRoute('rename'), '', (job) => {
    const workspace = workspaceToEdit(dashboard, job);
    return {
      title: `Rename ${job}`,
      lead: html`The file of ${jobLink(job)} gets another name.`,
      controls: [NAME],
      initialValues: { name: job },
      effects: [
        'Its runs, its schedule and what it has sent keep their history under the new name. Nothing is sent twice.',
        'Reports that were written before, and the audit log, have the old name.',
      ],
      async save({ name = '' }) {
        await refuseActive(job);
        const from = workspace.path(jobFile(job));
        const to = workspace.path(jobFile(name));
        await settleRenames(context, job);
        // Another dashboard was killed while it renamed the job.
        if (isName(name) && !existsSync(from) && existsSync(to)) return name;
        const errors = nameErrors(workspace, name);
        if (Object.keys(errors).length > 0) return errors;
        const { job: known } = workspace.inspectJob(job);
        const targets =
          known?.kind === 'import'
            ? [
                {
                  store: known.store,
                  storeId: storeIdentity(workspace.store(known.store)),
                  resource: known.import,
                },
              ]
            : [];
        try {
          await renameJob(context, { from: job, to: name, targets }, () => moveNew(from, to));
          return name;
        } catch (error) {
          if (error instanceof UsageError) return { name: explainError(error) };
          throw error;
        }
      },
    };
  });

  app.get(actionRoute('remove'), accessTo('remove'), ({ subject: job, viewer }, reply) => {
    workspaceToEdit(dashboard, job);
    return reply.sendPage(confirmationPage(confirmRemove(job), viewer));
  });
  app.post(actionRoute('remove'), async (request, reply) => {
    const { subject: job } = request;
    const workspace = workspaceToEdit(dashboard, job);
    await refuseActive(job);
    const jobs = workspace.path('jobs');
    await removeJob(context, job, () =>
      moveNew(workspace.path(jobFile(job)), `${jobs}/${freeName(jobs, `${job}.yaml.removed`)}`),
    );
    await audit(dashboard, request, { action: 'remove', job });
    return reply.redirect('/', 303);
  });
}

function confirmRemove(job: string) {
  return {
    does: 'remove',
    to: job,
    title: `Delete the job ${job}?`,
    lead: html`${jobLink(job)} no longer runs, and is no longer listed.`,
    effects: [
      'Nothing changes in the store. What Storeferry knows of its records, its runs and their reports stay.',
      html`Its file stays as <code>jobs/${job}.yaml.removed</code>: without this ending it is the job again.`,
    ],
  } as const;
}

function nameErrors(workspace: Workspace, name: string): Errors {
  if (!isName(name))
    return { name: 'Give letters, digits, dots, - and _, beginning with a letter or digit.' };
  return existsSync(workspace.path(jobFile(name))) ? { name: 'There is already a job with this name.' } : {};
}

function storeChoices({ inspection }: Workspace) {
  return namedChoices(inspection.stores().names ?? []);
}

/** The changes of a copy: its store, its own file, and a schedule that somebody has to resume. */
function copyEdits(file: ReturnType<typeof readEditable>, name: string, store: string): readonly YamlEdit[] {
  const path = file.at(['destination', 'path']);
  const isOwn = typeof path === 'string' && !path.includes('${');
  return withoutAbsent([
    file.at(['store']) !== store && { set: ['store'], value: store },
    isOwn && {
      set: ['destination', 'path'],
      value: `${EXPORTS}${[name, ...namePlaceholders(path)].join('-')}${extname(path)}`,
    },
    file.at(['schedule']) !== undefined && { pause: 'schedule' },
  ]);
}

const NAME = { name: 'name', label: 'Name of the job', ...NAME_CHECK };

const EXPORTED: Readonly<Record<string, Readonly<Record<'export' | 'mode' | 'file' | 'label', string>>>> = {
  lists: {
    export: 'subscriber-lists',
    mode: 'append',
    file: '',
    label: 'Statistics of lists, collected for trends',
  },
  'new-orders': {
    export: 'orders',
    mode: 'new',
    file: '-{date}-{number}',
    label: 'Orders: each time a file of those that are new or changed',
  },
  orders: {
    export: 'orders',
    mode: 'replace',
    file: '',
    label: 'Orders: one file of all, written again each time',
  },
};
const EXPORT_USUAL: EditValues = {
  name: 'list-statistics',
  what: 'lists',
  timezone: '',
  ...timesOf('0 6 * * *'),
};

/** The file of a new export, or what is wrong. */
function exportText(values: EditValues): { readonly text?: string; readonly errors: Errors } {
  const { name = '', what = '', store = '', timezone = '' } = values;
  const chosen = Object.hasOwn(EXPORTED, what) ? EXPORTED[what] : undefined;
  if (chosen === undefined) return { errors: { what: 'Choose what is exported.' } };
  const wrong = scheduleProblems(values);
  if (wrong.size > 0) return { errors: Object.fromEntries(wrong) };
  const cron = cronOf(values);
  const destination = { path: `${EXPORTS}${name}${chosen.file}.csv`, mode: chosen.mode };
  const lines = withoutAbsent([
    schemaLine('job', '../'),
    `export: ${chosen.export}`,
    `store: ${yamlText(store)}`,
    `destination: ${flow(destination)}`,
    cron !== undefined && `schedule: ${flow({ cron, timezone: timezone === '' ? 'UTC' : timezone })}`,
  ]);
  return { text: `${lines.join('\n')}\n`, errors: {} };
}
