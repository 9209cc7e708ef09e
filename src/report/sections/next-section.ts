import type { Plan } from '../../model/plan.ts';
import { isUnmatched, KEY_NOT_REJECTED } from '../../model/reason.ts';
import { type Exported, forgotten, type Run } from '../../model/run.ts';
import { counted, formatDuration, grouped } from '../printable.ts';
import { isOnlyPlanned, type Pace, type RunFacts, type View } from '../run-facts.ts';
import { type Action, type Block, paragraph, type Section } from '../section.ts';
import { namesRejects, rejectsFiles } from './rejected-section.ts';

/** How a command begins where nothing else was typed. */
export const PROGRAM = 'storeferry';

/** What may be done next, with the commands for it; null where nothing is left to do. */
export function nextSection(facts: RunFacts, view: View): Section | null {
  const { plan, run } = facts;
  const { buttons = false } = view;
  const steps = stepsAfter(facts, view);
  if (steps.length === 0) return null;
  const blocks: Block[] = [
    ...(plan !== null && isOnlyPlanned(facts) ? requestsToSend(plan, view.pace ?? null) : []),
    ...(namesRejects(run) ? rejectsFiles(facts) : []),
    ...steps.map(({ what, action }): Block => {
      return { kind: 'command', what, action, command: `${view.program} ${commandOf(action)}` };
    }),
  ];
  const hint = 'Type commands in a terminal where Storeferry is installed.';
  const hints = buttons ? [] : [paragraph([hint], { role: 'hint', only: 'page' })];
  return { id: 'next', title: buttons ? 'What you can do' : 'Next', blocks: [...blocks, ...hints] };
}

function requestsToSend({ counts }: Plan, pace: Pace | null): Block[] {
  const writes = counts.new.records + counts.changed.records + counts.resent.records;
  const requests = writes + counts.deletes;
  if (requests === 0) return [];
  const kinds = [
    ...(writes > 0 ? [`${grouped(writes)} to write`] : []),
    ...(counts.deletes > 0 ? [`${grouped(counts.deletes)} to delete`] : []),
  ];
  const parts = counts.deletes === 0 ? '' : ` (${kinds.join(', ')})`;
  const time = pace === null || pace.requestsPerSecond <= 0 ? '' : `: ${paceWords(requests, pace)}`;
  return [paragraph([`Sending takes ${counted(requests, 'request')}${parts}${time}.`])];
}

/** `about 4 min at 20 a second, the limit in stores.yaml`. */
function paceWords(requests: number, { requestsPerSecond, because }: Pace): string {
  const ms = Math.max(1000, (requests / requestsPerSecond) * 1000);
  const rate = `${grouped(Math.round(requestsPerSecond * 10) / 10)} a second, ${because}`;
  return `about ${formatDuration(Math.ceil(ms / 1000) * 1000)} at ${rate}`;
}

/** Something to do after a run, and the command that does it. */
export interface NextStep {
  readonly what: string;
  readonly command: string;
}

/** What a person may type after a run, most useful first; empty when there is nothing left to do. */
export function nextSteps(facts: StepFacts, program = PROGRAM): NextStep[] {
  return stepsAfter(facts).map(({ what, action }) => ({ what, command: `${program} ${commandOf(action)}` }));
}

/** What decides the next steps; a `rejectsFile` that is left out is one that was not looked for. */
type StepFacts = Pick<RunFacts, 'run'> &
  Partial<Pick<RunFacts, 'plan' | 'exported' | 'changedIdCount' | 'rejectsFile'>>;

interface Step {
  readonly what: string;
  readonly action: Action;
}

/** With `buttons` also what no command is needed for; `later` is a run of the job that has begun since. */
function stepsAfter(
  { run, plan = null, exported = null, changedIdCount = 0, rejectsFile }: StepFacts,
  { buttons = false, later }: Pick<View, 'buttons' | 'later'> = {},
): Step[] {
  const { id, job, status } = run;
  const verify = changedIdCount > 0 ? verifySteps(run) : [];
  const again = againAction(run);
  const approve = { does: 'approve', run: id } as const;
  const download: Step[] =
    buttons && rejectsFile != null
      ? [
          {
            what: 'To correct the rejected rows in a spreadsheet; each has its reason:',
            action: { does: 'download', run: id },
          },
        ]
      : [];
  const see = (what: string): Step[] =>
    later === undefined ? [] : [{ what, action: { does: 'see', run: later } }];
  const overtaken = see('A later run has begun since, so this plan cannot be approved any more:');
  switch (status) {
    case 'planned':
      if (overtaken.length > 0) return [...overtaken, ...download];
      if (plan !== null && plan.shards.length === 0) {
        if (plan.counts.rejected.records === 0) return [];
        const correct = 'Correct the rejected rows in the source, then:';
        return [...download, { what: correct, action: { does: 'plan', job } }];
      }
      return [
        { what: 'To send exactly this:', action: approve },
        ...download,
        buttons
          ? { what: 'To re-plan with the current file:', action: again }
          : {
              what: 'To re-plan with the current file, and send that:',
              action: { does: 'run', job, resend: run.resend },
            },
      ];
    case 'stopped': {
      if (overtaken.length > 0) return [...overtaken, ...download];
      const isNothing = plan !== null && plan.shards.length === 0;
      const send = isNothing
        ? 'If it is right (there is nothing to send):'
        : 'If the plan is right, to send exactly this:';
      return [
        {
          // Its plan was within the limits: it is the store, or what answers for it, that refused too much.
          what:
            (run.totals?.requests ?? 0) > 0
              ? 'Find out why the records were refused, and correct that, then:'
              : 'If the source is wrong, correct it, then:',
          action: again,
        },
        ...download,
        ...(isNothing && buttons ? [] : [{ what: send, action: approve }]),
      ];
    }
    case 'done-with-rejects':
      return [
        ...see('A later run has begun since; a retry leaves out what it has applied:'),
        ...download,
        afterRejects({ run, plan, rejectsFile }),
        ...resendSteps(run),
        ...verify,
      ];
    case 'failed':
      if (later !== undefined) return [...see('A later run of this job has begun since:'), ...download];
      if (run.kind === 'verify' && run.verification?.sampled === 0) {
        return [{ what: 'To send what can be verified after that:', action: { does: 'run', job } }];
      }
      // Without a plan the file itself may have been refused: the same command would fail again.
      if (run.kind === 'retry' && plan === null) {
        return [
          { what: 'If the rejects file is not as it should be, correct it, then:', action: again },
          { what: 'Or correct the source, then:', action: { does: 'run', job } },
        ];
      }
      return [{ what: againText(run), action: again }, ...download];
    case 'interrupted':
      if (later !== undefined) return [...see('A later run of this job has begun since:'), ...download];
      return [{ what: againText(run), action: again }, ...download];
    case 'running':
      return buttons
        ? [{ what: interruptText(run), action: { does: 'interrupt', run: id } }]
        : [
            { what: 'To see its progress:', action: { does: 'see', run: id } },
            { what: 'If its process has died, to continue:', action: again },
          ];
    case 'superseded':
      return later === undefined
        ? [{ what: 'To plan and run again:', action: again }]
        : see('A later run has taken its place:');
    case 'done':
      return [...resendSteps(run), ...verify, ...statsSteps(exported, run)];
    default:
      return status satisfies never;
  }
}

