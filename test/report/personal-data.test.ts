import { describe, expect, it } from 'vitest';
import { masked } from '../../src/model/personal-data.ts';
import { withoutPersonalData } from '../../src/report/wording/personal-data.ts';
import { facts } from './run-facts.ts';

const refusal = (message: string) => ({
  ...{ code: 'store-422', message, field: null, column: null, records: 1, rows: 1 },
  lines: [{ file: 0, line: 7 }],
});

describe('what a store says of a contact', () => {
  it('keeps its sense and shows nobody', () => {
    expect(masked("The address 'anna.smith@example.com' is taken")).toBe(
      "The address 'a•••.s••••@e••••••.c••' is taken",
    );
    expect(masked('Call +44 (0)20 7946 0958 first')).toBe('Call +4• (0)2• 7••• 0••• first');
    expect(masked('müller@exämple.de, zoë@example.com')).not.toMatch(/üller|zoë/);
    expect(masked('Field name: at most 255 letters (422)')).toBe('Field name: at most 255 letters (422)');
  });

  it('is hidden in reports of contacts only, with the lines that say whose row it is', () => {
    const refusals = [refusal('anna@example.com is taken')];
    const people = withoutPersonalData(facts({ resource: 'contacts' }, { refusals }));
    expect(people.refusals[0]).toMatchObject({
      message: 'a•••@e••••••.c•• is taken',
      lines: [{ file: 0, line: 7 }],
    });
    const things = facts({ resource: 'products' }, { refusals });
    expect(withoutPersonalData(things)).toBe(things);
  });
});
