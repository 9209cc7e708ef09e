import type { z } from 'zod';

const ISSUES_SHOWN = 5;

/** The checked input, or a message that names each wrong field with its path. */
export type Checked<Value> = { readonly value: Value } | { readonly message: string };

/** Checks input against a schema; `whole` names the input itself in messages. Values are not quoted. */
export function check<Value>(schema: z.ZodType<Value>, input: unknown, whole: string): Checked<Value> {
  const { success, data, error } = schema.safeParse(input);
  if (success) return { value: data };
  const shown = error.issues.slice(0, ISSUES_SHOWN).map((issue) => {
    const place = pathText(issue.path) || whole;
    return `${place}: ${issue.message.replace(/^Invalid input: /, '')}`;
  });
  const more = error.issues.length - shown.length;
  return { message: `${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}` };
}

/** `variants[2].price`. */
function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((step, index) =>
      typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${String(step)}`,
    )
    .join('');
}
