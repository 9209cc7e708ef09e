import { describe, expect, it } from 'vitest';
import { catalogWorkspace } from '../support/catalog.ts';
import { makeWorkspace } from '../support/workspace.ts';

async function errorOf(catalog: string): Promise<unknown> {
  await using workspace = await makeWorkspace(catalogWorkspace('http://127.0.0.1:9', catalog, {}), {
    STORE_API_KEY: 'key',
  });
  const { code, json } = await workspace.storeferry('plan', 'nightly', '--json');
  expect(code).toBe(1);
  return json();
}

describe('a source that cannot be read', () => {
  it('is named with line and column, and with what to do', async () => {
    expect(await errorOf('Handle,Title,Variant Price\na,"Mug" blue,1\n')).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/^\S+\.csv:2:\d+: The quotes of the file are broken: .* is written twice/),
    });
  });

  it('is named when a title stands above its header, with the line of the header', async () => {
    expect(
      await errorOf('Stock on 31 January\n\nHandle,Title,Variant Price\na,Mug,1\nb,Cup,2\n'),
    ).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(
        /^\S+\.csv:1: Line 1 looks like a title.*line 3.*[Dd]elete the lines above/,
      ),
    });
  });

  it('is named when it lacks a column that the mapping needs', async () => {
    expect(await errorOf('Handle,Title\na,Mug\n')).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/^\S+\.csv: The file lacks the required column price: .*right mapping/),
    });
  });
});
