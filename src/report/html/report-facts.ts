import type { ListHistory } from '../../model/list-history.ts';
import type { Traffic } from '../../model/traffic.ts';
import type { Pace } from '../pace-words.ts';
import type { RunFacts } from '../summary-text.ts';
import type { Markup } from './markup.ts';

/** Everything that the report page shows of a run, which may still be under way. */
export interface ReportFacts extends RunFacts {
  /** What went over the wire, over time; null when nothing did, or nobody noted it. */
  readonly traffic: Traffic | null;
  /** When the report is made, in milliseconds since the epoch. */
  readonly now: number;
  /** How the commands to type next begin, such as `storeferry -C shop`. */
  readonly program: string;
  /** Of Storeferry. */
  readonly version: string;
  /** How fast requests will go, for plans; null when nobody knows. */
  readonly pace?: Pace | null;
  /** The kept history that an export of list statistics adds to; left out for all other runs. */
  readonly history?: ListHistory | null;
  /** What stands in place of the commands to type: buttons, where there are any. */
  readonly actions?: Markup | null;
}
