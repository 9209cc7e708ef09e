import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  createSessions,
  IDLE_MS,
  type Identity,
  MAX_SESSION_MS,
  openSessionFile,
} from '../../src/dashboard/access/sessions.ts';
import { accessOf, hashToken } from '../../src/dashboard/access/tokens.ts';
import { makeWorkspace } from '../support/workspace.ts';

const READING: Identity = { who: 'read-only token', role: 'view', names: [] };
const EDITING: Identity = { who: 'full token', role: 'edit', names: [] };

const HASHES = { full: hashToken('full-token'), readOnly: hashToken('look-token') };

function identified(hashes: () => typeof HASHES) {
  return (by: string): Identity | undefined =>
    by === hashes().full ? EDITING : by === hashes().readOnly ? READING : undefined;
}

function setup() {
  let now = 1_000_000;
  const sessions = createSessions(
    () => now,
    identified(() => HASHES),
  );
  const wait = (ms: number): void => {
    now += ms;
  };
  return { sessions, wait };
}

it('a session ends when nobody has used it for two hours, watching is no use', () => {
  const { sessions, wait } = setup();
  const { id } = sessions.begin({ by: HASHES.full });
  wait(IDLE_MS - 1);
  expect(sessions.find(id, true)?.role).toBe('edit');
  wait(IDLE_MS - 1);
  expect(sessions.find(id, false)).toBeDefined();
  wait(1);
  expect(sessions.find(id, true)).toBeUndefined();
  wait(-IDLE_MS);
  expect(sessions.find(id, true)).toBeUndefined();
});

it('a session ends after a working day, however busy it is', () => {
  const { sessions, wait } = setup();
  const { id } = sessions.begin({ by: HASHES.readOnly });
  for (let passed = IDLE_MS / 2; passed < MAX_SESSION_MS; passed += IDLE_MS / 2) {
    wait(IDLE_MS / 2);
    expect(sessions.find(id, true)).toBeDefined();
  }
  wait(IDLE_MS / 2);
  expect(sessions.find(id, true)).toBeUndefined();
});

it('a session ends when the clock was put back: nobody knows how long it was idle', () => {
  const { sessions, wait } = setup();
  const { id } = sessions.begin({ by: HASHES.full });
  wait(-30_000);
  expect(sessions.find(id, false)).toBeDefined();
  wait(-3_600_000);
  expect(sessions.find(id, true)).toBeUndefined();
});

it('of too many sessions of a token the one that was used least recently makes room', () => {
  const { sessions, wait } = setup();
  const full = sessions.begin({ by: HASHES.full });
  const first = sessions.begin({ by: HASHES.readOnly });
  const second = sessions.begin({ by: HASHES.readOnly });
  wait(1);
  sessions.find(first.id, true);
  for (let count = 0; count < 99; count += 1) sessions.begin({ by: HASHES.readOnly });
  expect(sessions.find(second.id, true)).toBeUndefined();
  expect(sessions.find(first.id, true)).toBe(first);
  for (let count = 0; count < 300; count += 1) sessions.begin({ by: HASHES.readOnly });
  expect(sessions.find(full.id, true)).toBe(full);
});

it('a sign-in costs the same, however many there were', () => {
  const { sessions, wait } = setup();
  const signIns = (): number => {
    const before = process.cpuUsage().user;
    for (let count = 0; count < 1_000; count += 1) {
      wait(1);
      sessions.begin({ by: HASHES.readOnly });
    }
    return process.cpuUsage().user - before;
  };
  const costs = Array.from({ length: 12 }, signIns);
  expect(Math.min(...costs.slice(-4))).toBeLessThan(4 * Math.max(...costs.slice(0, 3)));
});

it('sessions and their form tokens are unlike one another', () => {
  const { sessions } = setup();
  const made = Array.from({ length: 50 }, () => sessions.begin({ by: HASHES.full }));
  expect(new Set(made.flatMap(({ id, csrfToken }) => [id, csrfToken])).size).toBe(100);
  expect(made.every(({ id, csrfToken }) => id.length >= 43 && csrfToken.length >= 43)).toBe(true);
  expect(sessions.find('', true)).toBeUndefined();
  expect(sessions.find('__proto__', true)).toBeUndefined();
});

it('a token allows what it is for, a hash of one nothing', () => {
  const hashes = HASHES;
  expect(accessOf('full-token', hashes)).toBe('full');
  expect(accessOf('look-token', hashes)).toBe('read-only');
  for (const wrong of ['', 'full', 'FULL-TOKEN', hashes.full, hashes.readOnly]) {
    expect(accessOf(wrong, hashes)).toBe('none');
  }
});

it('says of each session when it has ended, however it did', () => {
  const { sessions, wait } = setup();
  const ended: string[] = [];
  sessions.onEnd(({ id }) => ended.push(id));
  const [out, old] = [sessions.begin({ by: HASHES.full }), sessions.begin({ by: HASHES.full })];
  sessions.end(out.id);
  sessions.end(out.id);
  expect(ended).toEqual([out.id]);
  wait(MAX_SESSION_MS);
  expect(sessions.find(old.id, false)).toBeUndefined();
  expect(ended).toEqual([out.id, old.id]);
  const many = Array.from({ length: 101 }, () => sessions.begin({ by: HASHES.readOnly }).id);
  expect(ended).toEqual([out.id, old.id, many[0]]);
});

