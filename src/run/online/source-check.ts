import type { ImportJob, Job } from '../../config/job/job.ts';
import { fitHeader } from '../../mapping/guess-mapping.ts';
import type { MappingSpec } from '../../mapping/spec/mapping-spec.ts';
import type { RemoteAddress } from '../../model/remote-address.ts';
import { explainError, StoreferryError } from '../../model/storeferry-error.ts';
import { formatBytes } from '../../report/printable.ts';
import { findFiles, probeRemote } from '../../source/find-files.ts';
import { allowedPath, type FileAccess } from '../../state/file-access.ts';
import { CROSSWALK_COLUMN_HINT, columnsNamed } from '../inputs/read-crosswalk.ts';
import { lookAtSource } from '../look-at-source.ts';
import { accessOf, type Facts, type OnlineCheck } from './online-check.ts';

/** So much of a file shows its header and its dialect. */
const SAMPLE_BYTES = 256 * 1024;

/** Whether the source of an import exists, can be read, and has the columns that the mapping needs. */
export const sourceCheck: OnlineCheck = (workspace) => {
  const access = accessOf(workspace);
  return workspace.jobs.flatMap((job) => {
    if (job.kind !== 'import') return [];
    const { source, crosswalk } = job;
    const spec = workspace.mappings.find(({ name }) => name === job.mapping)?.spec;
    return [
      {
        subject: `job ${job.name}`,
        look: async (signal) =>
          await Promise.all([
            source.path === undefined
              ? judgeRemote(source.remote, signal)
              : judgeSource(source.path, job, spec, access),
            ...(crosswalk === undefined ? [] : [judgeCrosswalk(crosswalk, access)]),
          ]),
      },
    ];
  });
};

/** The files of all imports, as absolute paths, as far as they are on this machine. */
export async function sourceFiles(jobs: readonly Job[], access: FileAccess): Promise<string[]> {
  const paths = jobs.flatMap((job) => (job.kind === 'import' ? (job.source.path ?? []) : []));
  const found = await Promise.all(paths.map((path) => findFiles(path, access).catch(() => [])));
  return found.flat().map(({ real }) => real);
}

async function judgeSource(
  path: string,
  { source, mapping }: ImportJob,
  spec: MappingSpec | undefined,
  access: FileAccess,
): Promise<Facts> {
  const look = async (): Promise<Facts> => {
    const files = await findFiles(path, access);
    if (source.files !== undefined && files.length !== source.files) {
      const message = `its source ${path} gives ${files.length} files, and the job says files: ${source.files}`;
      return { verdict: 'error', message, hint: 'Wait until all files exist, or correct `files`.' };
    }
    const [first] = files;
    if (first === undefined) throw new TypeError('no files were found, and no error was thrown');
    const { header } = await lookAtSource(first.real, {
      ...dialectOf(source),
      encoding: source.encoding ?? spec?.csv?.encoding,
      delimiter: source.delimiter ?? spec?.csv?.delimiter,
      sampleBytes: SAMPLE_BYTES,
    });
    const obstacle = spec === undefined ? null : fitHeader(spec, header).obstacle;
    const name = files.length === 1 ? first.path : `${first.path} and ${files.length - 1} more`;
    return obstacle === null
      ? { verdict: 'ok', message: `its source ${name} exists and has the columns that ${mapping} needs` }
      : {
          verdict: 'error',
          message: `its source ${name} does not fit the mapping ${mapping}: ${obstacle}`,
          hint: 'Check that it is the right file, and the mapping of the job; `storeferry init` recognises formats by their columns.',
        };
  };
  return await look().catch((error: unknown) => unreadable('source', error));
}

async function judgeRemote(remote: RemoteAddress, signal: AbortSignal): Promise<Facts> {
  const look = async (): Promise<Facts> => {
    const { files, bytes } = await probeRemote(remote, signal);
    if (files.length === 0) {
      const message = `its source ${remote.location} does not exist`;
      return { verdict: 'error', message, hint: 'Check the address, and that the file has been written.' };
    }
    const more = files.length === 1 ? '' : `, ${files.length} files`;
    const size = bytes === null ? '' : `, ${formatBytes(bytes)}`;
    return { verdict: 'ok', message: `its source ${remote.location} can be read${more}${size}` };
  };
  return await look().catch((error: unknown) => unreadable('source', error));
}

async function judgeCrosswalk(
  { path, match, id, sheet, headerRow, records }: NonNullable<ImportJob['crosswalk']>,
  access: FileAccess,
): Promise<Facts> {
  const look = async (): Promise<Facts> => {
    const allowed = await allowedPath(path, access);
    if ('refused' in allowed) {
      return { verdict: 'error', message: `its crosswalk ${path} ${allowed.refused}`, hint: allowed.hint };
    }
    const { header } = await lookAtSource(allowed.real, {
      ...{ sheet, headerRow, records, sampleBytes: SAMPLE_BYTES },
    });
    const lacking = [match, id].filter((name) => columnsNamed(header, name).length === 0);
    return lacking.length === 0
      ? { verdict: 'ok', message: `its crosswalk ${path} exists and has the columns ${match} and ${id}` }
      : {
          verdict: 'error',
          message: `its crosswalk ${path} has no column ${lacking.map((name) => `'${name}'`).join(' and no ')}`,
          hint: `It has ${header.join(', ')}. ${CROSSWALK_COLUMN_HINT}`,
        };
  };
  return await look().catch((error: unknown) => unreadable('crosswalk', error));
}

function unreadable(what: string, error: unknown): Facts {
  if (!(error instanceof StoreferryError)) throw error;
  return { verdict: 'error', message: `its ${what} cannot be read: ${explainError(error)}` };
}

/** What a job says of how its files are to be read. */
function dialectOf({
  sheet,
  records,
  headerRow,
  quotes,
  escape: escapedBy,
  skipBlanks,
}: ImportJob['source']) {
  return { sheet, records, headerRow, quotes, escape: escapedBy, skipBlanks };
}
