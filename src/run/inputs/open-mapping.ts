import { crosswalkField, type ImportJob } from '../../config/job/job.ts';
import { keyNames, lookupsOfStoreLists } from '../../mapping/compile-mapping.ts';
import { type Crosswalk, type LookupTable, lookupTable } from '../../mapping/lookup-table.ts';
import type { ContactMappingSpec, MappingFile, MappingSpec } from '../../mapping/spec/mapping-spec.ts';
import { CONTACT_TEXT_FIELDS } from '../../model/mapped-record.ts';
import { MappingError } from '../../model/storeferry-error.ts';
import type { FileAccess } from '../../state/file-access.ts';
import { digestOf } from '../digest-of.ts';
import { readCrosswalk } from './read-crosswalk.ts';
import { readSideTable } from './read-side-table.ts';

/** A mapping with all it needs besides the rows: its file, the files it looks up, the job's params and crosswalk. */
export interface MappingSource {
  readonly spec: MappingSpec;
  readonly params: ImportJob['params'];
  readonly lookups: ReadonlyMap<string, LookupTable>;
  /** The lookups that want the store's subscriber lists, which only a run may ask for. */
  readonly listLookups: ReturnType<typeof lookupsOfStoreLists>;
  readonly crosswalk: Crosswalk | undefined;
  /** Of everything above: rows map alike under equal digests. */
  readonly digest: string;
  /** Of what decides a record's key. */
  readonly keyDigest: string;
}

/** Reads the files that a job's mapping needs besides the source. */
export async function openMapping(
  { spec, dir }: MappingFile,
  job: ImportJob,
  access: FileAccess,
): Promise<MappingSource> {
  const besideMapping = {
    workspaceDir: dir,
    allowedFolders: [access.workspaceDir, ...(access.allowedFolders ?? [])],
  };
  const digests: string[] = [];
  const lookups = new Map<string, LookupTable>();
  for (const [name, { path, match, sheet, headerRow, records }] of Object.entries(spec.lookups ?? {})) {
    if (path === undefined) continue;
    const file = await readSideTable(
      { path, sheet, headerRow, records },
      { limits: job.limits, rows: 'lookupRows', access: besideMapping },
    );
    const rows: (readonly string[])[] = [];
    for await (const batch of file.rows()) rows.push(...batch.map(({ cells }) => cells));
    const table = lookupTable(file.header, rows, match);
    if (table === undefined) throw columnMissing(path, match, file.header);
    lookups.set(name, table);
    digests.push(file.digest());
  }
  const crosswalk =
    job.crosswalk && (await readCrosswalk(withField(job.crosswalk, spec), access, job.limits));
  const { tests: _, ...maps } = spec;
  // As text: the order of a mapping's options and columns decides, too, and `digestOf` knows none.
  const written = JSON.stringify(maps);
  return {
    spec,
    params: job.params,
    lookups,
    listLookups: lookupsOfStoreLists(spec, job.params),
    crosswalk: crosswalk?.crosswalk,
    digest: digestOf([written, job.params, digests, crosswalk?.digest ?? null]),
    keyDigest: keyDigestOf(spec, job),
  };
}

/** The crosswalk with the field that its column is compared with; a mapping without that field says so itself. */
function withField(crosswalk: NonNullable<ImportJob['crosswalk']>, spec: MappingSpec) {
  const field = spec.import === 'contacts' ? crosswalkField(crosswalk, spec.contact) : undefined;
  return field === undefined ? crosswalk : { ...crosswalk, field };
}

/** A contact's key is its id: the mapping's own, or what a crosswalk finds by a field. Another file may say the same. */
function contactKey(
  { contact }: ContactMappingSpec,
  { crosswalk }: ImportJob,
): ContactMappingSpec['contact']['id'] {
  if (crosswalk === undefined) return contact.id;
  const field = crosswalkField(crosswalk, contact) ?? crosswalk.match;
  const sent = CONTACT_TEXT_FIELDS.find((name) => name === field);
  return (sent && contact[sent]) ?? new Map(Object.entries(contact.match ?? {})).get(field);
}

/** What decides the key: its expression, how rows are grouped, and the columns, params and lookups that these name. */
function keyDigestOf(spec: MappingSpec, job: ImportJob): string {
  const key = spec.import === 'products' ? spec.product.url : contactKey(spec, job);
  const { columns, params, lookups } = keyNames(spec, key);
  const named = <T>(entries: Readonly<Record<string, T>> | undefined, names: ReadonlySet<string>) =>
    Object.entries(entries ?? {}).filter(([name]) => names.has(name));
  const { match, id } = job.crosswalk ?? {};
  return `${KEY_DIGEST}${digestOf([
    ...[key ?? null, spec.group ?? null, match ?? null, id ?? null],
    ...[named(spec.columns, columns), named(spec.lookups, lookups)],
    ...[named(spec.params, params), named(job.params, params)],
  ])}`;
}

/** What a key digest begins with: it changes with what goes into it, since digests of two kinds say nothing of each other. */
const KEY_DIGEST = 'key-2 ';

/** The key digest of an earlier run, if it can be compared with one of today; null otherwise. */
export function comparableKeyDigest(digest: string | null): string | null {
  return digest?.startsWith(KEY_DIGEST) === true ? digest : null;
}

function columnMissing(file: string, name: string, header: readonly string[]): MappingError {
  return new MappingError(`There is no column '${name}'; the columns are ${header.join(', ')}.`, {
    place: { file, line: 1 },
    hint: 'Correct the name where the mapping or the job says it, or the header of the file.',
  });
}
