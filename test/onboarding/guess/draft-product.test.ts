import { describe, expect, it } from 'vitest';
import { proposeMapping } from '../../../src/onboarding/guess/propose-mapping.ts';
import { guessed } from './guess-setup.ts';

type Answers = Readonly<Record<string, string>>;
const hidden = (text: string, answers?: Answers) =>
  guessed(text, (product) => product.hidden ?? null, answers);
const titles = (text: string, answers?: Answers) => guessed(text, ({ title }) => title, answers);

describe('whether a product is hidden', () => {
  it('is said by a blank beside words of one meaning', async () => {
    expect(await hidden('Name;Price;Active\nMug;4.00;yes\nJug;5.00;')).toEqual([false, true]);
    expect(await hidden('Name;Price;Status\nMug;4.00;published\nJug;5.00;')).toEqual([false, true]);
    expect(await hidden('Name;Price;Hidden\nMug;4.00;yes\nJug;5.00;')).toEqual([true, false]);
  });

  it('is asked where a blank stands beside words of both meanings', async () => {
    const text = 'Name;Price;Active\nMug;4.00;yes\nJug;5.00;no\nCan;6.00;';
    expect(await hidden(text)).toEqual(['unused.Active']);
    expect(await hidden(text, { 'unused.Active': 'hidden' })).toEqual([false, true, true]);
    expect(await hidden(text, { 'unused.Active': 'shown' })).toEqual([false, true, false]);
  });

  it('is asked for each number where there are more than 0 and 1', async () => {
    const text = 'Name;Price;Visibility\nMug;4.00;1\nJug;5.00;4';
    expect(await hidden(text)).toEqual(['word.1', 'word.4']);
    expect(await hidden(text, { 'word.1': 'hidden', 'word.4': 'shown' })).toEqual([true, false]);
    expect(await hidden(text, { 'word.1': 'shown', 'word.4': 'shown' })).toEqual([false, false]);
    expect(await hidden('Name;Price;Visibility\nMug;4.00;1\nJug;5.00;0')).toEqual([false, true]);
  });

  it('is asked where few words of a status are understood', async () => {
    const text = 'Name;Price;Status\nMug;4.00;EOL\nJug;5.00;running\nCan;6.00;new';
    expect(await hidden(text)).toEqual(['column.visible']);
    const column = { 'column.visible': 'Status' };
    expect(await hidden(text, column)).toEqual(['word.eol', 'word.running', 'word.new']);
    expect(await hidden(text.replace('EOL', 'used'))).toEqual([null, null, null]);
  });

  it('is asked where marks show what another column withdraws', async () => {
    const text = 'Name;Price;Visible;Discontinued\nMug;4.00;x;yes\nJug;5.00;;yes';
    expect(await hidden(text)).toEqual(['unused.Discontinued']);
    expect(await hidden(text.replace('x;yes', 'x;no'))).toEqual([false, true]);
  });
});

describe('what a product is', () => {
  it('is asked where rows with one SKU have different names', async () => {
    const text = 'SKU;Name;Price;Language\nA1;Hemd;5.00;de\nA1;Shirt;5.00;en\nA2;Coat;7.00;en';
    expect(await titles(text)).toEqual(['group']);
    expect(await titles(text, { group: 'none' })).toEqual(['Hemd', 'Shirt', 'Coat']);
  });

  it.each(['123.0', '2026-03-15'])('is asked where a program may have changed its SKU to %s', async (sku) => {
    const text = `SKU;Name;Price\n${sku};Mug;4.00\nA-2;Jug;5.00`;
    expect(await titles(text)).toEqual(['column.sku']);
    expect(await titles(text, { 'column.sku': 'SKU' })).toEqual(['Mug', 'Jug']);
  });

  it('is not asked because of errors of a spreadsheet: their rows are rejected', () => {
    const header = ['Name', 'Price', 'Stock', 'Active'];
    const rows = [
      ['Mug', '4.00', '#REF!', 'yes'],
      ['Jug', '#N/A', '2', '#VALUE!'],
      ['Can', '6.00', '3', 'no'],
    ];
    expect(proposeMapping('products', { header, rows }).questions).toEqual([]);
  });

  it('is never said by a price or a stock', async () => {
    const text = 'Name;Price;Stock\nMug;4.00;3\nMug;5.00;2';
    expect(await titles(text)).toEqual(['column.url']);
    await expect(titles(text, { 'column.url': 'Name' })).resolves.toBeDefined();
  });

  it.each(['Total 2 items', 'Average', 'Summe:'])('is not the last row %s', async (name) => {
    const text = `SKU;Name;Price\nA1;Mug;4.00\nA2;Jug;5.00\n;${name};9.00`;
    expect(await titles(text)).toEqual(['Mug', 'Jug']);
  });

  it('may be called a total', async () => {
    expect(await titles('SKU;Name;Price\nA1;Mug;4.00\nA2;Total care kit;5.00')).toEqual([
      'Mug',
      'Total care kit',
    ]);
  });
});
