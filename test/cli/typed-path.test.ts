import { expect, it } from 'vitest';
import { typedPath } from '../../src/cli/init/ask-job.ts';

const here = { cwd: '/shop', home: '/home/ada', windows: false };

it.each([
  ['export.csv', '/shop/export.csv'],
  ['  ../export.csv ', '/export.csv'],
  ['~/Downloads/a b.csv', '/home/ada/Downloads/a b.csv'],
  ['\'/tmp/my "best" file.csv\'', '/tmp/my "best" file.csv'],
  ['"~/x.csv"', '/shop/~/x.csv'],
  ['/tmp/my\\ file\\ \\(1\\).csv', '/tmp/my file (1).csv'],
  ["it's.csv", "/shop/it's.csv"],
])('reads the path %s as people mean it', (typed, path) => {
  expect(typedPath(typed, here)).toBe(path);
});
