import { type Action, againAction, commandText } from '../../model/action.ts';
import { sumOf, withoutAbsent } from '../../model/json-object.ts';
import type { Plan } from '../../model/plan.ts';
import { isUnmatched, KEY_NOT_REJECTED } from '../../model/reason.ts';
import {
  type Exported,
  forgotten,
  isDriftOpen,
  isUnsentPlan,
  type Pace,
  type Run,
  refusedIn,
} from '../../model/run.ts';
import { stoppedWave } from '../../model/safety-limits.ts';
import { counted, formatDuration, grouped } from '../../text/printable.ts';
import { deletesOfRenamed, failedFile, isOnlyPlanned, type RunFacts, type View } from '../run-facts.ts';
import { type Block, paragraph, type Section } from '../section.ts';
import { editedFacts } from './held-section.ts';
import { namesRejects, rejectsFiles } from './rejected-section.ts';

/** The possible next steps with their commands; null if there are none. */
export function nextSection(facts: RunFacts, view: View): Section | null {
  const { plan, run } = facts;
  const { buttons = false } = view;
  const steps = [...stepsAfter(facts, view), ...(buttons ? undoSteps(run) : [])];
  if (steps.length === 0) return null;
  const blocks = [
    ...(plan !== null && isOnlyPlanned(facts) ? requestsToSend(plan, run.pace) : []),
    ...(namesRejects(run) ? rejectsFiles(facts, view) : []),
    ...steps.map(({ what, action }): Block => {
      return { kind: 'command', what, action, command: `${view.program} ${commandText(action)}` };
    }),
  ];
  const hint = 'Type commands in a terminal where Storeferry is installed.';
  const hints = buttons ? [] : [paragraph([hint], { role: 'hint', only: 'page' })];
  return { id: 'next', title: buttons ? 'What you can do' : 'Next', blocks: [...blocks, ...hints] };
}

function requestsToSend(plan: Plan, pace: Pace | undefined): Block[] {
  const { counts } = plan;
  const writes = counts.new.records + counts.changed.records + counts.resent.records;
  const deletes = counts.deletes + deletesOfRenamed(plan);
  const requests = writes + deletes;
  if (requests === 0) return [];
  const kinds = withoutAbsent([
    writes > 0 && `${grouped(writes)} to write`,
    deletes > 0 && `${grouped(deletes)} to delete`,
  ]);
  const parts = deletes === 0 ? '' : ` (${kinds.join(', ')})`;
  const time = pace === undefined ? '' : `: ${paceWords(requests, pace)}`;
  return [paragraph([`Sending takes ${counted(requests, 'request')}${parts}${time}.`])];
}

/** The next run may be so many times faster or slower than any before it. */
const PACE_MARGIN = 1.25;

/** `4 min to 6 min 20 s, by the last 5 runs to this store`. */
function paceWords(requests: number, { slowest, fastest, runs }: Pace) {
  const inSeconds = (seconds: number) => formatDuration(Math.max(1, Math.round(seconds)) * 1_000);
  const [least, most] = [requests / fastest / PACE_MARGIN, (requests / slowest) * PACE_MARGIN];
  const [from, to] = [inSeconds(Math.floor(least)), inSeconds(Math.ceil(most))];
  const time = from === to ? `about ${from}` : `${from} to ${to}`;
  return `${time}, by the last ${runs === 1 ? 'run' : `${runs} runs`} to this store`;
}

/** The facts that decide the next steps. An absent `rejectsFile` was not looked up. */
export type StepFacts = Pick<RunFacts, 'run'> &
  Partial<Pick<RunFacts, 'plan' | 'exported' | 'changedIdCount' | 'rejectsFile'>>;

interface Step {
  readonly what: string;
  readonly action: Action;
}

function step(what: string, action: Action): Step {
  return { what, action };
}

