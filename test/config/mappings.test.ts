import { describe, expect, it } from 'vitest';
import { MAPPING, problemsOf, workspace } from './support.ts';

const withCsv = (csv: string) => workspace({ 'mappings/goods.yaml': `${MAPPING}csv: ${csv}\n` });

describe('a mapping', () => {
  it('names the encoding and the delimiter as everybody does', () => {
    const { spec } = withCsv('{ encoding: latin1, delimiter: tab }').mapping('goods');
    expect(spec.csv).toEqual({ encoding: 'windows-1252', delimiter: '\t' });
  });

  it('refuses an unknown encoding, before a run meets it', () => {
    expect(problemsOf(() => withCsv('{ encoding: utf-9 }').mapping('goods'))).toEqual([
      expect.stringContaining(
        "csv.encoding: expected an encoding such as utf-8, utf-16le, windows-1252 or shift_jis, found 'utf-9'",
      ),
    ]);
  });
});
