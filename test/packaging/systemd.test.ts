import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import { blocksIn } from '../docs/document-blocks.ts';
import { runProcess, succeeds } from '../support/processes.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const FIRST_LINE = /^# \/etc\/systemd\/system\/(\S+\.service)\n/;

/** The units that docs/operation.md shows, by their file names. */
const UNITS = blocksIn(readFileSync(join(ROOT, 'docs', 'operation.md'), 'utf8')).flatMap(({ content }) => {
  const [, name] = FIRST_LINE.exec(content) ?? [];
  return name === undefined ? [] : [{ name, content }];
});

/** The settings of a section; the last one of a name counts. */
function settingsOf(content: string, section: string): ReadonlyMap<string, string> {
  const [, text = ''] = content.split(`[${section}]\n`);
  const [own = ''] = text.split(/^\[/m);
  return new Map([...own.matchAll(/^(\w+)=(.*)$/gm)].map(([, key = '', value = '']) => [key, value]));
}

/** How often systemd starts a service within a time that ends again and again, until it gives up; all in seconds. */
function startsWithin(time: number, content: string, endsAfter: number): { starts: number; gaveUp: boolean } {
  const interval = Number(settingsOf(content, 'Unit').get('StartLimitIntervalSec') ?? 10);
  const burst = Number(settingsOf(content, 'Unit').get('StartLimitBurst') ?? 5);
  const wait = Number(settingsOf(content, 'Service').get('RestartSec') ?? 0.1);
  const starts: number[] = [];
  for (let now = 0; now < time; now += endsAfter + wait) {
    const recent = starts.filter((start) => now - start < interval);
    if (interval > 0 && recent.length >= burst) return { starts: starts.length, gaveUp: true };
    starts.push(now);
  }
  return { starts: starts.length, gaveUp: false };
}

describe('the systemd units of docs/operation.md', () => {
  it('are one, whose lines for a worker and a dashboard beside workers name commands that there are', async () => {
    expect(UNITS.map(({ name }) => name)).toEqual(['storeferry.service']);
    const [{ content } = { content: '' }] = UNITS;
    const variants = [...content.matchAll(/^# .*: ((?:worker|dashboard)\b.*)$/gm)].map(
      ([, line = '']) => line,
    );
    expect(variants).toHaveLength(2);
    const started = [
      settingsOf(content, 'Service')
        .get('ExecStart')
        ?.replace(/.* -C \S+ /, ''),
      ...variants,
    ];
    for (const line of started) {
      const [name = '', ...options] = (line ?? '').split(' ');
      const load = COMMANDS.find((command) => command.name === name)?.load;
      const known = Object.keys((await load?.())?.options ?? {}).map((key) => `--${key}`);
      expect(known).toEqual(expect.arrayContaining(options.filter((word) => word.startsWith('--'))));
    }
  });

  it('give up without these settings: a service that ends within two seconds since Redis is away', () => {
    expect(startsWithin(3_600, '[Unit]\n[Service]\nRestart=always\n', 1.5)).toEqual({
      starts: 5,
      gaveUp: true,
    });
  });

  it.each(UNITS)(
    '$name is started again through an hour without Redis, and not in a tight loop',
    ({ content }) => {
      expect(settingsOf(content, 'Service').get('Restart')).toBe('always');
      for (const endsAfter of [0.2, 1.5, 60]) {
        const { starts, gaveUp } = startsWithin(3_600, content, endsAfter);
        expect(gaveUp).toBe(false);
        expect(starts).toBeLessThan(400);
        expect(starts).toBeGreaterThan(50);
      }
    },
  );

  it.each(UNITS)('$name reads and writes only what it needs', ({ content }) => {
    const settings = settingsOf(content, 'Service');
    const names = ['NoNewPrivileges', 'ProtectSystem', 'ProtectHome', 'PrivateTmp', 'UMask'];
    expect(names.map((name) => settings.get(name))).toEqual(['yes', 'strict', 'yes', 'yes', '0077']);
    // The workspace is what remains writable.
    const [, workspace] = / -C (\S+) /.exec(settings.get('ExecStart') ?? '') ?? [];
    expect(settings.get('ReadWritePaths')).toBe(workspace);
  });

  const isThere = succeeds('systemd-analyze', '--version');
  if (!isThere) process.stdout.write('skipped, no systemd-analyze\n');
  const dir = mkdtempSync(join(tmpdir(), 'storeferry-units-'));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it.skipIf(!isThere).each(UNITS)('$name is verified by systemd', async ({ name, content }) => {
    const file = join(dir, name);
    // The program of the unit is not installed here; another one stands for it.
    writeFileSync(file, content.replace('/usr/bin/storeferry', process.execPath));
    const { code, stderr, stdout } = await runProcess('systemd-analyze', ['verify', '--man=no', file]);
    const complaints = `${stdout}${stderr}`.split('\n').filter((line) => line.includes(name));
    expect(complaints).toEqual([]);
    expect(code).toBe(0);
  });
});
