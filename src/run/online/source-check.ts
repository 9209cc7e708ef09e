import { rm, stat, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname } from 'node:path';
import type { ImportJob, Job } from '../../config/job/job.ts';
import { columnsNamed, lookupTable } from '../../mapping/lookup-table.ts';
import type { MappingSpec } from '../../mapping/spec/mapping-spec.ts';
import type { RemoteAddress } from '../../model/remote-address.ts';
import { NoFileError, sentenceOf } from '../../model/storeferry-error.ts';
import { fitHeader, lookAtSource } from '../../onboarding/preview-source.ts';
import { probeRemote } from '../../remote/fetch-file.ts';
import { type FileAccess, findFiles, makeTemporaryFolder } from '../../state/file-access.ts';
import { formatBytes, listHeaders, quotableHeaders } from '../../text/printable.ts';
import { sideTablesOf, tableOptionsOf } from '../inputs/open-mapping.ts';
import { CROSSWALK_COLUMN_HINT } from '../inputs/read-crosswalk.ts';
import { type SideTable, sideTableWords } from '../inputs/side-table.ts';
import {
  accessOf,
  errorFinding,
  type Facts,
  type OnlineCheck,
  okFinding,
  warningFinding,
} from '../run-context.ts';

/** This many bytes of a file are enough to detect its header and dialect. */
const SAMPLE_BYTES = 256 * 1024;

/** Whether the source of an import exists, can be read, and has the columns that the mapping needs. */
export const sourceCheck: OnlineCheck = (workspace) => {
  const access = accessOf(workspace);
  return workspace.jobs.flatMap((job) => {
    if (job.kind !== 'import') return [];
    const { source } = job;
    const mapping = workspace.mappings.find(({ name }) => name === job.mapping);
    const tables = mapping === undefined ? [] : sideTablesOf(mapping, job, access);
    return [
      {
        subject: `job ${job.name}`,
        look: async (signal) =>
          await Promise.all([
            source.path === undefined
              ? judgeRemote('source', source.remote, signal)
              : judgeSource(source.watch ?? source.path, job, mapping?.spec, access),
            ...tables.map((table) => judgeSideTable(table, signal)),
          ]),
      },
    ];
  });
};

/** The files of all imports, as absolute paths, if they are on this machine. */
async function sourceFiles(jobs: readonly Job[], access: FileAccess) {
  const paths = jobs.flatMap((job) => (job.kind === 'import' ? (job.source.path ?? []) : []));
  const found = await Promise.all(paths.map((path) => findFiles(path, access).catch(() => [])));
  return found.flat().map(({ real }) => real);
}

async function judgeSource(
  path: string,
  { source, mapping }: ImportJob,
  spec: MappingSpec | undefined,
  access: FileAccess,
) {
  const look = async () => {
    const files = await findFiles(path, access);
    if (source.files !== undefined && files.length !== source.files) {
      const message = `its source ${path} gives ${files.length} files, and the job says files: ${source.files}`;
      return errorFinding(message, 'Wait until all files exist, or correct `files`.');
    }
    const [first] = files;
    if (first === undefined) throw new TypeError('no files were found, and no error was thrown');
    const { header } = await lookAt(source, first.real, access, spec?.csv);
    if (header.length === 0 && files.length === 1)
      return okFinding(`its source ${first.path} is a list without records now`);
    const obstacle = spec === undefined ? null : fitHeader(spec, header).obstacle;
    const name = files.length === 1 ? first.path : `${first.path} and ${files.length - 1} more`;
    return obstacle === null
      ? okFinding(`its source ${name} exists and has the columns that ${mapping} needs`)
      : errorFinding(
          `its source ${name} does not fit the mapping ${mapping}: ${obstacle}`,
          'Check that it is the right file, and the mapping of the job; `storeferry init` recognises formats by their columns.',
        );
  };
  return await look().catch((error: unknown) =>
    error instanceof NoFileError && source.watch !== undefined
      ? okFinding(
          `no file waits in ${dirname(path)}: a worker runs it for each ${basename(path)} that arrives`,
        )
      : unreadable('source', error),
  );
}

/** Looks at a file that was found, or at the rows of a query. */
async function lookAt(at: SideTable['at'], real: string, access: FileAccess, csv?: MappingSpec['csv']) {
  const isQuery = at.path !== undefined && at.query !== undefined;
  const options = { ...tableOptionsOf(at), csv, sampleBytes: SAMPLE_BYTES };
  return await (isQuery ? lookAtSource(at, { ...options, access }) : lookAtSource(real, options));
}

