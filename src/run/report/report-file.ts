import type { RunFolder } from '../../state/artifacts.ts';

/** The report of a run as one file to look at, print and mail, beside its other files. */
export const REPORT_FILE = 'report.html';

/** Where the report of a run is; null when it has none. */
export async function reportFileIn(folder: RunFolder): Promise<string | null> {
  return (await folder.exists(REPORT_FILE)) ? `${folder.location}/${REPORT_FILE}` : null;
}
