import { describe, expect, it } from 'vitest';
import { readEditable } from '../../../src/config/edit-file.ts';
import { notifyEdits, notifyGroups } from '../../../src/dashboard/edit-job/notify-groups.ts';
import { catalogWorkspace } from '../../support/catalog.ts';
import { setupPages } from './setup.ts';

const FILE = 'jobs/nightly.yaml';

async function opened(notify: string) {
  const files = catalogWorkspace('http://127.0.0.1:9', '');
  await using scene = await setupPages({ ...files, [FILE]: `${files[FILE]}notify: ${notify}\n` });
  return readEditable(scene.dashboard.readWorkspace(), FILE);
}

describe('recipients in the form of a job', () => {
  it.each([
    '{ pager: "https://pager.example" }',
    '[{ url: "https://hooks.example" }, { pager: "https://pager.example" }]',
  ])('stay as they are where one is of an unknown kind: %s', async (written) => {
    const file = await opened(written);
    expect(notifyGroups(file)).toEqual([]);
    expect(notifyEdits(file, {}, { mode: 'mirror' })).toEqual([]);
  });

  it('can be removed where their kinds are known', async () => {
    const file = await opened('{ url: "https://hooks.example" }');
    expect(notifyGroups(file)).toHaveLength(2);
    expect(notifyEdits(file, { 'notify.0.kind': 'url' }, { 'notify.0.kind': '' })).toEqual([
      { set: ['notify'], to: undefined },
    ]);
  });
});
