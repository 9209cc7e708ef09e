import { z } from 'zod';
import type { DeepReadonly } from '../../model/deep-readonly.ts';
import { workspacePathSchema } from '../../model/stays-inside.ts';
import {
  exactlyOnePlace,
  type FilePlace,
  oneFile,
  remoteFields,
  type withoutPlace,
} from '../place/file-place.ts';

/** Where an export goes: exactly one of `path`, `url`, `s3` and `sftp`. */
export const destinationSchema = z
  .strictObject({
    path: workspacePathSchema.exactOptional().describe('The file to write.'),
    ...remoteFields('destination'),
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
  .superRefine(exactlyOnePlace)
  .superRefine(oneFile);

/** A destination with its address completed. */
export type DestinationSpec = DeepReadonly<
  ReturnType<typeof withoutPlace<z.infer<typeof destinationSchema>>>
> &
  FilePlace;
