import { COMMANDS } from '../../src/cli/commands.ts';
import { argumentUsage, type CommandDefinition, flagsOf, JSON_FLAG } from '../../src/cli/define-command.ts';
import { code } from './schema-type.ts';

/**
 * The reference of all commands as Markdown, from their definitions: arguments, options and what `--json` prints. What
 * several commands have is described at the first of them.
 */
export async function commandsMarkdown(): Promise<string> {
  const described = new Map<string, string>();
  const sections: string[] = [];
  for (const { name, summary, load } of COMMANDS) {
    sections.push(section(name, summary, await load(), described));
  }
  return sections.join('\n\n');
}

/** `described` has what earlier commands say of an option, and which command says it; what this one says is added. */
function section(
  name: string,
  summary: string,
  definition: CommandDefinition,
  described: Map<string, string>,
): string {
  const { arguments: named, options, json } = definition;
  const usage = Object.entries(named).map(([key, argument]) => argumentUsage(key, argument));
  const items = [
    ...Object.entries(named).map(([key, { what }]) => ({ shown: code(key), what })),
    ...Object.entries(options)
      .filter(([, option]) => option !== JSON_FLAG)
      .map(([key, option]) => ({
        shown: code(flagsOf(key, option)),
        what: option.what + fallbackOf(option),
      })),
    ...(json === undefined
      ? []
      : [{ shown: code('--json'), what: `prints ${typeof json === 'string' ? json : json.ofRun}` }]),
  ];
  const own: string[] = [];
  const known = new Map<string, string[]>();
  for (const { shown, what } of items) {
    const text = `- ${shown}: ${what}`;
    const before = described.get(text);
    if (before === undefined) own.push(text);
    else known.set(before, [...(known.get(before) ?? []), shown]);
    described.set(text, before ?? name);
  }
  const shared = [...known].map(([before, options]) => `- ${options.join(', ')}: as for ${code(before)}`);
  const heading = `#### ${code([name, ...usage].join(' '))}`;
  const list = [...own, ...shared].join('\n');
  return [heading, `${summary[0]?.toUpperCase()}${summary.slice(1)}.`, list]
    .filter((part) => part !== '')
    .join('\n\n');
}

function fallbackOf({
  value,
  fallback,
}: {
  readonly value: string | null;
  readonly fallback: unknown;
}): string {
  return value === null || fallback === undefined ? '' : ` (default ${code(fallback)})`;
}
