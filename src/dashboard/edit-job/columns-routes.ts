import { hash, randomUUID } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import {
  type EditableFile,
  editedText,
  editFile,
  freeYamlName,
  readEditable,
  writeTogether,
} from '../../config/edit-file.ts';
import type { ImportJob } from '../../config/job/job.ts';
import type { Workspace } from '../../config/workspace.ts';
import type { MappingFile, MappingSpec } from '../../mapping/spec/mapping-spec.ts';
import { jobFile } from '../../model/run.ts';
import { type ConfigurationProblem, formatPlace, sentenceOf } from '../../model/storeferry-error.ts';
import {
  browserAccess,
  columnWords,
  describeLook,
  examineIsolated,
  lookAtSource,
  type SourceLook,
} from '../../onboarding/preview-source.ts';
import { bullets, foreign, html, quiet, styledText } from '../../report/html/markup.ts';
import { checkMappings } from '../../run/inputs/open-mapping.ts';
import { counted, listed, printable } from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import { keptReading } from '../actions/uploads.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { previewPart, SHOW_AGAIN } from '../new-job/draft-page.ts';
import { FETCH_WITHIN_MS } from '../new-job/draft-session.ts';
import { columnsNotShown, fieldSelect, MAX_COLUMNS_SHOWN, recordRows } from '../new-job/file-grid.ts';
import { readingOf, uploadedName } from '../new-job/upload-targets.ts';
import { placeWords } from '../pages/job-card.ts';
import { buttonRow, jobHref, linkButton } from '../pages/link-button.ts';
import { alertText, foldedPart, type Notice, noticeText, type Page, scrolledTable } from '../pages/page.ts';
import { attributes, type Choice, fieldset, formActions, postForm } from '../pages/post-form.ts';
import {
  audit,
  FOR_EDITORS,
  type FormFields,
  importOf,
  limitConcurrentReads,
  type RouteParts,
  workspaceToEdit,
} from '../route-parts.ts';
import {
  changedLines,
  type MappedColumn,
  mappedColumns,
  matchingEdits,
  matchingOf,
  openFields,
  settled,
} from './mapped-columns.ts';

/** The maximum number of sources that are kept while their columns are matched. */
const MAX_CONCURRENT_READS = 4;

/** A job, its mapping as a file, and the file that a change is written to. */
interface OpenMatching {
  readonly workspace: Workspace;
  readonly job: ImportJob;
  readonly mapping: MappingFile;
  readonly file: EditableFile;
  /** The name of the mapping after a change: a shipped one is copied. */
  readonly target: string;
  /** Other jobs that use the mapping, and change with it. */
  readonly others: readonly string[];
}

