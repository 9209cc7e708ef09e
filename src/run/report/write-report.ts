import type { StoreConfig } from '../../config/store-config.ts';
import type { ListHistory } from '../../model/subscriber-list.ts';
import { runDocument } from '../../report/run-document.ts';
import { type RunFacts, withoutPersonalData } from '../../report/run-facts.ts';
import { PROGRAM } from '../../report/sections/next-section.ts';
import type { RunContext } from '../run-context.ts';
import { withShownFiles } from '../shown-file.ts';
import { REPORT_FILE } from './read-stored-report.ts';

interface ReportWriting {
  readonly store: StoreConfig;
  /** What an export of list statistics has collected, where it can be read at little cost. */
  readonly history?: ListHistory | null;
}

/**
 * Writes the report of a run that ends, over that of an end before, and gives where it is. A report that cannot be
 * written gives an event and null: how the run ends does not depend on it.
 */
export async function writeReport(
  context: RunContext,
  report: RunFacts,
  { store, history = null }: ReportWriting,
): Promise<string | null> {
  const folder = context.artifacts.run(report.run.id);
  try {
    // Loaded when the work is done: what draws it takes longer to load than a small plan to make.
    const { reportFile } = await import('../../report/html/document-sections.ts');
    const { requestsPerSecond } = store.limits;
    const facts = { ...withoutPersonalData(withShownFiles(report, context.workspaceDir)), history };
    const document = runDocument(facts, {
      now: context.clock(),
      program: context.program ?? PROGRAM,
      version: context.version,
      pace:
        requestsPerSecond === undefined ? null : { requestsPerSecond, because: 'the limit in stores.yaml' },
    });
    await folder.write(REPORT_FILE, [await reportFile(document)]);
    return `${folder.location}/${REPORT_FILE}`;
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    context.onEvent({ type: 'report-not-written', problem });
    return null;
  }
}