it('a session outlives the process while its token is valid, and nobody can use what is kept of it', () => {
  let now = 1_000_000;
  let tokens = HASHES;
  let text = '[]';
  const save = (sessions: readonly object[]) => {
    text = JSON.stringify(sessions);
  };
  const start = () =>
    createSessions(
      () => now,
      identified(() => tokens),
      { kept: JSON.parse(text), save },
    );
  const before = start();
  const { id, csrfToken } = before.begin({ by: HASHES.full, timezone: 'Europe/Berlin' });
  const looking = before.begin({ by: HASHES.readOnly });
  expect(text).not.toContain(id);
  expect(text).not.toContain(csrfToken);

  const after = start();
  expect(after.find(id, true)).toMatchObject({ id, csrfToken, role: 'edit', timezone: 'Europe/Berlin' });
  expect(after.find(looking.id, true)).toMatchObject({ role: 'view' });
  for (const { hash } of JSON.parse(text)) expect(after.find(hash, true)).toBeUndefined();
  // A restart does not make a session last longer.
  now += IDLE_MS;
  expect(start().find(looking.id, true)).toBeUndefined();
  now -= IDLE_MS;
  tokens = { full: hashToken('full-new'), readOnly: hashToken('look-new') };
  expect(after.find(id, true)).toBeUndefined();
  expect(JSON.parse(text)).toHaveLength(1);
  after.end(looking.id);
  expect(text).toBe('[]');
});

it('two dashboards of one workspace keep the sessions of both', async () => {
  await using folder = await makeWorkspace({});
  const file = join(folder.dir, 'sessions.json');
  const open = () => {
    const store = openSessionFile(file, (error) => {
      throw error;
    });
    const sessions = createSessions(
      () => 1_000_000,
      identified(() => HASHES),
      store,
    );
    return { sessions, saved: store.saved };
  };
  const [one, other] = [open(), open()];
  const ended = one.sessions.begin({ by: HASHES.full });
  await one.saved();
  const kept = other.sessions.begin({ by: HASHES.full });
  await other.saved();
  const both = open().sessions;
  expect([ended, kept].map(({ id }) => both.find(id, false)?.id)).toEqual([ended.id, kept.id]);
  one.sessions.end(ended.id);
  await one.saved();
  other.sessions.begin({ by: HASHES.readOnly });
  await other.saved();
  const after = open().sessions;
  expect([ended, kept].map(({ id }) => after.find(id, false)?.id)).toEqual([undefined, kept.id]);
});

it('a session that is ended in one of two dashboards is over in the other, and one in use is not', async () => {
  await using folder = await makeWorkspace({});
  const file = join(folder.dir, 'sessions.json');
  let now = 1_000_000;
  const open = () => {
    const store = openSessionFile(file, (error) => {
      throw error;
    });
    return {
      ...createSessions(
        () => now,
        identified(() => HASHES),
        store,
      ),
      saved: store.saved,
    };
  };
  const before = open();
  const kept = before.begin({ by: HASHES.full });
  await before.saved();
  const [one, other] = [open(), open()];
  expect(other.find(kept.id, true)?.role).toBe('edit');
  const closed: string[] = [];
  other.onEnd(({ id }) => void closed.push(id));
  one.end(kept.id);
  await one.saved();
  expect([other.find(kept.id, true), closed]).toEqual([undefined, [kept.id]]);

  // Another dashboard that saves just then does not bring it back.
  const ended = one.begin({ by: HASHES.full });
  await one.saved();
  now += IDLE_MS / 2;
  expect(other.find(ended.id, true)?.role).toBe('edit');
  await other.saved();
  const saved = await readFile(file, 'utf8');
  one.end(ended.id);
  await one.saved();
  await writeFile(file, saved);
  expect(one.find(ended.id, true)).toBeUndefined();
  await one.saved();
  expect([other.find(ended.id, true), JSON.parse(await readFile(file, 'utf8'))]).toEqual([undefined, []]);

  // One that began elsewhere is listed and ended here, and its use there is known.
  const begun = other.begin({ by: HASHES.full });
  await other.saved();
  expect(one.list()).toHaveLength(1);
  now += IDLE_MS - 1;
  other.find(begun.id, true);
  await other.saved();
  now += IDLE_MS - 1;
  expect(one.list()).toHaveLength(1);
  await one.saved();
  expect(other.find(begun.id, true)).toBeDefined();
  await other.saved();
  one.revoke(one.list()[0]?.hash ?? '');
  await one.saved();
  expect([other.find(begun.id, true), other.list()]).toEqual([undefined, []]);

  // A damaged file ends nothing.
  const last = other.begin({ by: HASHES.full });
  await other.saved();
  await folder.write('sessions.json', '[{');
  expect(other.find(last.id, true)).toBeDefined();
  other.begin({ by: HASHES.readOnly });
  await other.saved();
  expect(other.find(last.id, true)).toBeDefined();
});
