import type { ImportJob } from '../../config/job/job.ts';
import { fitHeader } from '../../mapping/guess-mapping.ts';
import type { MappingSpec } from '../../mapping/spec/mapping-spec.ts';
import { explainError, StoreferryError } from '../../model/errors.ts';
import type { RemoteAddress } from '../../model/remote-address.ts';
import { formatBytes } from '../../report/printable.ts';
import { findFiles, probeRemote } from '../../source/find-files.ts';
import { allowedPath, type FileAccess } from '../../state/file-access.ts';
import { CROSSWALK_COLUMN_HINT, columnsNamed } from '../inputs/read-crosswalk.ts';
import { lookAtSource } from '../look-at-source.ts';
import type { Finding, OnlineCheck } from './finding.ts';

/** So much of a file shows its header and its dialect. */
const SAMPLE_BYTES = 256 * 1024;

type Facts = Omit<Finding, 'subject'>;

/** Whether the source of an import is there, reads as CSV, and has the columns that the mapping needs. */
export function sourceCheck(job: ImportJob, spec: MappingSpec | undefined, access: FileAccess): OnlineCheck {
  const { source, crosswalk } = job;
  return {
    subject: `job ${job.name}`,
    async look(signal) {
      const found =
        source.path === undefined
          ? judgeRemote(source.remote, signal)
          : judgeSource(source.path, job, spec, access);
      return await Promise.all([
        found,
        ...(crosswalk === undefined ? [] : [judgeCrosswalk(crosswalk, access)]),
      ]);
    },
  };
}

/** The files of all imports, as absolute paths, as far as they are on this machine. */
export async function sourceFiles(jobs: readonly ImportJob[], access: FileAccess): Promise<string[]> {
  const found = jobs.map(({ source }) =>
    source.path === undefined ? [] : findFiles(source.path, access).catch(() => []),
  );
  return (await Promise.all(found)).flat().map(({ real }) => real);
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
      return { verdict: 'error', message, hint: 'Wait until all are there, or correct `files`.' };
    }
    const [first] = files;
    if (first === undefined) throw new TypeError('no files were found, and no error was thrown');
    const { header } = await lookAtSource(first.real, {
      encoding: source.encoding ?? spec?.csv?.encoding,
      delimiter: source.delimiter ?? spec?.csv?.delimiter,
      sampleBytes: SAMPLE_BYTES,
    });
    const obstacle = spec === undefined ? null : fitHeader(spec, header).obstacle;
    const name = files.length === 1 ? first.path : `${first.path} and ${files.length - 1} more`;
    return obstacle === null
      ? { verdict: 'ok', message: `its source ${name} is there, with the columns that ${mapping} needs` }
      : {
          verdict: 'error',
          message: `its source ${name} does not fit the mapping ${mapping}: ${obstacle}`,
          hint: 'Is it the right file? Another mapping may fit: storeferry init guesses.',
        };
  };
  return await look().catch((error: unknown) => unreadable('source', error));
}

async function judgeRemote(remote: RemoteAddress, signal: AbortSignal): Promise<Facts> {
  const look = async (): Promise<Facts> => {
    const { files, bytes } = await probeRemote(remote, signal);
    if (files.length === 0) {
      const message = `its source ${remote.location} is not there`;
      return { verdict: 'error', message, hint: 'Is the address right, and has the file been written yet?' };
    }
    const more = files.length === 1 ? '' : `, ${files.length} files`;
    const size = bytes === null ? '' : `, ${formatBytes(bytes)}`;
    return { verdict: 'ok', message: `its source ${remote.location} can be read${more}${size}` };
  };
  return await look().catch((error: unknown) => unreadable('source', error));
}

async function judgeCrosswalk(
  { path, match, id }: NonNullable<ImportJob['crosswalk']>,
  access: FileAccess,
): Promise<Facts> {
  const look = async (): Promise<Facts> => {
    const allowed = await allowedPath(path, access);
    if ('refused' in allowed) {
      return { verdict: 'error', message: `its crosswalk ${path} ${allowed.refused}`, hint: allowed.hint };
    }
    const { header } = await lookAtSource(allowed.real, { sampleBytes: SAMPLE_BYTES });
    const lacking = [match, id].filter((name) => columnsNamed(header, name).length === 0);
    return lacking.length === 0
      ? { verdict: 'ok', message: `its crosswalk ${path} is there, with ${match} and ${id}` }
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
