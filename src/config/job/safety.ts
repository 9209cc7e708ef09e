import { z } from 'zod';
import type { DeepReadonly } from '../deep-readonly.ts';
import { limitSchema } from './limit.ts';

/** What stops a run before its first write; naming one limit keeps the defaults of the others. */
export const safetySchema = z.strictObject({
  maxDeletes: limitSchema
    .prefault('5%')
    .describe('Most products a mirror may delete; the percentage is of the keys this job has in the ledger.'),
  maxRejects: limitSchema
    .prefault('10%')
    .describe(
      'Most records that may be rejected, of all records; judged on the plan and while applying, where requests under way still end, and those of other workers within a second.',
    ),
  minRows: limitSchema
    .prefault('80%')
    .describe(
      'Fewest rows the source must have, of the last completed run. No rows at all stop a run unless this is 0.',
    ),
  maxChanges: limitSchema.prefault('off').describe('Most records that may change, of those already known.'),
});

/** Safety limits with their defaults filled in. */
export type SafetyLimits = DeepReadonly<z.infer<typeof safetySchema>>;
