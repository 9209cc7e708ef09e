import { serveIsolated } from '../isolation/run-isolated.ts';
import { type ConvertedFile, convertTable } from './convert-table.ts';

/** The thread that converts a file; open-table.ts starts it. */
serveIsolated(({ parts, ...file }: ConvertedFile, open) =>
  convertTable({
    ...file,
    content: () => open(''),
    parts: new Map(parts.map((part) => [part, () => open(part)])),
  }),
);