/** After ids have changed; none after what has sent everything, or has estimated it already. */
function verifySteps({ kind, job, resend }: Run): Step[] {
  if (kind === 'verify' || resend) return [];
  return [{ what: 'To estimate how much the store has forgotten:', action: { does: 'verify', job } }];
}

/** After an export that adds to a history. */
function statsSteps(exported: Exported | null, { job, resource }: Run): Step[] {
  if (resource !== 'subscriber-lists' || exported?.mode !== 'append') return [];
  return [{ what: 'To see how the lists have changed:', action: { does: 'stats', job } }];
}

/** After a verification that found something forgotten, and in each run until that is done. */
function resendSteps({ job, verification, foundGone, resend }: Run): Step[] {
  const action = { does: 'run', job, resend: true } as const;
  const what = 'To send every record of the source again';
  if (verification !== undefined && forgotten(verification) > 0) {
    const requests = counted(verification.known + verification.notComparable, 'request');
    return [{ what: `${what}, about ${requests}:`, action }];
  }
  return foundGone === undefined || resend ? [] : [{ what: `${what}:`, action }];
}

/** Without a rejects file there is nothing to retry: its files were deleted, or nothing but deletes was refused. */
function afterRejects({
  run,
  plan,
  rejectsFile,
}: {
  run: Run;
  plan: Plan | null;
  rejectsFile: string | null | undefined;
}): Step {
  const { id, job, totals } = run;
  if (rejectsFile !== null) return { what: correction(run, plan), action: { does: 'retry', run: id } };
  const what =
    totals?.rejected === 0
      ? 'To try again what the store refused:'
      : 'Its rejects file is gone. Correct the source, then:';
  return { what, action: { does: 'run', job } };
}

/** In rows of contacts that only lack a match there is nothing to correct, and in foreign rows nothing but the key. */
function correction({ totals }: Run, plan: Plan | null): string {
  const isAll = (of: (code: string) => boolean) => {
    const groups = (plan?.rejections ?? []).filter(({ code }) => of(code));
    const records = groups.reduce((sum, group) => sum + group.records, 0);
    return records > 0 && records === totals?.rejected;
  };
  if (isAll((code) => code === KEY_NOT_REJECTED)) return 'Change the keys back in the rejects file, then:';
  return isAll(isUnmatched)
    ? 'Create these contacts in the store or complete the crosswalk, then:'
    : 'Correct the rows in the rejects file, then:';
}

function interruptText({ kind }: Run): string {
  const rest = kind === 'verify' ? '' : '; the next run continues where it stopped';
  return `To stop it once the requests in flight are finished${rest}:`;
}

function againText({ kind, stateLoss }: Run): string {
  switch (kind) {
    case 'plan':
      return 'To plan again:';
    case 'export':
      return 'To export again:';
    case 'verify':
      return 'To verify again:';
    case 'run':
    case 'retry':
      return stateLoss === undefined
        ? 'To continue where it stopped:'
        : 'To continue; what the state has lost is sent again:';
    default:
      return kind satisfies never;
  }
}

function againAction({ kind, job, retryOf, resend }: Run): Action {
  switch (kind) {
    case 'retry':
      return retryOf === null ? { does: 'run', job } : { does: 'retry', run: retryOf };
    case 'plan':
    case 'run':
      // Without it the run would not be continued: another one would begin, which sends less.
      return { does: kind, job, resend };
    case 'export':
      return { does: 'run', job };
    case 'verify':
      return { does: 'verify', job };
    default:
      return kind satisfies never;
  }
}

function commandOf(action: Action): string {
  switch (action.does) {
    case 'run':
    case 'plan':
      return `${action.does} ${action.job}${action.resend === true ? ' --resend' : ''}`;
    case 'verify':
    case 'stats':
      return `${action.does} ${action.job}`;
    case 'approve':
    case 'retry':
      return `${action.does} ${action.run}`;
    case 'see':
    case 'download':
      return `runs ${action.run}`;
    case 'interrupt':
      return `cancel ${action.run}`;
    default:
      return action satisfies never;
  }
}
