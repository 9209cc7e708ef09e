import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { googleSheetExport } from '../../src/remote/google-account.ts';
import { httpKind } from '../../src/remote/http-kind.ts';
import { unpack } from '../../src/source/unpack.ts';

const SHEET = 'https://docs.google.com/spreadsheets/d/1AbC-d_e';
const PUBLISHED = 'https://docs.google.com/spreadsheets/d/e/2PACX-1v';

describe('the link of a Google Sheet', () => {
  it.each([
    [`${SHEET}/edit#gid=7`, `${SHEET}/export?format=csv&gid=7`],
    [`${SHEET}/edit?usp=sharing`, `${SHEET}/export?format=csv`],
    [`${SHEET}/edit?gid=12#gid=12`, `${SHEET}/export?format=csv&gid=12`],
    ['https://docs.google.com/spreadsheets/u/1/d/1AbC-d_e/edit', `${SHEET}/export?format=csv`],
    [SHEET, `${SHEET}/export?format=csv`],
    [`${PUBLISHED}/pubhtml?gid=3&single=true`, `${PUBLISHED}/pub?output=csv&single=true&gid=3`],
    [`${SHEET}/export?format=xlsx`, `${SHEET}/export?format=xlsx`],
    [`${PUBLISHED}/pub?output=csv`, `${PUBLISHED}/pub?output=csv`],
    ['https://docs.google.com/document/d/1AbC/edit', 'https://docs.google.com/document/d/1AbC/edit'],
    ['https://shop.example/spreadsheets/d/1/edit', 'https://shop.example/spreadsheets/d/1/edit'],
  ])('%s is read at %s', (link, address) => {
    expect(googleSheetExport(link)).toBe(address);
  });

  it('is taken as the url of a source', () => {
    const { complete } = httpKind.schema.parse(`${SHEET}/edit#gid=7`);
    expect(complete({ written: undefined, variable: () => undefined, onSecret: () => {} })).toMatchObject({
      remote: { address: `${SHEET}/export?format=csv&gid=7` },
    });
  });

  it('is explained where it gives a page to sign in', async () => {
    const page = Readable.from([Buffer.from('<!doctype html><html><title>Sign in</title>')]);
    await expect(unpack(page, `${SHEET}/edit#gid=7`)).rejects.toMatchObject({
      hint: expect.stringContaining('Anyone with the link'),
    });
  });
});
