import { expect, it } from 'vitest';
import { setupPages, textOf } from './setup.ts';

it.each([
  ['EROFS', 503, 'A file in the folder jobs cannot be read or changed (EROFS).'],
  ['EBADF', 500, 'This is a bug in Storeferry.'],
])('an error %s of the file system is shown as what it is', async (code, status, words) => {
  await using scene = await setupPages({});
  scene.app.get('/failing', () => {
    throw Object.assign(new Error('it failed'), { code, path: '/srv/shop/jobs/.nightly.yaml.tmp' });
  });
  const page = await scene.get('/failing');
  expect(page.status).toBe(status);
  expect(textOf(page.document.querySelector('main'))).toContain(words);
  expect(page.text).not.toContain('/srv/shop');
});
