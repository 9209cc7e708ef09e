import { z } from 'zod';
import type { DeepReadonly } from '../../model/deep-readonly.ts';
import { delimiterSchema, encodingSchema } from '../../model/dialect.ts';
import { workspacePathSchema } from '../../model/stays-inside.ts';
import { exactlyOnePlace, type FilePlace, remoteFields, type withoutPlace } from '../place/file-place.ts';

/** Where the bytes of an import come from: exactly one of `path`, `url`, `s3` and `sftp`. */
export const sourceSchema = z
  .strictObject({
    path: workspacePathSchema
      .exactOptional()
      .describe('A file, or a glob that names several with the same columns. Gzip and zip are opened.'),
    ...remoteFields('source'),
    files: z
      .int()
      .min(1)
      .exactOptional()
      .describe('How many files the glob must find; any other number stops the run.'),
    encoding: encodingSchema
      .exactOptional()
      .describe('The charset of the files. Left out: a byte order mark decides, else UTF-8.'),
    delimiter: delimiterSchema
      .exactOptional()
      .describe('What separates the columns: the character or its name. Detected when left out.'),
    quotes: z
      .enum(['standard', 'none'])
      .default('standard')
      .describe('`none`: the file never quotes cells, and a quote is an ordinary character.'),
  })
  .superRefine(exactlyOnePlace);

/** A source with its address completed. `encoding` is the WHATWG name. */
export type SourceSpec = DeepReadonly<ReturnType<typeof withoutPlace<z.infer<typeof sourceSchema>>>> &
  FilePlace;
