import { COMMANDS } from '../../src/cli/commands.ts';
import { argumentUsage, type CommandDefinition, flagsOf } from '../../src/cli/define-command.ts';
import { code } from './schema-type.ts';

/** The reference of all commands as Markdown: arguments, options and what `--json` prints, from their definitions. */
export async function commandsMarkdown(): Promise<string> {
  const sections = await Promise.all(
    COMMANDS.map(async ({ name, summary, load }) => section(name, summary, await load())),
  );
  return sections.join('\n\n');
}

function section(name: string, summary: string, definition: CommandDefinition): string {
  const { arguments: named, options, json } = definition;
  const words = Object.entries(named).map(([key, argument]) => argumentUsage(key, argument));
  const rows = [
    ...Object.entries(named).map(([key, { what }]) => row(key, what, undefined)),
    ...Object.entries(options).map(([key, option]) =>
      row(flagsOf(key, option), option.what, option.value === null ? undefined : option.fallback),
    ),
  ];
  const table = ['| argument or option | what | default |', '|---|---|---|', ...rows].join('\n');
  const parts = [
    `#### ${code([name, ...words].join(' '))}`,
    `${summary[0]?.toUpperCase()}${summary.slice(1)}.`,
  ];
  if (rows.length > 0) parts.push(table);
  if (json !== undefined) parts.push(`\`--json\` prints ${json}.`);
  return parts.join('\n\n');
}

function row(name: string, what: string, fallback: unknown): string {
  return `| ${code(name)} | ${what} | ${fallback === undefined ? '' : code(fallback)} |`;
}
