import type { Plan } from '../model/plan.ts';
import type { Run } from '../model/run.ts';
import { isUnmatched } from '../model/unmatched-codes.ts';
import { forgotten } from '../model/verification.ts';
import { KEY_NOT_REJECTED } from './warning-lines.ts';
import type { Page } from './wording/page.ts';
import { counted } from './wording/words.ts';

/** Something to do after a run, and the command that does it. */
export interface NextStep {
  readonly what: string;
  readonly command: string;
}

/** How a command begins where nothing else was typed. */
export const PROGRAM = 'storeferry';

type Ended = Pick<Run, 'id' | 'job' | 'kind' | 'status' | 'retryOf'> &
  Partial<Pick<Run, 'totals' | 'resend' | 'verification' | 'stateLoss'>> & {
    /** Where its rejects file is; null when it has none, left out where nobody has looked. */
    readonly rejectsFile?: string | null;
  };

/**
 * What a person may type after a run, most useful first; empty when there is nothing left to do. `program` is how
 * commands for the run's workspace begin, such as `storeferry -C shop`; `changedIds`: for how many records the store
 * answered another id than before.
 */
export function nextSteps(run: Ended, plan: Plan | null, program = PROGRAM, changedIds = 0): NextStep[] {
  const { id, job, status } = run;
  const verify = changedIds > 0 ? [verifyStep(run, program)].filter((step) => step !== null) : [];
  const again = `${program} ${againCommand(run)}`;
  switch (status) {
    case 'planned':
      if (plan !== null && plan.shards.length === 0) {
        if (plan.counts.rejected.records === 0) return [];
        return [{ what: 'Correct the refused rows in the source, then:', command: `${program} plan ${job}` }];
      }
      return [
        { what: 'To send exactly this:', command: `${program} approve ${id}` },
        {
          what: 'To re-plan with the current file, and send that:',
          command: `${program} run ${job}${run.resend === true ? ' --resend' : ''}`,
        },
      ];
    case 'stopped':
      return [
        {
          // Its plan was within the limits: it is the store, or what answers for it, that refused too much.
          what:
            (run.totals?.requests ?? 0) > 0
              ? 'Find out why the records were refused, and correct that, then:'
              : 'If the source is not as it should be, correct it, then:',
          command: again,
        },
        {
          what:
            plan !== null && plan.shards.length === 0
              ? 'If it is right as it is (there is nothing to send):'
              : 'To send exactly this plan all the same:',
          command: `${program} approve ${id}`,
        },
      ];
    case 'done-with-rejects':
      return [afterRejects(run, plan, program), ...verify];
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
        { what: 'To see how far it is:', command: `${program} runs ${id}` },
        { what: 'If its process has died, to go on:', command: again },
      ];
    case 'superseded':
      return [{ what: 'To plan and run again:', command: again }];
    case 'done':
      return [...resendStep(run, program), ...verify];
    default:
      return status satisfies never;
  }
}

/** After ids have changed; null after what has sent everything, or has estimated it already. */
export function verifyStep({ kind, job, resend }: Ended, program = PROGRAM): NextStep | null {
  if (kind === 'verify' || resend === true) return null;
  return { what: 'To estimate how much the store has forgotten:', command: `${program} verify ${job}` };
}

/** After a verification that found something forgotten. */
function resendStep({ job, verification }: Ended, program: string): NextStep[] {
  if (verification === undefined || forgotten(verification) === 0) return [];
  const { known, notComparable } = verification;
  const requests = counted(known + notComparable, 'request');
  return [
    {
      what: `To send every record of the source again, about ${requests}:`,
      command: `${program} run ${job} --resend`,
    },
  ];
}

/** Without a rejects file there is nothing to retry: its files were deleted, or nothing but deletes was refused. */
function afterRejects(run: Ended, plan: Plan | null, program: string): NextStep {
  const { id, job, totals, rejectsFile } = run;
  if (rejectsFile !== null) return { what: correction(run, plan), command: `${program} retry ${id}` };
  const what =
    totals?.rejected === 0
      ? 'To try again what the store refused:'
      : 'Its rejects file is gone. Correct the source, then:';
  return { what, command: `${program} run ${job}` };
}

/** In rows of contacts that only lack a match there is nothing to correct, and in foreign rows nothing but the key. */
function correction({ totals }: Ended, plan: Plan | null): string {
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

function againText({ kind, stateLoss }: Ended): string {
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
        ? 'To go on where it stopped:'
        : 'To go on; what the state has lost is sent again:';
    default:
      return kind satisfies never;
  }
}

/** The steps with their commands on lines of their own, unbroken, to be copied. */
export function sayNextSteps(page: Page, steps: readonly NextStep[]): void {
  if (steps.length > 0) page.heading('Next');
  for (const { what, command } of steps) {
    page.say(what, { indent: 2 });
    page.command(command);
  }
}

function againCommand({ kind, job, retryOf, resend = false }: Ended): string {
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
