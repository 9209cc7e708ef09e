import { describe, expect, it } from 'vitest';
import { reasonsForWebhook, withoutPersonalData } from '../../src/report/run-facts.ts';
import { maskPersonalData } from '../../src/text/mask-personal-data.ts';
import { facts } from './run-facts.ts';

const refusal = (message: string) => ({
  ...{ code: 'store-422', message, field: null, column: null, records: 1, rows: 1 },
  lines: [{ file: 0, line: 7 }],
});

describe('what a store says of a contact', () => {
  it('keeps its meaning and shows no person', () => {
    expect(maskPersonalData("The address 'anna.smith@example.com' is taken")).toBe(
      "The address 'a•••.s••••@e••••••.c••' is taken",
    );
    expect(maskPersonalData('Call +44 (0)20 7946 0958 first')).toBe('Call +4• (0)2• 7••• 0••• first');
    expect(maskPersonalData('müller@exämple.de, zoë@example.com')).not.toMatch(/üller|zoë/);
    expect(maskPersonalData('Field name: at most 255 letters (422)')).toBe(
      'Field name: at most 255 letters (422)',
    );
  });

  it('leaves the dates in names of files, and no number beside them', () => {
    const file =
      '/srv/shop/in/2026-11-30/crm_20261130-0215.csv:7:6: broken; exports/orders-2026-11-30-1.xlsx is there';
    expect(maskPersonalData(file)).toBe(file);
    expect(maskPersonalData('020 7946 0958 in crm-2026-11-30.csv, 020 7946 0958.')).toBe(
      '0•• 7••• 0••• in crm-2026-11-30.csv, 0•• 7••• 0•••.',
    );
    expect(maskPersonalData('born 1985-03-12')).toBe('born 1•••-0•-1•');
    expect(maskPersonalData('PUT /contacts/5551234567.json, 5551234567/notes.txt')).not.toContain('5551');
  });

  it('is hidden in reports of contacts and of products, with the lines that say whose row it is', () => {
    const refusals = [refusal('anna@example.com is taken')];
    const people = withoutPersonalData(facts({ resource: 'contacts' }, { refusals }));
    expect(people.refusals[0]).toMatchObject({
      message: 'a•••@e••••••.c•• is taken',
      lines: [{ file: 0, line: 7 }],
    });
    const named = refusal('Owned by Anna Smith, anna@example.com, +44 20 7946 0958');
    const things = withoutPersonalData(facts({ resource: 'products' }, { refusals: [named] }));
    expect(things.refusals[0]?.message).toBe('Owned by A••• S••••, a•••@e••••••.c••, +4• 2• 7••• 0•••');
  });

  it('keeps our own sentences about products as they are', () => {
    const ours = { ...refusal('The barcode 4006381333931 is “Blue Shirt”'), code: 'sku-duplicate' };
    const things = withoutPersonalData(facts({ resource: 'products' }, { refusals: [ours] }));
    expect(things.refusals).toEqual([ours]);
  });

  it('is not posted to a webhook, of contacts: only status and field', () => {
    const reasons = [refusal('owner zed quux'), { ...refusal('zed'), field: 'email' }];
    expect(reasonsForWebhook(reasons, { resource: 'contacts' }).map(({ message }) => message)).toEqual([
      'the store answered 422 (its message is in the report)',
      'the store answered 422 for email (its message is in the report)',
    ]);
    expect(reasonsForWebhook(reasons, { resource: 'products' })).toEqual(reasons);
  });
});
