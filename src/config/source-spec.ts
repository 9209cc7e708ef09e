import { z } from 'zod';
import { delimiterSchema, encodingSchema } from './csv-dialect.ts';
import type { DeepReadonly } from './deep-readonly.ts';
import { workspacePathSchema } from './workspace-path.ts';

function notYet(what: string) {
  return z
    .never(`${what} cannot be read by this version; give the path of a file or a glob instead`)
    .exactOptional();
}

const most = (what: string) => z.int().min(1).exactOptional().describe(what);

/** Names and defaults are those of csv/ and source/, whose messages name them. */
const limitsSchema = z.strictObject({
  rowBytes: most('Most bytes of one row, quoted line breaks included. Default 32 MiB.'),
  cellBytes: most('Most bytes of one cell. Default 16 MiB.'),
  rows: most('Most rows of one file. Default 50,000,000.'),
  columns: most('Most cells of one row. Default 16,384.'),
  bytes: most('Most bytes of all files together, unpacked. Default 10 GiB.'),
  ratio: most('How many times larger than its archive the content may be. Default 200.'),
  fileCount: most('Most files, those within zips counted one by one. Default 1,000.'),
});

/** Where the bytes of an import come from. */
export const sourceSchema = z.strictObject({
  path: workspacePathSchema.describe(
    'A file, or a glob that names several with the same columns. Gzip and zip are opened.',
  ),
  files: z
    .int()
    .min(1)
    .exactOptional()
    .describe('How many files the glob must find; any other number stops the run.'),
  encoding: encodingSchema
    .exactOptional()
    .describe('The charset of the files, where it is neither UTF-8 nor told by a byte order mark.'),
  delimiter: delimiterSchema
    .exactOptional()
    .describe('What separates the columns: the character or its name. Detected when left out.'),
  quotes: z
    .enum(['standard', 'none'])
    .default('standard')
    .describe('`none`: the file never quotes cells, and a quote is an ordinary character.'),
  limits: limitsSchema
    .exactOptional()
    .describe('What protects memory and disk from a damaged or hostile file.'),
  url: notYet('a web address'),
  s3: notYet('S3 storage'),
  sftp: notYet('an SFTP server'),
});

/** `path` is as written: relative to the workspace unless absolute. `encoding` is the WHATWG name. */
export type SourceSpec = DeepReadonly<Omit<z.infer<typeof sourceSchema>, 'url' | 's3' | 'sftp'>>;
