import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe } from 'vitest';
import { describeState } from './state-suite.ts';

const root = mkdtempSync(join(tmpdir(), 'storeferry-state-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let opened = 0;
const freshFolder = () => join(root, `${++opened}`, '.storeferry');

describe('the embedded state', () => {
  describeState(async () => ({ kind: 'sqlite', folder: freshFolder() }));
});
