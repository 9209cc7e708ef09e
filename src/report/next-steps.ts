import type { Plan } from '../model/plan.ts';
import { isUnmatched } from '../model/reason.ts';
import { type Exported, forgotten, type Run } from '../model/run.ts';
import type { RunFacts } from './run-facts.ts';
import { KEY_NOT_REJECTED } from './warning-lines.ts';
import { counted } from './wording/words.ts';

/** Something to do after a run, and the command that does it. */
export interface NextStep {
  readonly what: string;
  readonly command: string;
}

/** How a command begins where nothing else was typed. */
export const PROGRAM = 'storeferry';

/** What decides the next steps; a `rejectsFile` that is left out is one that was not looked for. */
type StepFacts = Pick<RunFacts, 'run'> &
  Partial<Pick<RunFacts, 'plan' | 'exported' | 'changedIdCount' | 'rejectsFile'>>;

/**
 * What a person may type after a run, most useful first; empty when there is nothing left to do. `program` is how
 * commands for the run's workspace begin, such as `storeferry -C shop`.
 */
export function nextSteps(
  { run, plan = null, exported = null, changedIdCount = 0, rejectsFile }: StepFacts,
  program = PROGRAM,
): NextStep[] {
  const { id, job, status } = run;
  const verify = changedIdCount > 0 ? [verifyStep(run, program)].filter((step) => step !== null) : [];
  const again = `${program} ${againCommand(run)}`;
  switch (status) {
    case 'planned':
      if (plan !== null && plan.shards.length === 0) {
        if (plan.counts.rejected.records === 0) return [];
        return [
          { what: 'Correct the rejected rows in the source, then:', command: `${program} plan ${job}` },
        ];
      }
      return [
        { what: 'To send exactly this:', command: `${program} approve ${id}` },
        {
          what: 'To re-plan with the current file, and send that:',
          command: `${program} run ${job}${run.resend ? ' --resend' : ''}`,
        },
      ];
    case 'stopped':
      return [
        {
          // Its plan was within the limits: it is the store, or what answers for it, that refused too much.
          what:
            (run.totals?.requests ?? 0) > 0
              ? 'Find out why the records were refused, and correct that, then:'
              : 'If the source is wrong, correct it, then:',
          command: again,
        },
        {
          what:
            plan !== null && plan.shards.length === 0
              ? 'If it is right (there is nothing to send):'
              : 'If the plan is right, to send exactly this:',
          command: `${program} approve ${id}`,
        },
      ];
    case 'done-with-rejects':
      return [afterRejects({ run, plan, rejectsFile }, program), ...resendStep(run, program), ...verify];
    case 'failed':
      if (run.kind === 'verify' && run.verification?.sampled === 0) {
        return [{ what: 'To send what can be verified after that:', command: `${program} run ${job}` }];
      }
      // Without a plan the file itself may have been refused: the same command would fail again.
      if (run.kind === 'retry' && plan === null) {
        return [
          { what: 'If the rejects file is not as it should be, correct it, then:', command: again },
          { what: 'Or correct the source, then:', command: `${program} run ${job}` },
        ];
      }
      return [{ what: againText(run), command: again }];
    case 'interrupted':
      return [{ what: againText(run), command: again }];
    case 'running':
      return [
        { what: 'To see its progress:', command: `${program} runs ${id}` },
        { what: 'If its process has died, to continue:', command: again },
      ];
    case 'superseded':
      return [{ what: 'To plan and run again:', command: again }];
    case 'done':
      return [...resendStep(run, program), ...verify, ...statsStep(exported, run, program)];
    default:
      return status satisfies never;
  }
}

/** After ids have changed; null after what has sent everything, or has estimated it already. */
export function verifyStep({ kind, job, resend }: Run, program = PROGRAM): NextStep | null {
  if (kind === 'verify' || resend) return null;
  return { what: 'To estimate how much the store has forgotten:', command: `${program} verify ${job}` };
}

/** After an export that adds to a history. */
function statsStep(exported: Exported | null, { job, resource }: Run, program: string): NextStep[] {
  if (resource !== 'subscriber-lists' || exported?.mode !== 'append') return [];
  return [{ what: 'To see how the lists have changed:', command: `${program} stats ${job}` }];
}

/** After a verification that found something forgotten, and in each run until that is done. */
function resendStep({ job, verification, foundGone, resend }: Run, program: string): NextStep[] {
  const command = `${program} run ${job} --resend`;
  if (verification !== undefined && forgotten(verification) > 0) {
    const { known, notComparable } = verification;
    const requests = counted(known + notComparable, 'request');
    return [{ what: `To send every record of the source again, about ${requests}:`, command }];
  }
  if (foundGone === undefined || resend) return [];
  return [{ what: 'To send every record of the source again:', command }];
}

/** Without a rejects file there is nothing to retry: its files were deleted, or nothing but deletes was refused. */
function afterRejects(
  { run, plan, rejectsFile }: { run: Run; plan: Plan | null; rejectsFile: string | null | undefined },
  program: string,
): NextStep {
  const { id, job, totals } = run;
  if (rejectsFile !== null) return { what: correction(run, plan), command: `${program} retry ${id}` };
  const what =
    totals?.rejected === 0
      ? 'To try again what the store refused:'
      : 'Its rejects file is gone. Correct the source, then:';
  return { what, command: `${program} run ${job}` };
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

function againCommand({ kind, job, retryOf, resend }: Run): string {
  // Without it the run would not be continued: another one would begin, which sends less.
  const option = resend ? ' --resend' : '';
  switch (kind) {
    case 'plan':
      return `plan ${job}${option}`;
    case 'retry':
      return `retry ${retryOf ?? job}`;
    case 'run':
      return `run ${job}${option}`;
    case 'export':
      return `run ${job}`;
    case 'verify':
      return `verify ${job}`;
    default:
      return kind satisfies never;
  }
}
