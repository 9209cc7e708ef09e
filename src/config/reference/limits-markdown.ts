import {
  beyondLimit,
  DEFAULT_LIMITS,
  LIMIT_WORDS,
  type LimitName,
  raiseLimit,
} from '../../model/input-limits.ts';
import { limitsSchema } from '../job/limits-schema.ts';
import { code } from './schema-type.ts';

const UNITS = [
  ['GiB', 1024 ** 3],
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
] as const;

/** A number as people say it: what counts bytes in the largest unit that leaves no fraction. */
function said(limit: LimitName): string {
  const value = DEFAULT_LIMITS[limit];
  const [unit, size] = (/bytes/i.test(limit) && UNITS.find(([, bytes]) => value % bytes === 0)) || ['', 1];
  return `${(value / size).toLocaleString('en')}${unit === '' ? '' : ` ${unit}`}`;
}

function isLimit(name: string): name is LimitName {
  return Object.hasOwn(DEFAULT_LIMITS, name);
}

/** All limits on what an import takes in as a Markdown table: what each counts, its default, setting and message. */
export function limitsMarkdown(): string {
  const names = Object.keys(limitsSchema.shape).filter(isLimit);
  const rows = names.map((name) => {
    const message = beyondLimit(name, DEFAULT_LIMITS[name]).replaceAll('|', '\\|');
    return `| ${code(name)} | ${LIMIT_WORDS[name].counts} | ${said(name)} | ${code(`limits: { ${name}: … }`)} | … ${message} |`;
  });
  return [
    '| limit | what it counts | default | setting in the job | message |',
    '|---|---|---|---|---|',
    ...rows,
    '',
    `Every message says where (file, line and column, as far as there are any) and ends: “${raiseLimit('rows').replace('rows', 'NAME')}”`,
  ].join('\n');
}
