import { z } from 'zod';
import type { DeepReadonly } from '../../model/deep-readonly.ts';
import { workspacePathSchema } from '../../model/workspace-path.ts';
import type { FilePlace } from '../place/file-place.ts';
import { exactlyOnePlace, httpSchema, s3Schema, sftpSchema } from '../place/remote-spec.ts';

/** Where an export goes: exactly one of `path`, `url`, `s3` and `sftp`. */
export const destinationSchema = z
  .strictObject({
    path: workspacePathSchema.exactOptional().describe('The file to write.'),
    url: httpSchema
      .exactOptional()
      .describe('A web address that takes the file by PUT: the address, or a map.'),
    s3: s3Schema.exactOptional().describe('An object in S3 or a compatible service: the address, or a map.'),
    sftp: sftpSchema.exactOptional().describe('A file on an SSH server.'),
    mode: z
      .enum(['replace', 'append'])
      .default('replace')
      .describe(
        '`replace` writes the whole file again. `append` adds to it: a line per list and run, or the orders that the file does not have yet.',
      ),
    format: z
      .enum(['csv', 'excel-csv', 'jsonl'])
      .default('csv')
      .describe(
        '`csv` is for programs. `excel-csv` is for spreadsheets: a byte order mark, and an apostrophe before what would start a formula, by whichever character the spreadsheet splits. `jsonl` keeps orders whole, one a line.',
      ),
  })
  .superRefine((written, context) => {
    exactlyOnePlace(written, context);
    for (const place of ['s3', 'sftp'] as const) {
      const { address, newest } = written[place] ?? { address: '', newest: false };
      const message = 'a destination is one file: `*` and `newest` are for sources';
      if (newest || address.slice(address.lastIndexOf('/')).includes('*')) {
        context.addIssue({ code: 'custom', path: [place], message });
      }
    }
  });

/** A destination with its address completed. */
export type DestinationSpec = DeepReadonly<
  Omit<z.infer<typeof destinationSchema>, 'path' | 'url' | 's3' | 'sftp'>
> &
  FilePlace;
