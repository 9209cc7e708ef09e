import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openPictures } from '../../src/source/snapshot.ts';

it.each(['.', './', 'photos', './photos/', 'photos/../photos', 'DIR', 'DIR/'])(
  'the pictures of %s have their names within it',
  async (written) => {
    const dir = await mkdtemp(join(tmpdir(), 'storeferry-pictures-'));
    try {
      const isAll = written.startsWith('.') && !written.includes('photos');
      const folder = isAll || written.startsWith('DIR') ? dir : join(dir, 'photos');
      await mkdir(join(folder, 'old'), { recursive: true });
      for (const name of ['red.jpg', 'old/blue.jpg'])
        await writeFile(join(folder, name), '\xff\xd8\xff', 'latin1');
      await using pictures = await openPictures(written.replace('DIR', dir), { workspaceDir: dir });
      expect(pictures.names).toEqual(['old/blue.jpg', 'red.jpg']);
      expect(await pictures.read('red.jpg')).toMatchObject({ type: 'jpg' });
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  },
);
