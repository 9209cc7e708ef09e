import { type Workspace, whyUnset } from '../../config/workspace.ts';
import type { ConfigurationProblem } from '../../model/errors.ts';

/** A job as its file stands; undefined, with what is wrong, when it cannot be used. */
export function inspectJob({ inspection }: Workspace, name: string) {
  const found = inspection.job(name);
  const problems: readonly ConfigurationProblem[] = [
    ...(found?.problems ?? []),
    ...(found?.unset ?? []).map(whyUnset),
  ];
  return { job: problems.length === 0 ? found?.value : undefined, problems };
}
