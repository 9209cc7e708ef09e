import { z } from 'zod';
import type { DeepReadonly } from '../deep-readonly.ts';

const scalar = z.union([z.string(), z.number(), z.boolean()]);

const refusal = z.strictObject({
  key: z.string().nullable().exactOptional(),
  code: z.string().exactOptional(),
  field: z.string().exactOptional(),
  line: z.int().min(1).exactOptional(),
  column: z.string().exactOptional(),
  message: z.string().exactOptional().describe('A part of the message.'),
});

const expectation = z
  .strictObject({
    sends: z.record(z.string(), z.unknown()).exactOptional().describe('The request body, exactly.'),
    includes: z
      .record(z.string(), z.unknown())
      .exactOptional()
      .describe('A part of the request body: lists in full, maps by the keys named.'),
    key: z
      .string()
      .nullable()
      .exactOptional()
      .describe('The key of the record; null when it cannot be read.'),
    rejects: z
      .union([z.string(), refusal])
      .exactOptional()
      .describe('The code of the reason, or more of it.'),
    skips: z.union([z.string(), refusal]).exactOptional().describe('The reason for leaving it out, or more.'),
    rows: z.int().min(0).exactOptional().describe('How many rows the record accounts for.'),
    notes: z.array(z.string()).exactOptional().describe('What is counted beside it.'),
  })
  .superRefine((expected, context) => {
    const mains = ['sends', 'includes', 'rejects', 'skips'].filter((key) => key in expected);
    if (mains.length !== 1) {
      context.addIssue({ code: 'custom', message: 'expected one of sends, includes, rejects, skips' });
    }
  });

/** Rows in, and what must become of them. */
export const mappingTestSchema = z.strictObject({
  name: z.string().min(1).describe('What the test shows.'),
  rows: z
    .union([z.string().min(1), z.array(z.array(scalar.nullable())).min(1)])
    .describe('CSV text with its header line, or a list of rows, the header first.'),
  delimiter: z.string().length(1).exactOptional().describe('Of the CSV text. Default: the comma.'),
  params: z.record(z.string(), scalar).exactOptional().describe('As a job would set them.'),
  lookups: z
    .record(z.string(), z.array(z.record(z.string(), scalar)))
    .exactOptional()
    .describe('Rows of lookup tables, instead of their files.'),
  crosswalk: z
    .strictObject({
      match: z.string().min(1).describe('The field that is matched.'),
      ids: z.record(z.string(), z.int().min(0)).describe('The id for each value of it.'),
    })
    .exactOptional()
    .describe('Of contacts: as a job would name one.'),
  now: z.string().exactOptional().describe('The time of the import. Default: 2026-01-01T00:00:00Z.'),
  weightUnit: z.enum(['g', 'kg', 'lb', 'oz']).exactOptional().describe("The store's unit. Default: kg."),
  expect: z.array(expectation).describe('What becomes of the rows, in order.'),
});

/** A test that a mapping carries: rows in, records out. */
export type MappingTest = DeepReadonly<z.infer<typeof mappingTestSchema>>;
/** What a test expects of one record. */
export type MappingExpectation = DeepReadonly<z.infer<typeof expectation>>;
