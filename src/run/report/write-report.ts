import { messageOf } from '../../model/storeferry-error.ts';
import { runDocument } from '../../report/run-document.ts';
import { REPORT_FILE, type RunFacts, withoutPersonalData } from '../../report/run-facts.ts';
import { PROGRAM } from '../../text/printable.ts';
import type { RunContext } from '../run-context.ts';
import { withShownFiles } from './read-stored-report.ts';

/**
 * Writes the report of a run that ends, replacing the report of an earlier end, and returns its path. If it cannot be
 * written, it emits an event and returns null: the result of the run does not depend on it.
 */
export async function writeReport(context: RunContext, report: RunFacts): Promise<string | null> {
  const folder = context.artifacts.run(report.run.id);
  try {
    // Loaded after the work is done: loading the drawing code takes longer than making a small plan.
    const { reportFile } = await import('../../report/html/document-sections.ts');
    const facts = withoutPersonalData(withShownFiles(report, context.workspaceDir));
    const document = runDocument(facts, {
      now: context.clock(),
      program: context.program ?? PROGRAM,
      version: context.version,
    });
    await folder.write(REPORT_FILE, [reportFile(document)]);
    return `${folder.location}/${REPORT_FILE}`;
  } catch (error) {
    const problem = messageOf(error);
    context.onEvent({ type: 'report-not-written', problem });
    return null;
  }
}
