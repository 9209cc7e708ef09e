import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { describe, expect, it } from 'vitest';
import { watchedCommand } from '../faults/watched-command.ts';
import { crmExport, emailOf } from '../support/contacts.ts';

const LINES = 1_000_000;
const CONTACTS = 20_000;
const UNKNOWN = 50;

function* crosswalk(): Generator<string> {
  yield 'id,email\n';
  for (let from = 0; from < LINES; from += 1_000) {
    // Backwards, so that neither file helps to find the other's lines.
    yield Array.from({ length: 1_000 }, (_, index) => LINES - from - index)
      .map((number) => `${number},${emailOf(number).toUpperCase()}\n`)
      .join('');
  }
}

describe('a crosswalk of a million lines', () => {
  it('fits in 512 MiB, and finds whom it knows', async () => {
    const rows = Array.from({ length: CONTACTS }, (_, index) => ({
      number: index < UNKNOWN ? LINES + 1 + index : index * 49,
    }));
    const files = {
      'stores.yaml': `main: { baseUrl: "https://shop.example", apiKey: "\${KEY}" }\n`,
      'jobs/crm.yaml':
        'import: contacts\nstore: main\nsource: { path: crm.csv }\nmapping: hubspot-contacts\ncrosswalk: { path: ids.csv, match: email }\n',
      'crm.csv': crmExport(rows),
    };
    const writeCrosswalk = (dir: string) =>
      pipeline(Readable.from(crosswalk()), createWriteStream(join(dir, 'ids.csv')));

    const { ended, watched } = await watchedCommand(
      files,
      { KEY: 'k' },
      writeCrosswalk,
      'plan',
      'crm',
      '--json',
    );
    expect(ended.json()).toMatchObject({ records: CONTACTS, new: CONTACTS - UNKNOWN, rejected: UNKNOWN });
    expect(watched.maxRssMib).toBeLessThan(512);
  });
});
