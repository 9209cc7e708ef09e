import { describe, expect, it } from 'vitest';
import { SCHEMA_NAMES } from '../../src/config/json-schema.ts';
import { referenceMarkdown } from '../docs/reference-markdown.ts';

function rows(markdown: string): string[][] {
  return markdown
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .slice(2, -2)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim()),
    );
}

describe('the reference', () => {
  it('gives for each key its values, its default and its meaning', () => {
    expect(referenceMarkdown('stores')).toContain(
      '| `limits.concurrency` | whole number | `16` | Most requests in flight at once, in each process. |',
    );
    const job = referenceMarkdown('job');
    expect(job).toContain('| `safety.maxDeletes` | whole number or percentage, or `off` | `5%` | ');
    expect(job).toContain('| `store` | text | **required** | ');
    expect(job).toContain('| `source.delimiter` | `,`, `;`, `\\|`, `\\t`, `comma`, ');
    expect(job).toContain('| `hostKey` | text or list of text | **required** | ');
  });

  it('states once what all kinds of a file have in common', () => {
    const job = referenceMarkdown('job');
    expect(job.match(/^#### .*$/gm)).toEqual([
      ...['#### In every job', '#### `import`', '#### `export`'],
      ...['#### WebFile', '#### S3Object', '#### SftpFile'],
    ]);
    expect(job.match(/\| `schedule\.cron` \|/g)).toHaveLength(1);
    const headings = referenceMarkdown('mapping').match(/^#### .*$/gm);
    expect(headings).toEqual(
      expect.arrayContaining(['#### `import: products`', '#### Value', '#### Condition']),
    );
  });

  it('lists the variables of the environment', () => {
    const found = rows(referenceMarkdown('environment'));
    expect(found.map(([name, , preset]) => [name, preset])).toEqual([
      ['`REDIS_URL`', ''],
      ['`ARTIFACTS_URL`', '`.storeferry/artifacts`'],
      ['`STOREFERRY_ALLOW`', ''],
      ['`LOG_LEVEL`', '`info`'],
    ]);
  });

  it.each(SCHEMA_NAMES)('of a %s has whole tables', (name) => {
    const markdown = referenceMarkdown(name);
    const found = rows(markdown);
    expect(found.length).toBeGreaterThan(5);
    expect(found.filter((cells) => cells.length !== 4 || cells[1] === '' || cells[1] === 'anything')).toEqual(
      [],
    );
    expect(markdown).not.toMatch(/__schema|undefined|\[object/);
  });

  it.each(['stores', 'job'] as const)('of a %s leaves no key unexplained', (name) => {
    expect(rows(referenceMarkdown(name)).filter((cells) => cells[3] === '')).toEqual([]);
  });
});