/** Matches the columns of a job's source with its mapping, shows the first records, and changes the file of the mapping. */
export function columnsRoutes(app: FastifyInstance, { dashboard }: RouteParts): void {
  const looks = new Map<string, Promise<SourceLook>>();

  const open = (name: string): OpenMatching => {
    const { workspace, job } = importOf(dashboard, name, 'it has no mapping');
    const mapping = workspace.mapping(job.mapping);
    // The job is to name the copy.
    if (mapping.shipped) workspaceToEdit(dashboard, name);
    const target = mapping.shipped ? freeYamlName(join(workspace.dir, 'mappings'), name) : mapping.name;
    const others = workspace.jobNames().filter((other) => {
      const used = workspace.inspectJob(other).job;
      return other !== name && used?.kind === 'import' && used.mapping === mapping.name;
    });
    const path = mapping.shipped ? join(mapping.dir, `${mapping.name}.yaml`) : fileOf(mapping.name);
    return {
      workspace,
      job,
      mapping,
      target,
      file: readEditable(workspace, path),
      others: mapping.shipped ? [] : others,
    };
  };

  const factsOf = (opened: OpenMatching, id: string, fields: FormFields) =>
    limitConcurrentReads(() => readMatching(dashboard, looks, { opened, id, fields }));

  app.get('/jobs/:job/columns', FOR_EDITORS, async (request, reply) => {
    const opened = open(request.subject);
    const facts = await factsOf(opened, randomUUID(), {});
    const status = typeof facts === 'string' ? 422 : 200;
    return reply.sendPage(columnsPage(opened.job, facts, request.viewer), status);
  });

  app.post('/jobs/:job/columns', async (request, reply) => {
    const { subject: name } = request;
    const fields = request.fields;
    const opened = open(name);
    const { mapping, file } = opened;
    const id = fields['look'] ?? randomUUID();
    const show = (status: number, facts: ColumnsPageFacts | string) =>
      reply.sendPage(columnsPage(opened.job, facts, request.viewer), status);
    const showOutdated = async () => {
      const facts = await factsOf(open(name), id, {});
      return show(409, typeof facts === 'string' ? facts : { ...facts, notice: OUTDATED });
    };
    const saves = fields['do'] === 'save';
    if (saves && fields['sha256'] !== file.sha256) return await showOutdated();
    const facts = await factsOf(opened, id, fields);
    if (!saves) return show(200, facts);
    if (typeof facts === 'string' || facts.problems.length > 0) return show(422, facts);
    // The page has not shown them yet.
    if (facts.failing.length > 0 && fields['failing'] !== hash('sha256', facts.edited))
      return show(422, facts);
    if (facts.edited === facts.text) return reply.redirect(jobHref(name), 303);
    const saved = mapping.shipped
      ? saveCopy(opened, facts.edited)
      : saveEdits(opened.workspace, fileOf(mapping.name), facts);
    if (saved === 'outdated') return await showOutdated();
    if (saved !== 'saved') return show(422, { ...facts, problems: saved.map(dashboard.redact) });
    await audit(dashboard, request, { action: 'edit', job: name });
    return reply.redirect(`${jobHref(name)}/plan`, 303);
  });
}

/** The look at a source, which is read once, and what is typed of its columns. */
interface MatchingRequest {
  readonly opened: OpenMatching;
  readonly id: string;
  readonly fields: FormFields;
}

/** The content of the page that matches the columns of a job; a sentence where its source cannot be read. */
async function readMatching(
  { context, redact }: DashboardContext,
  looks: Map<string, Promise<SourceLook>>,
  { opened, id, fields }: MatchingRequest,
) {
  const { workspace, job, mapping, file, target, others } = opened;
  const look = await keptReading(looks, MAX_CONCURRENT_READS, id, () =>
    lookAtSource(job.source, {
      ...readingOf(job, mapping.spec.csv),
      access: browserAccess(workspace.dir),
      signal: AbortSignal.any([context.signal, AbortSignal.timeout(FETCH_WITHIN_MS)]),
    }),
  ).catch(sentenceOf);
  if (typeof look === 'string') return redact(look);
  const { header, rows } = look;
  const before = matchingOf(mappedColumns(mapping.spec, header), header);
  const wanted = settled(
    before,
    before.map((name, index) => fields[`field.${index}`] ?? name),
  );
  const cellsOf = (index: number) => rows.map(({ cells }) => cells[index] ?? '');
  const found = matchingEdits(mapping.spec, { header, cellsOf }, before, wanted);
  const edited = 'problem' in found ? found : editedText(file, found.edits);
  const spec = 'text' in edited ? changedSpec(opened, edited.text) : { problem: edited.problem };
  const changed = 'mapping' in spec ? spec.mapping : undefined;
  const checked = changed === undefined ? [] : (await checkMappings([changed], [job])).problems;
  return {
    job,
    mapping,
    look,
    id,
    wanted,
    target,
    others,
    sha256: file.sha256,
    edits: 'edits' in found ? found.edits : [],
    // The file of the mapping as it is, and as it would be.
    text: file.text,
    edited: 'text' in edited ? edited.text : file.text,
    // Why nothing can be written.
    problems: [
      ...('problem' in spec ? [redact(spec.problem)] : []),
      ...checked.filter((one) => !isOfTest(one)).map(sentence),
    ],
    // The mapping's own tests that would fail.
    failing: checked.filter(isOfTest).map(sentence),
    preview: changed && (await previewOf(look, changed.spec, opened, context)),
  };
}

async function previewOf(
  look: SourceLook,
  spec: MappingSpec,
  { workspace, job }: OpenMatching,
  { signal, clock }: DashboardContext['context'],
) {
  const params = Object.fromEntries(Object.entries(job.params).map(([name, value]) => [name, String(value)]));
  const { weightUnit, currency } = workspace.store(job.store);
  const options = { params, weightUnit, currency, now: clock() };
  return await examineIsolated(look, signal, 'preview', look, spec, options).catch(sentenceOf);
}

