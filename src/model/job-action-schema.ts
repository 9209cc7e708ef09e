import { z } from 'zod';
import type { JobAction } from './action.ts';
import { CONFLICT_SIDES } from './observation.ts';

const key = z.string().min(1).max(2_000);
const only = z.array(key).min(1).max(1_000).exactOptional();
const sampled = {
  resend: z.boolean().exactOptional().meta({ description: 'Also send unchanged records.' }),
  sample: z
    .strictObject({ only, limit: z.int().min(1).max(1_000_000).exactOptional() })
    .exactOptional()
    .meta({ description: 'Only these records, or the first ones.' }),
};
const conflicts = z.enum(CONFLICT_SIDES).exactOptional().meta({
  description:
    'Whose value a field gets that was changed in the store and in the source: `source` if left out.',
});
const keys = { only: only.meta({ description: 'Only the records with these keys.' }) };

/** What can be chosen with each action that a worker executes. */
export const ACTION_OPTIONS = {
  run: z.strictObject(sampled),
  plan: z.strictObject(sampled),
  verify: z.strictObject({}),
  drift: z.strictObject({ restore: z.boolean().exactOptional(), accept: z.boolean().exactOptional() }),
  undo: z.strictObject(keys),
  release: z.strictObject({ ...keys, conflicts }),
  approve: z.strictObject({}),
  retry: z.strictObject({}),
} as const satisfies Readonly<Record<JobAction['does'], z.ZodObject>>;

/** Whether an action is executed by a worker; `cancel` and `discard` take effect at once. */
export function isJobAction(name: string): name is JobAction['does'] {
  return Object.hasOwn(ACTION_OPTIONS, name);
}

const ofJob = { job: z.string(), by: z.array(z.string()).optional() };
const ofRun = { ...ofJob, run: z.string() };

/** An action that waits for a worker, as it is stored. */
export const jobActionSchema: z.ZodType<JobAction> = z.discriminatedUnion('does', [
  z.strictObject({ does: z.enum(['run', 'plan']), ...ofJob, ...sampled }),
  z.strictObject({ does: z.literal('verify'), ...ofJob }),
  z.strictObject({ does: z.literal('drift'), ...ofJob, ...ACTION_OPTIONS.drift.shape }),
  z.strictObject({ does: z.literal('undo'), ...ofRun, ...keys }),
  z.strictObject({ does: z.literal('release'), ...ofRun, ...ACTION_OPTIONS.release.shape }),
  z.strictObject({ does: z.enum(['approve', 'retry']), ...ofRun }),
]);
