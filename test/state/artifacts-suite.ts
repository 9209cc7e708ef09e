import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { StateError } from '../../src/model/storeferry-error.ts';
import type { Artifacts } from '../../src/state/artifacts.ts';

/** What artifacts do wherever they live; `fresh` opens a place in which there is nothing yet. */
export function describeArtifacts(fresh: () => Artifacts): void {
  it('come back as they were written, with their size', async () => {
    const folder = fresh().run('run-1');
    const bytes = await folder.write('shard-00001.jsonl', ['{"a":1}\n', Buffer.from('käse\n'), '']);
    expect(bytes).toBe(Buffer.byteLength('{"a":1}\nkäse\n'));
    expect(await text(await folder.read('shard-00001.jsonl'))).toBe('{"a":1}\nkäse\n');
    expect(await folder.exists('shard-00001.jsonl')).toBe(true);
    expect(await folder.exists('shard-00002.jsonl')).toBe(false);
  });

  it('may be empty, large, and written again', async () => {
    const folder = fresh().run('run-1');
    expect(await folder.write('empty', [])).toBe(0);
    expect(await text(await folder.read('empty'))).toBe('');
    const lines = Array.from({ length: 50_000 }, (_, line) => `line ${line}\n`);
    await folder.write('large', lines);
    expect(await text(await folder.read('large'))).toBe(lines.join(''));
    await folder.write('large', ['small now']);
    expect(await text(await folder.read('large'))).toBe('small now');
  });

  it('are copied from one of them to another while it is read', async () => {
    const folder = fresh().run('run-1');
    await folder.write('untouched.csv', ['a;b\n', '1;2\n']);
    expect(await folder.write('rejects.csv', await folder.read('untouched.csv'))).toBe(8);
    expect(await text(await folder.read('rejects.csv'))).toBe('a;b\n1;2\n');
  });

  it('are listed by name, removed one by one, and with their run alone', async () => {
    const artifacts = fresh();
    const folder = artifacts.run('run-1');
    expect(await folder.list()).toEqual([]);
    for (const name of ['b', 'a.jsonl', 'c-1']) await folder.write(name, [name]);
    await artifacts.run('run-10').write('other', ['x']);
    expect(await folder.list()).toEqual(['a.jsonl', 'b', 'c-1']);
    await folder.remove(['b', 'absent']);
    expect(await folder.list()).toEqual(['a.jsonl', 'c-1']);
    await artifacts.remove('run-1');
    await artifacts.remove('run-1');
    expect(await folder.list()).toEqual([]);
    expect(await folder.exists('a.jsonl')).toBe(false);
    expect(await artifacts.run('run-10').list()).toEqual(['other']);
  });

  it.each([1_000, 9 * 1_024 * 1_024])(
    'are absent while they are being written, and stay so when their content fails after %i bytes',
    async (length) => {
      const folder = fresh().run('run-1');
      let seen: readonly string[] | undefined;
      const failing = async function* () {
        yield 'x'.repeat(length);
        seen = await folder.list();
        throw new RangeError('content fails');
      };
      await expect(folder.write('shard', failing())).rejects.toThrow(RangeError);
      expect(seen).toEqual([]);
      expect(await folder.list()).toEqual([]);
    },
  );

  it('keep what they were when writing them again fails', async () => {
    const folder = fresh().run('run-1');
    await folder.write('plan', ['first']);
    const failing = function* () {
      yield 'second';
      throw new Error('stop');
    };
    await expect(folder.write('plan', failing())).rejects.toThrow('stop');
    expect(await text(await folder.read('plan'))).toBe('first');
  });

  it('need not be read to their end, nor at all', async () => {
    const folder = fresh().run('run-1');
    await folder.write('large', ['x'.repeat(5_000_000)]);
    for await (const chunk of await folder.read('large')) {
      expect(String(chunk)).toMatch(/^x+$/);
      break;
    }
    (await folder.read('large')).destroy();
    expect(await folder.exists('large')).toBe(true);
  });

  it.each(['', '.', '..', '../run-2', 'a/b', '/etc/passwd', 'a\\b', 'a\0b', '.hidden', 'ä', 'x'.repeat(300)])(
    'refuse the name %j, which may lead elsewhere',
    async (name) => {
      const artifacts = fresh();
      expect(() => artifacts.run(name)).toThrow(StateError);
      await expect(artifacts.remove(name)).rejects.toThrow(StateError);
      const folder = artifacts.run('run-1');
      await expect(folder.write(name, ['x'])).rejects.toThrow(StateError);
      await expect(folder.read(name)).rejects.toThrow(StateError);
      await expect(folder.exists(name)).rejects.toThrow(StateError);
      await expect(folder.remove([name])).rejects.toThrow(StateError);
    },
  );

  it('say so when one is read that is not there', async () => {
    const folder = fresh().run('run-1');
    await folder.write('here', ['x']);
    await expect(folder.read('absent')).rejects.toThrow(StateError);
    await expect(folder.read('absent')).rejects.toThrow(/absent cannot be read: it does not exist/);
  });
}