async function judgeRemote(what: string, remote: RemoteAddress, signal: AbortSignal) {
  const look = async () => {
    const { files, bytes } = await probeRemote(remote, signal);
    if (files.length === 0) {
      const message = `its ${what} ${remote.location} does not exist`;
      return errorFinding(message, 'Check the address, and that the file exists.');
    }
    const more = files.length === 1 ? '' : `, ${files.length} files`;
    const size = bytes === null ? '' : `, ${formatBytes(bytes)}`;
    return okFinding(`its ${what} ${remote.location} can be read${more}${size}`);
  };
  return await look().catch((error: unknown) => unreadable(what, error));
}

/** A crosswalk or a lookup: whether it exists and has the columns that are compared. */
async function judgeSideTable(table: SideTable, signal: AbortSignal): Promise<Facts> {
  const { at, access } = table;
  const what = sideTableWords(table);
  if (at.path === undefined) return await judgeRemote(what, at.remote, signal);
  const { path } = at;
  const look = async (): Promise<Facts> => {
    const files = await findFiles(path, access);
    const [first] = files;
    if (first === undefined || files.length > 1) {
      return errorFinding(`its ${what} ${path} is ${files.length} files`, 'Name one file.');
    }
    const { header } = await lookAt(at, first.real, access);
    const names = table.kind === 'lookup' ? [table.match] : [table.columns.match, table.columns.id];
    const lacking = names.filter((name) =>
      table.kind === 'lookup'
        ? lookupTable(header, [], name) === undefined
        : columnsNamed(header, name).length === 0,
    );
    const hint =
      table.kind === 'lookup'
        ? 'Correct `match` of the lookup in the mapping, or the header of the file.'
        : CROSSWALK_COLUMN_HINT;
    const quotable = table.kind === 'lookup' ? quotableHeaders(table.resource, header) : [];
    return lacking.length === 0
      ? okFinding(
          `its ${what} ${path} exists and has the ${names.length === 1 ? 'column' : 'columns'} ${names.join(' and ')}`,
        )
      : {
          verdict: 'error',
          message: `its ${what} ${path} has no column ${lacking.map((name) => `'${name}'`).join(' and no ')}`,
          hint: `Columns found: ${listHeaders(header, quotable)}. ${hint}`,
        };
  };
  return await look().catch((error: unknown) => unreadable(what, error));
}

function unreadable(what: string, error: unknown) {
  return errorFinding(`its ${what} cannot be read: ${sentenceOf(error)}`);
}

/** A run stores a copy of its source, and its plan. */
const DISK_BYTES_PER_SOURCE_BYTE = 3;
/** The largest unpacked size of an archive. */
const UNPACKED_BYTES_PER_ARCHIVE_BYTE = 10;
const LITTLE_BYTES = 512 * 1024 ** 2;

/** Whether the disk for the files of runs has room for a run of the largest source. */
export const diskCheck: OnlineCheck = ({ settings, jobs, dir }) => {
  if (settings?.artifacts.kind !== 'folder') return [];
  const { path } = settings.artifacts;
  return [
    {
      subject: 'disk',
      async look() {
        const { bavail, bsize } = await statfs(await nearestFolder(path));
        const files = await sourceFiles(jobs, accessOf({ dir, settings }));
        const sizes = await Promise.all(files.map(unpackedSize));
        return [judgeDisk(bavail * bsize, Math.max(0, ...sizes), path)];
      },
    },
  ];
};

/** Whether the temporary folder can be written. Files of other machines are kept there while they are read. */
export const temporaryFolderCheck: OnlineCheck = () => [
  {
    subject: 'temporary folder',
    async look() {
      await rm(await makeTemporaryFolder(), { recursive: true, force: true });
      return [okFinding(`${tmpdir()} can be written`)];
    },
  },
];

/** Whether the free space is enough for the largest source, both in bytes. */
export function judgeDisk(free: number, largest: number, folder: string): Facts {
  const found = `${formatBytes(free)} free at ${folder}`;
  const needed = largest * DISK_BYTES_PER_SOURCE_BYTE;
  if (free < needed) {
    return errorFinding(
      `${found}, and the largest source may take ${formatBytes(needed)}`,
      'Make room, or let ARTIFACTS_URL name a larger disk.',
    );
  }
  if (free < LITTLE_BYTES) {
    return warningFinding(found, `Free space is low: make room until ${formatBytes(LITTLE_BYTES)} are free.`);
  }
  return {
    verdict: 'ok',
    message: largest === 0 ? found : `${found}; the largest source may take ${formatBytes(needed)}`,
  };
}

async function unpackedSize(path: string) {
  const size = (await stat(path).catch(() => undefined))?.size ?? 0;
  return /\.(gz|zip)$/i.test(path) ? size * UNPACKED_BYTES_PER_ARCHIVE_BYTE : size;
}

/** The folder itself (an absolute path), or its nearest existing parent, in which it will be created. */
export async function nearestFolder(folder: string): Promise<string> {
  let existing = folder;
  while ((await stat(existing).catch(() => undefined)) === undefined && existing !== dirname(existing)) {
    existing = dirname(existing);
  }
  return existing;
}