/** The steps after a run, most useful first. With `buttons`, also steps that need no command. `later` is a later run of the job. */
export function stepsAfter(
  { run, plan = null, exported = null, changedIdCount = 0, rejectsFile }: StepFacts,
  { buttons = false, later }: Pick<View, 'buttons' | 'later'> = {},
): Step[] {
  const { id, job, status, totals } = run;
  const hasNoRejects = totals !== null && refusedIn(totals) === 0 && totals.held + totals.skipped > 0;
  const verify = changedIdCount > 0 ? verifySteps(run) : [];
  const again = againAction(run);
  const approve = { does: 'approve', run: id } as const;
  const discard = buttons ? [step('If it must not be sent:', { does: 'discard', run: id })] : [];
  const correct = 'To correct the rejected rows in a spreadsheet; each row has its reason:';
  const download =
    buttons && rejectsFile != null ? [step(correct, { does: 'download-rejects', run: id })] : [];
  const see = (what: string): Step[] =>
    later === undefined ? [] : [step(what, { does: 'see', run: later })];
  const replan =
    run.copy !== undefined
      ? 'To plan it again:'
      : run.restore !== undefined
        ? 'To compare the store again:'
        : run.undo && 'To plan the undo again:';
  const overtaken = see('This plan can no longer be approved, because a later run has begun:');
  switch (status) {
    case 'planned':
      if (overtaken.length > 0) return [...overtaken, ...download];
      if (plan !== null && plan.shards.length === 0) {
        if (plan.counts.rejected.records === 0) return [];
        return [...download, step('Correct the rejected rows in the source, then:', { does: 'plan', job })];
      }
      return [
        step('To send this plan:', approve),
        ...download,
        buttons || replan !== undefined
          ? step(replan ?? 'To re-plan with the current file:', again)
          : step('To re-plan with the current file and send the new plan:', {
              does: 'run',
              job,
              resend: run.resend,
              sample: run.sample,
            }),
        ...discard,
      ];
    case 'stopped': {
      if (overtaken.length > 0) return [...overtaken, ...download];
      if (stoppedWave(run) !== undefined)
        return withoutAbsent([
          step('Look at these records in the store. If they are correct, to send the next wave:', approve),
          step('If they are wrong, correct the mapping or the source, then:', again),
          ...download,
          run.undo === undefined &&
            (run.totals?.applied ?? 0) > 0 &&
            step('To plan the undo of what was sent:', { does: 'undo', run: id }),
          ...discard,
        ]);
      const isNothing = plan !== null && plan.shards.length === 0;
      const send = isNothing
        ? 'If the plan is correct (it has nothing to send):'
        : `If the plan is correct, to send ${isUnsentPlan(run) ? 'it' : 'the rest of it'}:`;
      return [
        step(
          replan ??
            ((totals?.requests ?? 0) > 0
              ? 'Correct the cause of the refusals, then:'
              : 'If the source is wrong, correct it, then:'),
          again,
        ),
        ...download,
        ...(isNothing && buttons ? [] : [step(send, approve)]),
        ...discard,
      ];
    }
    case 'done-with-rejects':
      if (run.undo !== undefined || run.copy !== undefined)
        return [step('To plan again what the store refused:', again)];
      if (run.restore !== undefined) return [step('To compare the store again:', again)];
      if (run.release !== undefined) return [step('To plan what the source now has:', { does: 'plan', job })];
      return withoutAbsent([
        ...see('A later run has begun. A retry leaves out the records that it applied:'),
        ...download,
        !hasNoRejects && afterRejects(run, plan, rejectsFile),
        ...(later === undefined ? releaseSteps(run, plan, buttons) : []),
        ...wholeSteps(run),
        ...resendSteps(run),
        ...verify,
      ]);
    case 'failed':
    case 'interrupted':
      if (later !== undefined) return [...see('A later run of this job has begun:'), ...download];
      if (status === 'failed' && run.kind === 'verify' && run.verification?.sampled === 0)
        return [step('To send records that can be verified afterwards:', { does: 'run', job })];
      // Without a plan the file itself may have been refused: the same command would fail again.
      if (status === 'failed' && run.kind === 'retry' && plan === null)
        return [
          step('If the rejects file is wrong, correct it, then:', again),
          step('Or correct the source, then:', { does: 'run', job }),
        ];
      // Its file is no longer where the job looks; no button writes files again.
      return failedFile({ run, plan }) === null && !(buttons && run.since !== undefined)
        ? [step(againText(run), again), ...download]
        : download;
    case 'running':
      return buttons
        ? [step(interruptText(run), { does: 'cancel', run: id })]
        : [
            step('To see its progress:', { does: 'see', run: id }),
            step('If its process has died, to continue:', again),
          ];
    case 'superseded':
      return later === undefined
        ? [step('To plan and run again:', again)]
        : see('A later run replaced this one:');
    case 'done':
      return [
        ...driftSteps(run),
        ...wholeSteps(run),
        ...resendSteps(run),
        ...verify,
        ...statsSteps(exported, run),
      ];
    default:
      return status satisfies never;
  }
}

/** After a comparison that found changes. */
function driftSteps({ job, drift }: Run): Step[] {
  if (drift === undefined || !isDriftOpen(drift)) return [];
  return [
    step('To plan to send the values of the job again, where the store has others:', {
      does: 'drift',
      job,
      restore: true,
    }),
    step(
      `To ${drift.slice === undefined ? '' : 'compare all records and '}accept what the store has, so that later runs keep it:`,
      { does: 'drift', job, accept: true },
    ),
  ];
}

/** After a sample: the rest. */
function wholeSteps({ job, sample }: Run): Step[] {
  return sample === undefined ? [] : [step('To send all records of the source:', { does: 'run', job })];
}