type ColumnsPageFacts = Exclude<Awaited<ReturnType<typeof readMatching>>, string> & {
  readonly notice?: Notice;
};

const OUTDATED = {
  tone: 'warning',
  text: 'The file of the mapping was changed after this page was shown. Nothing was written. The page shows the file as it is now.',
} as const;

function fileOf(mapping: string) {
  return `mappings/${mapping}.yaml`;
}

/** The mapping that a text is, or why it is none that its jobs can use. */
function changedSpec({ workspace, target, others, job, mapping }: OpenMatching, text: string) {
  const inspection = workspace.inspectionWith({ [fileOf(target)]: text });
  const found = inspection.mapping(target);
  const jobs = mapping.shipped ? [] : [job.name, ...others];
  const problems = [
    ...(found?.problems ?? []),
    ...jobs.flatMap((name) => inspection.job(name)?.problems ?? []),
  ];
  const [problem] = problems;
  if (found?.value === undefined || problem !== undefined)
    return { problem: problem === undefined ? 'The mapping cannot be read.' : sentence(problem) };
  return { mapping: found.value };
}

function isOfTest({ message }: ConfigurationProblem) {
  return message.startsWith("test '");
}

function sentence({ place, message }: ConfigurationProblem) {
  return `${formatPlace(place)}: ${message}`;
}

/** Changes a file that was read before; gives what is wrong with it. */
function saveEdits(
  workspace: Workspace,
  path: string,
  { sha256, edits }: Pick<ColumnsPageFacts, 'sha256' | 'edits'>,
): 'saved' | 'outdated' | readonly string[] {
  const saved = editFile(workspace, path, { sha256, edits, fields: [], check: () => [] });
  return saved.kind === 'refused' ? saved.problems.map(({ message }) => message) : saved.kind;
}

