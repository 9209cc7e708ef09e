import { z } from 'zod';
import type { DeepReadonly } from './deep-readonly.ts';
import { type DestinationSpec, destinationSchema } from './destination-spec.ts';
import { type Notify, notifySchema } from './notify.ts';
import { scheduleSchema } from './schedule.ts';

/** A job that reads a store into a file. */
export const exportJobSchema = z.strictObject({
  export: z.enum(['subscriber-lists', 'orders']).describe('What to read from the store.'),
  store: z
    .string('expected the name of a store in stores.yaml')
    .min(1, 'expected the name of a store in stores.yaml')
    .describe('The store, by its name in `stores.yaml`.'),
  destination: destinationSchema.describe('Where it goes.'),
  columns: z
    .array(z.string().min(1))
    .min(1)
    .exactOptional()
    .describe('The columns and their order, nested fields by their path. Found in the data when left out.'),
  schedule: scheduleSchema.exactOptional().describe('When workers run the job. Left out: only by hand.'),
  notify: notifySchema.exactOptional().describe('Whom to tell how it went.'),
});

/** An export job with its defaults filled in. `notify` is absent when its address is empty. */
export type ExportJob = Omit<DeepReadonly<z.infer<typeof exportJobSchema>>, 'destination' | 'notify'> & {
  readonly kind: 'export';
  readonly name: string;
  readonly destination: DestinationSpec;
  readonly notify?: Notify;
};
