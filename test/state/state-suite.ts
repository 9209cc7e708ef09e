import { describeAddresses } from './addresses-suite.ts';
import { describeAudit } from './audit-suite.ts';
import type { Opening } from './child.ts';
import { describeDoubts } from './doubts-suite.ts';
import { describeHistory } from './history-suite.ts';
import { describeLedger } from './ledger-suite.ts';
import { describeLocks } from './locks-suite.ts';
import { describeObservations } from './observations-suite.ts';
import { describeRenaming } from './renaming-suite.ts';
import { describeRuns } from './runs-suite.ts';

/** What holds for every implementation. `fresh` gives the opening of an empty state. */
export function describeState(fresh: () => Promise<Opening>): void {
  describeAddresses(fresh);
  describeAudit(fresh);
  describeLedger(fresh);
  describeDoubts(fresh);
  describeObservations(fresh);
  describeRuns(fresh);
  describeRenaming(fresh);
  describeHistory(fresh);
  describeLocks(fresh);
}
