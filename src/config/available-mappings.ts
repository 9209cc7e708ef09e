import type { MappingFile } from '../mapping/spec/mapping-spec.ts';
import { loadEnvironment } from './environment.ts';
import { inspectFiles } from './inspection.ts';
import { filesOf, SHIPPED_MAPPINGS } from './workspace-files.ts';

/** The mappings that a job in this folder could name: its own and the shipped ones, those that can be read as they are. */
export function availableMappings(
  dir: string,
  variables: Readonly<Record<string, string | undefined>>,
): readonly MappingFile[] {
  const files = filesOf(dir, SHIPPED_MAPPINGS);
  const inspection = inspectFiles(files, loadEnvironment(dir, variables), () => {});
  return files.mappingNames.flatMap((name) => inspection.mapping(name)?.value ?? []);
}
