import { parseEnv } from 'node:util';
import { UsageError } from '../../model/errors.ts';

/** The lines that set variables in `.env`. UsageError for a value that no quotes of such a file can hold. */
export function dotEnvText(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `${assignment(name, value)}\n`)
    .join('');
}

function assignment(name: string, value: string): string {
  const ways = [value, `'${value}'`, `"${value}"`, `\`${value}\``];
  const line = ways.map((way) => `${name}=${way}`).find((text) => parseEnv(text)[name] === value);
  if (line !== undefined) return line;
  throw new UsageError(`The value of ${name} cannot be written into .env: it mixes all kinds of quotes.`, {
    hint: `Set ${name} in the environment instead.`,
  });
}