/** Writes a copy of a shipped mapping, and lets the job use it. */
function saveCopy({ workspace, job, target }: OpenMatching, text: string): ReturnType<typeof saveEdits> {
  const path = workspace.path(fileOf(target));
  writeTogether([
    { path, content: { text: text.replace(/^# yaml-language-server:.*\n/, '') }, existing: 'refuse' },
  ]);
  const file = jobFile(job.name);
  let saved: ReturnType<typeof saveEdits> | undefined;
  try {
    const { sha256 } = readEditable(workspace, file);
    saved = saveEdits(workspace, file, { sha256, edits: [{ set: ['mapping'], to: target }] });
    return saved;
  } finally {
    if (saved !== 'saved' && existsSync(path)) rmSync(path);
  }
}

const SAMPLE_SHOWN = 60;

/** The form that matches columns; a sentence where the source cannot be read. */
function columnsPage(job: ImportJob, facts: ColumnsPageFacts | string, viewer: Viewer): Page {
  const title = `Match the columns of ${job.name}`;
  if (typeof facts === 'string') {
    const lead = html`The source, ${placeWords(job.source)}, cannot be read. ${facts}`;
    const back = linkButton(jobHref(job.name), { label: `Back to ${job.name}` });
    return { title, section: 'jobs', lead, body: buttonRow(back) };
  }
  return {
    title,
    section: 'jobs',
    form: true,
    notice: facts.notice ?? null,
    lead: html`Which column of ${placeWords(job.source)} fills which field of the store. Nothing is written before you save, and nothing is sent: plan the job afterwards.`,
    body: html`${whereWritten(facts)}
${postForm(
  {
    action: `${jobHref(job.name)}/columns`,
    style: 'draft',
    fields: { sha256: facts.sha256, look: facts.id },
    body: html`<div id="matching" data-rendered aria-live="off">${matching(facts)}</div>
${formActions('Save', jobHref(job.name), { name: 'do', value: 'save' })}`,
  },
  viewer,
)}`,
  };
}

function whereWritten({ mapping, others }: ColumnsPageFacts) {
  if (mapping.shipped)
    return noticeText(
      html`The format <b>${mapping.name}</b> is part of Storeferry and is not changed. Saving makes a copy of it for this job. The copy no longer changes with new versions of Storeferry.`,
    );
  return others.length > 0 && noticeText(html`<b>Also used by ${listed(others)}</b>: they change with it.`);
}

function matching(facts: ColumnsPageFacts) {
  const { job, mapping, look, wanted, target, problems, failing, preview, text, edited } = facts;
  const columns = mappedColumns(mapping.spec, look.header);
  const required = new Set(mapping.spec.required);
  const missing = columns.filter(({ name, isFixed }) => !isFixed && !wanted.includes(name));
  const needed = missing.filter(({ name }) => required.has(name));
  const others = missing.filter((one) => !needed.includes(one));
  const lines = changedLines(text, edited);
  const used = new Set(columns.flatMap(({ at }) => at));
  const shown = [...look.header.keys()].filter(
    (index) => index < MAX_COLUMNS_SHOWN || (wanted[index] ?? '') !== '' || used.has(index),
  );
  const table = html`<p>${describeLook(look, uploadedName(job.source.path) ?? job.source.path ?? job.name)}</p>
${scrolledTable({
  style: 'columns',
  caption: 'Each column of the file, and the field of the store that it fills. Change what is wrong.',
  headers: ['Column', 'A value', 'Field'],
  rows: shown.map((index) => columnRow(index, columns, facts)),
})}
${columnsNotShown(look.header.length - shown.length)}
${others.length > 0 && foldedPart(`${counted(others.length, 'more column')} that the mapping knows`, html`<p>The file does not have them, or none of its columns fills them: ${listed(others.map(named))}.</p>`)}
${styledText('hint', 'Prices, weights, options and values made of several columns have settings of their own: change them in the file.')}`;
  const change = html`<p><code>${fileOf(target)}</code>: comments and everything that you do not change stay as they are; a comment in a line that is removed goes with it.</p><pre class="file" tabindex="0">${lines.map(([sign, line]) => (sign === '+' ? html`<ins>+ ${line}</ins>\n` : html`<del>- ${line}</del>\n`))}</pre>`;
  return html`${problems.length > 0 && html`<div class="notice bad" role="alert"><h2>This cannot be saved</h2>${bullets(problems)}</div>`}
${needed.length > 0 && alertText(`No column of the file fills ${listed(needed.map(named))}, which the mapping needs: choose the column below.`)}
${fieldset('The columns', table)}
${previewPart({ preview, look })}
${lines.length > 0 && foldedPart('What changes in the file of the mapping', change)}
${failing.length > 0 && html`<div class="notice warning"><p>Tests of the mapping that fail then: their rows have the old columns. Correct them in the file; until then <code>check</code> reports them. Runs are not affected.</p>${bullets(failing)}<input type="hidden" name="failing" value="${hash('sha256', edited)}"></div>`}
${SHOW_AGAIN}`;
}

/** `Price ('Preis')`. */
function named({ label, headers }: MappedColumn) {
  const header = printable(headers[0] ?? '');
  return label === header ? header : `${label} ('${header}')`;
}

function columnRow(
  index: number,
  columns: readonly MappedColumn[],
  { mapping, look, wanted, preview }: ColumnsPageFacts,
) {
  const header = look.header[index] ?? '';
  const chosen = wanted[index] ?? '';
  const fixed = columns.find(({ isFixed, at }) => isFixed && at.includes(index));
  const filled = recordRows(look, preview).find(({ cells }) => cells[index]?.trim());
  const sample = filled?.cells[index] ?? '';
  const choices = [
    ...columns.filter(({ isFixed }) => !isFixed).map(({ name, label }): Choice => [name, label]),
    ...openFields(mapping.spec).map(({ name, label }): Choice => [`+${name}`, `${label} (new)`]),
  ];
  return html`<tr${attributes({ class: chosen === '' && 'unused' })}><th scope="row">${header.trim() === '' ? quiet('no header') : foreign(columnWords(header, look), SAMPLE_SHOWN)}</th><td>${foreign(sample, SAMPLE_SHOWN)}</td><td>${header.trim() === '' ? '' : fixed === undefined ? fieldSelect(index, columnWords(header, look), choices, chosen) : html`${fixed.label} ${quiet('(changed in the file)')}`}</td></tr>`;
}
