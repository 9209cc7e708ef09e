import { describe, expect, it } from 'vitest';
import { SCHEMA_NAMES } from '../../src/config/workspace.ts';
import { referenceMarkdown } from '../docs/reference-markdown.ts';

/** Each item of the lists: its keys, its type with `required` or the default, and its meaning. */
function itemsOf(markdown: string) {
  const items = markdown.matchAll(/^- ((?:`[^`]+`(?:, )?)+)(?: \((.+?)\))?(?:: (?!as )(.*))?$/gm);
  return [...items].map(([, keys = '', facts = '', meaning = '']) => ({ keys, facts, meaning }));
}

describe('the reference', () => {
  it('gives for each key its values, its default and its meaning', () => {
    expect(referenceMarkdown('stores')).toContain(
      '- `limits.concurrency` (whole number; default `16`): Most requests in flight at once, in each process.',
    );
    const job = referenceMarkdown('job');
    expect(job).toContain('- `safety.maxDeletes` (whole number or percentage, or `off`; default `5%`): ');
    expect(job).toContain('- `store` (required): ');
    expect(job).toContain('- `source.delimiter` (`,`, `;`, `|`, `\\t`, `comma`, ');
    expect(job).toContain('- `hostKey` (text or list; required): ');
  });

  it('states once what all kinds of a file have in common', () => {
    const job = referenceMarkdown('job');
    expect(job.match(/^#### .*$/gm)).toEqual([
      ...['#### In every job', '#### `import`', '#### `export`'],
      ...['#### WebFile', '#### S3Object', '#### SftpFile', '#### PostgresDatabase', '#### MysqlDatabase'],
    ]);
    expect(job.match(/^- `schedule\.cron` \(/gm)).toHaveLength(1);
    const headings = referenceMarkdown('mapping').match(/^#### .*$/gm);
    expect(headings).toEqual(
      expect.arrayContaining(['#### `import: products`', '#### Value', '#### Condition']),
    );
  });

  it('describes once what several places have', () => {
    const job = referenceMarkdown('job');
    expect(job).toContain(
      '- `crosswalk.url`, `s3`, `sftp`, `postgres`, `mysql`, `sqlite`, `custom`, `query`, `sheet`, `headerRow`, ',
    );
    expect(job).toContain(', `skipBlanks`: as under `source`');
    const mapping = referenceMarkdown('mapping');
    expect(mapping).toMatch(
      /^- `lookups\.NAME\.url`, .*: as under `source` in \[jobs\]\(reference\.md#jobs\)$/m,
    );
    expect(mapping).toContain(
      'WebFile, S3Object, SftpFile, PostgresDatabase, MysqlDatabase: as [in jobs](reference.md#webfile)',
    );
    expect(mapping).not.toContain('#### WebFile');
  });

  it('leaves the limits on input to their own page', () => {
    expect(referenceMarkdown('job')).toMatch(/^- `limits` \(/m);
    expect(referenceMarkdown('job')).not.toContain('`limits.rows`');
    expect(referenceMarkdown('limits')).toContain('- `rows` (50,000,000): ');
  });

  it('lists the variables of the environment', () => {
    expect(itemsOf(referenceMarkdown('environment')).map(({ keys, facts }) => [keys, facts])).toEqual([
      ['`REDIS_URL`', ''],
      ['`REDIS_PREFIX`', ''],
      ['`REDIS_CA`', ''],
      ['`ARTIFACTS_URL`', 'default `.storeferry/artifacts`'],
      ['`STOREFERRY_ALLOW`', ''],
      ['`EVENTS_SECRET`', ''],
      ['`LOG_LEVEL`', expect.stringMatching(/^`trace`, .*; default `info`$/)],
    ]);
  });

  it.each(SCHEMA_NAMES)('of a %s says of each key what it takes, or where that is said', (name) => {
    const markdown = referenceMarkdown(name);
    const items = itemsOf(markdown);
    expect(items.length).toBeGreaterThan(5);
    expect(items.filter(({ facts }) => facts.startsWith('anything'))).toEqual([]);
    const complete = /^- (?:`[^`]+`(?:, )?)+(?: \(.+\))?(?:: .+)?$/;
    const lines = markdown.split('\n').filter((line) => line.startsWith('- '));
    expect(lines.filter((line) => !complete.test(line))).toEqual([]);
    expect(markdown).not.toMatch(/__schema|undefined|\[object/);
  });

  it.each(['stores', 'job'] as const)('of a %s leaves no key unexplained', (name) => {
    expect(itemsOf(referenceMarkdown(name)).filter(({ meaning }) => meaning === '')).toEqual([]);
  });
});