/** Steps after ids have changed; none after a run that sent everything, or after a verification. */
function verifySteps({ kind, job, resend }: Run): Step[] {
  if (kind === 'verify' || resend) return [];
  return [step('To estimate how many records the store has lost:', { does: 'verify', job })];
}

/** After an export that adds to a history. */
function statsSteps(exported: Exported | null, { job, resource }: Run): Step[] {
  if (resource !== 'subscriber-lists' || exported?.mode !== 'append') return [];
  return [step('To see how the lists have changed:', { does: 'stats', job })];
}

/** Steps after a verification that found lost records, and after each later run until everything was sent again. */
function resendSteps({ job, verification, foundGone, resend }: Run): Step[] {
  const action = { does: 'run', job, resend: true } as const;
  const what = 'To send every record of the source again';
  if (verification !== undefined && forgotten(verification) > 0) {
    const requests = counted(verification.known + verification.notComparable, 'request');
    return [step(`${what}, about ${requests}:`, action)];
  }
  return foundGone === undefined || resend ? [] : [step(`${what}:`, action)];
}

/** After a run that has sent something; in a terminal the documentation says how. */
function undoSteps({ id, status, resource, totals }: Run): Step[] {
  const isImport = resource === 'products' || resource === 'contacts';
  const sent = (totals?.applied ?? 0) + (totals?.deleted ?? 0);
  if (!isImport || status === 'running' || sent === 0) return [];
  const but = totals?.created === undefined ? '' : ', except contacts that it created, which stay';
  return [step(`To take back what this run sent${but}:`, { does: 'undo', run: id })];
}

/** After a run with held records: all of them, where their values are right. */
function releaseSteps(run: Run, plan: Plan | null, buttons: boolean): Step[] {
  const { id, totals } = run;
  if (totals === null || totals.held === 0) return [];
  const { held = 0, records: edited = [] } = editedFacts({ run, plan }) ?? {};
  const isEdited = held > edited.filter(({ how, fields }) => how === 'held' && fields.includes('url')).length;
  const records = totals.held === 1 ? 'the record' : 'the records';
  const what = `If the held values are right, to send ${records}${buttons ? ', all or some:' : ' (add keys to send only these):'}`;
  // The page of a release offers both.
  return withoutAbsent([
    step(what, { does: 'release', run: id }),
    isEdited &&
      plan?.sendsWhole !== true &&
      !buttons &&
      step('To keep what was edited in the store instead:', { does: 'release', run: id, conflicts: 'store' }),
  ]);
}

/** Without a rejects file there is nothing to retry: the files were deleted, or only deletes were refused. */
function afterRejects(run: Run, plan: Plan | null, rejectsFile: string | null | undefined): Step {
  const { id, job, totals } = run;
  if (rejectsFile !== null) return step(correction(run, plan), { does: 'retry', run: id });
  const what =
    totals?.rejected === 0
      ? 'To send the refused requests again:'
      : 'There is no rejects file: it was removed, or a row has too many cells. Correct the source, then:';
  return step(what, { does: 'run', job });
}

/**
 * Contacts without a match have nothing to correct in the file. In rows with an unknown key only the key can be
 * corrected.
 */
function correction({ totals }: Run, plan: Plan | null): string {
  const isAll = (of: (code: string) => boolean) => {
    const groups = (plan?.rejections ?? []).filter(({ code }) => of(code));
    const records = sumOf(groups, (group) => group.records);
    return records > 0 && records === totals?.rejected;
  };
  if (isAll((code) => code === KEY_NOT_REJECTED)) return 'Restore the keys in the rejects file, then:';
  return isAll(isUnmatched)
    ? plan?.mode === 'update'
      ? 'Correct the SKU, url or id of these products in the rejects file, or let another job send them first, then:'
      : 'Create these contacts in the store or complete the crosswalk, then:'
    : 'Correct the rows in the rejects file, then:';
}

const AFTER_STOP: Readonly<Partial<Record<Run['kind'], string>>> = {
  run: '; the next run continues where it stopped',
  retry: '; the same retry continues where it stopped, and a run of the job takes its place',
};

function interruptText({ kind }: Run) {
  return `To stop it once the requests in flight are finished${AFTER_STOP[kind] ?? ''}:`;
}

const AGAIN: Readonly<Record<Run['kind'], string>> = {
  plan: 'To plan again:',
  export: 'To export again:',
  verify: 'To verify again:',
  drift: 'To continue where it stopped:',
  undo: 'To plan the rest of the undo:',
  release: 'To release the rest:',
  copy: 'To plan the rest:',
  run: 'To continue where it stopped:',
  retry: 'To continue where it stopped:',
};

function againText({ kind, stateLoss, restore }: Run) {
  if (restore !== undefined) return 'To compare the store again, and plan the rest:';
  const isLost = stateLoss !== undefined && (kind === 'run' || kind === 'retry');
  return isLost ? 'To continue; records that the state has lost are sent again:' : AGAIN[kind];
}
