import { existsSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { ImportJob } from '../../config/job/job.ts';
import type { Workspace } from '../../config/workspace.ts';
import type { Resource } from '../../model/mapped-record.ts';
import { MappingError } from '../../model/storeferry-error.ts';
import { fitHeader, type LookOptions, lookAtSource, openPictures } from '../../onboarding/preview-source.ts';
import { sideTablesOf } from '../../run/inputs/open-mapping.ts';
import { listHeaders, looseName, quotableHeaders } from '../../text/printable.ts';
import type { Upload } from '../actions/uploads.ts';

/** The folder of the workspace for uploaded files. */
export const UPLOADS_FOLDER = 'uploads';

/** A file that a job reads, and that an uploaded one can replace. */
export interface UploadTarget {
  /** As addresses name it: `source`, `crosswalk`, or `lookup:` and its name. */
  readonly id: string;
  /** For people: `source`. */
  readonly what: string;
  /** As the job or the mapping writes it. */
  readonly path: string;
  readonly isThere: boolean;
  /** MappingError if a file lacks a column that is needed; SourceError if it cannot be read. */
  readonly refuse: (upload: Pick<Upload, 'path'>) => Promise<void>;
}

/** A file name without signs of a glob. */
const PLAIN = /^(?:[^\\*?[\]{}.][^\\*?[\]{}]*)$/;

/** The name of an uploaded file at a path of the workspace; undefined for any other file. */
export function uploadedName(path = ''): string | undefined {
  const [folder, name = '', ...rest] = path.split('/');
  return folder === UPLOADS_FOLDER && rest.length === 0 && PLAIN.test(name) ? name : undefined;
}

/**
 * The files of an import that can be uploaded: its source, if it was uploaded before, and the crosswalk and the lookup tables of the
 * workspace. Other sources belong to what writes them.
 */
export function uploadTargets(workspace: Workspace, job: ImportJob): readonly UploadTarget[] {
  const mapping = workspace.inspection.mapping(job.mapping)?.value;
  if (mapping === undefined) return [];
  const { spec } = mapping;
  const target = (
    id: string,
    path: string,
    refuse: UploadTarget['refuse'],
    what: string = id,
  ): UploadTarget => ({ id, what, path, isThere: existsSync(workspace.path(path)), refuse });
  const uploaded = (id: string, path: string | undefined, refuse: UploadTarget['refuse']) =>
    path === undefined || uploadedName(path) === undefined ? [] : [target(id, path, refuse)];
  const refuseSource = looking(readingOf(job, spec.csv), (header) => {
    const { obstacle } = fitHeader(spec, header);
    if (obstacle === null) return;
    throw new MappingError(`The file does not fit the mapping ${job.mapping}: ${obstacle}.`);
  });
  const tables = sideTablesOf(mapping, job, workspace.fileAccess()).flatMap((table): UploadTarget[] => {
    const { at, access } = table;
    const { path, sheet, records, headerRow, encoding, delimiter } = at;
    // The lookup file of a shipped mapping is beside that mapping.
    if (path === undefined || access.workspaceDir !== workspace.dir) return [];
    if (!path.split('/').every((part) => PLAIN.test(part))) return [];
    const reading = { sheet, records, headerRow, encoding, delimiter };
    if (table.kind === 'crosswalk') {
      const { match, id } = table.columns;
      return [target('crosswalk', path, looking(reading, needing([match, id], spec.import)))];
    }
    const { name, match, join } = table;
    const refuse = (header: readonly string[]) => {
      needing([match], spec.import)(header);
      join?.open(path, header);
    };
    return [target(`lookup:${name}`, path, looking(reading, refuse), `lookup table ${name}`)];
  });
  return [
    ...uploaded('source', job.source.path, refuseSource),
    ...tables,
    ...uploaded('pictures', job.images?.publish?.from, refusePictures),
  ];
}

/** The picture files of an uploaded ZIP; SourceError if it is none. */
export async function openUploaded({ path }: Pick<Upload, 'path'>) {
  return await openPictures(basename(path), { workspaceDir: dirname(path) });
}

async function refusePictures(upload: Pick<Upload, 'path'>) {
  await using _ = await openUploaded(upload);
}

type Refusing = (header: readonly string[]) => void;

function looking(reading: LookOptions, refuse: Refusing): UploadTarget['refuse'] {
  return async ({ path }) => refuse((await lookAtSource(path, reading)).header);
}

function needing(names: readonly string[], resource: Resource): Refusing {
  return (header) => {
    const lacking = names.find((name) => !header.some((text) => looseName(text) === looseName(name)));
    if (lacking === undefined) return;
    throw new MappingError(
      `The file has no column '${lacking}'. Columns found: ${listHeaders(header, quotableHeaders(resource, header))}.`,
    );
  };
}

/** How a job reads its source; `csv` is what its mapping says. */
export function readingOf({ source }: ImportJob, csv: LookOptions['csv']): LookOptions {
  const { sheet, records, headerRow, encoding, delimiter } = source;
  return { sheet, records, headerRow, encoding, delimiter, csv };
}
