import type { Plan } from '../model/plan.ts';
import type { Run } from '../model/run.ts';
import type { Page } from './page.ts';

/** Something to do after a run, and the command that does it. */
export interface NextStep {
  readonly what: string;
  readonly command: string;
}

type Ended = Pick<Run, 'id' | 'job' | 'kind' | 'status' | 'retryOf'>;

/** What a person may type after a run, most useful first; empty when there is nothing left to do. */
export function nextSteps(run: Ended, plan: Plan | null): NextStep[] {
  const { id, job, status } = run;
  const again = againCommand(run);
  switch (status) {
    case 'planned':
      if (plan !== null && plan.shards.length === 0) return [];
      return [
        { what: 'To send exactly this:', command: `storeferry approve ${id}` },
        {
          what: 'To plan anew from the source as it is by then, and send that:',
          command: `storeferry run ${job}`,
        },
      ];
    case 'stopped':
      return [
        { what: 'If the source is not as it should be, correct it, then:', command: again },
        { what: 'To send exactly this plan all the same:', command: `storeferry approve ${id}` },
      ];
    case 'done-with-rejects':
      return [{ what: 'Correct the rows in the rejects file, then:', command: `storeferry retry ${id}` }];
    case 'failed':
    case 'interrupted':
      return [
        { what: run.kind === 'plan' ? 'To plan again:' : 'To go on where it stopped:', command: again },
      ];
    case 'running':
      return [
        { what: 'To see how far it is:', command: `storeferry runs ${id}` },
        { what: 'If its process has died, to go on:', command: again },
      ];
    case 'superseded':
      return [{ what: 'To plan and run anew:', command: again }];
    case 'done':
      return [];
    default:
      return status satisfies never;
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

function againCommand({ kind, job, retryOf }: Ended): string {
  switch (kind) {
    case 'plan':
      return `storeferry plan ${job}`;
    case 'retry':
      return `storeferry retry ${retryOf ?? job}`;
    case 'run':
    case 'export':
      return `storeferry run ${job}`;
    default:
      return kind satisfies never;
  }
}
