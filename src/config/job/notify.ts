import { z } from 'zod';
import type { DeepReadonly } from '../../model/deep-readonly.ts';
import { isHttpUrl } from '../../model/is-http-url.ts';
import { placeholder } from '../placeholder.ts';

/** The webhook that is notified when a run ends. */
export const notifySchema = z.strictObject({
  url: z
    .string()
    .refine((url) => url === '' || isHttpUrl(url), 'expected an http or https address, or nothing')
    .meta({
      description: 'The webhook that gets a short text and the summary as JSON. Empty: no notification.',
      examples: [placeholder('OPS_WEBHOOK', '')],
    }),
  on: z
    .array(z.enum(['failed', 'stopped', 'rejects', 'done']))
    .default(['failed', 'stopped', 'rejects'])
    .describe(
      'Which outcomes of a run send a notification: failed, stopped by a safety limit, done with rejects, done.',
    ),
});

export type Notify = DeepReadonly<z.infer<typeof notifySchema>>;
