import { describe, expect, it } from 'vitest';
import { proposeMapping } from '../../../src/onboarding/guess/propose-mapping.ts';
import { guessed } from './guess-setup.ts';

const prices = (text: string, answers?: Readonly<Record<string, string>>) =>
  guessed(text, ({ variants: [one] }) => [one?.price, one?.onSale], answers);
const titles = (text: string, answers?: Readonly<Record<string, string>>) =>
  guessed(text, ({ title }) => title, answers);

describe('a column that says what is on sale', () => {
  it.each([
    ['On sale', 'Sale price', '4.00;3.00;yes', '5.00;4.50;no'],
    ['Im Angebot', 'Aktionspreis', '4,00;3,00;x', '5,00;4,50;'],
    ['Sale', 'Compare at price', '3.00;4.00;true', '5.00;5.50;false'],
    ['Angebot', 'UVP', '3,00;4,00;ja', '5,00;5,50;nein'],
  ])('%s is asked about where it denies a sale, and decides', async (header, sale, reduced, regular) => {
    const text = `Name;Price;${sale};${header}\nMug;${reduced}\nJug;${regular}`;
    const id = `unused.${header}`;
    const usual = sale === 'UVP' || sale === 'Compare at price' ? 5.5 : 5;
    expect(await prices(text)).toEqual([id]);
    expect(await prices(text, { [id]: 'where-marked' })).toEqual([
      [3, true],
      [usual, false],
    ]);
    expect(await prices(text, { [id]: 'leave-out' })).toEqual([
      [3, true],
      [usual === 5 ? 4.5 : 5, true],
    ]);
    expect(await prices(`Name;Price;${sale};${header}\nMug;${reduced}\nJug;5.00;;no`)).toEqual([
      [3, true],
      [5, false],
    ]);
  });
});

describe('a column called a sale price', () => {
  it.each([
    ['that is above the price', '6.00', '8.00'],
    ['that has other texts', '3.00 until May', 'half'],
  ])('%s is asked about', async (_, ...cells) => {
    const text = `Name;Price;Sale price\nMug;4.00;${cells[0]}\nJug;7.00;${cells[1]}\nCan;1.00;`;
    expect(await prices(text)).toEqual(['column.sale']);
    expect(await prices(text, { 'column.sale': '' })).toEqual([
      [4, false],
      [7, false],
      [1, false],
    ]);
  });

  it('that has percentages is a discount', async () => {
    const text = 'Name;Price;Sale price\nMug;4.00;25%\nJug;7.00;';
    expect(await prices(text)).toEqual(['unused.Sale price']);
    expect(await prices(text, { 'unused.Sale price': 'percent' })).toEqual([
      [3, true],
      [7, false],
    ]);
    expect(await prices('Name;Price;Sale %\nMug;4.00;25\nJug;7.00;0')).toEqual(['unused.Sale %']);
  });
});

describe('an amount below the price', () => {
  it.each([
    ['of some products, below an unknown header,', 'Name;Price;Outlet XY\nMug;4.00;3.00\nJug;7.00;'],
    ['called Sale', 'Name;Price;Sale;MSRP\nMug;4.00;3.00;5.00\nJug;7.00;;9.00'],
  ])('%s is asked about', async (_, text) => {
    const header = text.split(';')[2]?.split('\n')[0] ?? '';
    expect(await prices(text)).toEqual(['column.sale']);
    expect(await prices(text, { 'column.sale': header, 'column.was': '' })).toEqual([
      [3, true],
      [7, false],
    ]);
  });

  it('of other things is not', async () => {
    expect(await prices('Name;Price;Width\nMug;40.00;3.00\nJug;70.00;')).toHaveLength(2);
    expect(await prices('Name;Price;Outlet XY\nMug;4;3\nJug;7;')).toHaveLength(2);
    for (const header of ['Ground clearance', 'Sale rank', 'Sales'])
      expect(await prices(`Name;Price;${header}\nMug;40.00;3\nJug;70.00;5`)).toHaveLength(2);
    const wines =
      'Name;Price;Alcohol\nRiesling;14.90;12.50\nMerlot;19.90;13.00\nCava;12.90;11.00\nZero;9.90;';
    expect(await prices(wines)).toHaveLength(4);
  });

  it.each(['Clearance', 'Black Friday', 'Abverkauf'])(
    'called %s is a price during a sale',
    async (header) => {
      expect(await prices(`Name;Price;${header}\nMug;4.00;3.00\nJug;7.00;`)).toEqual([
        [3, true],
        [7, false],
      ]);
    },
  );
});

describe('percentages of some products below an unknown header', () => {
  it('may be a discount, and those of all are a property', async () => {
    const text = 'Name;Price;Reduced by\nMug;4.00;25 %\nJug;7.00;';
    expect(await prices(text)).toEqual(['unused.Reduced by']);
    expect(await prices(text, { 'unused.Reduced by': 'percent' })).toEqual([
      [3, true],
      [7, false],
    ]);
    expect(await prices('Name;Price;Alcohol\nMug;4.00;25 %\nJug;7.00;12 %')).toHaveLength(2);
  });

  it('are the parts of what products are made of where they are 100 together', async () => {
    const rows = (reduced: string) => [
      `Name;Price;Baumwolle;Polyester;Elasthan${reduced && ';Reduced by'}`,
      `Shirt;4.00;80 %;20 %;${reduced}`,
      'Top;5.00;75 %;20 %;5 %'.concat(reduced && ';'),
      'Sock;6.00;66,7 %;33,3 %;'.concat(reduced && ';'),
      'Hat;7.00;;100 %;'.concat(reduced && ';'),
    ];
    expect(await prices(rows('').join('\n'))).toHaveLength(4);
    // What is not among the parts may be a discount still.
    expect(await prices(rows(';25 %').join('\n'))).toEqual(['unused.Reduced by']);
    expect(await prices('Name;Price;Off;Less\nMug;4.00;25 %;\nJug;7.00;;10 %')).toEqual([
      'unused.Off',
      'unused.Less',
    ]);
  });
});

describe('a price during a sale', () => {
  it.each([
    ['Sale window', '2024-01-01/2024-02-01', ''],
    ['Promo finishes on', '2024-02-01', ''],
    ['Aktionspreis gilt', 'nein', 'ja'],
  ])('is asked about where %s may limit it', async (header, over, other) => {
    const text = `Name;Price;Sale price;${header}\nMug;4.00;3.00;${over}\nJug;5.00;;${other}`;
    expect(await prices(text)).toEqual([other === '' ? `unused.${header}` : 'column.visible']);
  });
});

describe('a sale that is not for all, or has ended', () => {
  it.each([
    ['Sale for', 'staff', 'members'],
    ['Promo type', 'coupon only', ''],
    ['Promo min qty', '6', ''],
    ['Offer note', 'club members', ''],
    ['Aktion gültig bis', 'KW 14', ''],
    ['Ends', 'week 9', ''],
    ['Expires', '45200', ''],
    ['Weeks', 'wk 14', ''],
  ])('is asked about where %s is %s', async (header, limit, other) => {
    const text = `Name;Price;Sale price;Stock;${header}\nMug;4.00;3.00;7;${limit}\nJug;5.00;;8;${other}`;
    expect(await prices(text)).toEqual([`unused.${header}`]);
    expect(await prices(text, { [`unused.${header}`]: 'leave-out' })).toHaveLength(2);
  });
});

describe('a column that changes what the price is', () => {
  it('by a share, as sheets keep percentages, is no percentage', async () => {
    const text = 'Name;Price;Discount\nMug;4.00;0.25\nJug;5.00;0';
    expect(await prices(text, { 'unused.Discount': 'share' })).toEqual([
      [3, true],
      [5, false],
    ]);
    await expect(prices(text, { 'unused.Discount': 'percent' })).rejects.toThrow("or 'share' or 'amount'");
  });

  it('for a time is asked about, as a discount has no dates', async () => {
    const text = 'Name;Price;Discount;Discount until\nMug;4.00;25%;2024-01-01\nJug;5.00;;';
    expect(await prices(text, { 'unused.Discount': 'percent' })).toEqual(['unused.Discount until']);
    expect(await prices(text, { 'unused.Discount': 'leave-out' })).toHaveLength(2);
  });

  it('by another dollar in some cells is asked about', async () => {
    const text = 'Name;Price\nMug;C$4.00\nJug;$5.00';
    expect(await prices(text)).toEqual(['currency']);
    expect(await prices(text, { currency: 'USD' })).toEqual([[5, false]]);
    expect(await prices('Name;Price\nMug;4.00 EUR\nJug;€5.00')).toHaveLength(2);
  });

  it('by a surcharge is asked about, and added', async () => {
    const text = 'Name;Preis;Aufpreis\nTasse;4,00;+1,50\nDose;5,00;';
    expect(await prices(text)).toEqual(['unused.Aufpreis']);
    expect(await prices(text, { 'unused.Aufpreis': 'add' })).toEqual([
      [5.5, false],
      [5, false],
    ]);
    expect(await prices(text.replace('+1,50', '0'))).toHaveLength(2);
  });

  it('is asked about where its header has other words too', async () => {
    const text = 'Name;Preis;Aufpreis Größe XL\nTasse;4,00;1,50\nDose;5,00;';
    expect(await prices(text)).toEqual(['unused.Aufpreis Größe XL']);
    expect((await prices(text, { 'unused.Aufpreis Größe XL': 'add' }))[0]).toEqual([5.5, false]);
  });

  it.each(['Price diff', 'Price change of the size'])(
    'by %s is asked about, with a plus too',
    async (header) => {
      const text = `Name;Price;${header}\nMug;4.00;0\nJug;5.00;+1.50`;
      expect(await prices(text)).toEqual([`unused.${header}`]);
    },
  );

  it.each([
    ['Preiseinheit', '100', '1'],
    ['Price per', '10 pcs', '1 pc'],
    ['Preiseinheit', 'kg', 'Stück'],
    ['PE', '1000', '1'],
    ['Price unit', '100 g', 'EUR'],
    ['Billing period', 'monthly', ''],
    ['Subscription', 'monthly', ''],
    ['VAT %', '20', '0'],
    ['MwSt', '19 %', ''],
    ['Tax', '0.76', 'standard'],
    ['Unit', 'kg', 'pc'],
    ['Единица', 'м', 'шт'],
    ['Price type', 'net', 'gross'],
    ['Preisart', 'Netto', 'Brutto'],
    ['Terms', 'excl. VAT', ''],
    ['VAT incl.', 'no', 'yes'],
    ['UOM', 'CT', 'EA'],
    ['Unit', 'dozen', 'piece'],
    ['j.m.', 'op.', 'szt'],
    ['Enhet', 'frp', 'st'],
    ['Price UOM', 'per 100', 'EA'],
    ['Sell unit', 'C/100', 'each'],
    ['Sold by', 'bag of 10', 'each'],
    ['Prix au', 'lot de 10', 'unité'],
    ['U.M.', 'CIENTO', 'unidad'],
    ['Basis', 'per case 24', 'per piece'],
  ])('%s %s is asked about', async (header, several, one) => {
    const text = `Name;Price;${header}\nMug;4.00;${several}\nJug;5.00;${one}`;
    expect(await prices(text)).toEqual([`unused.${header}`]);
    expect(await prices(text.replace(several, one))).toHaveLength(2);
  });

  it('is asked about where all prices are without tax', async () => {
    expect(await prices('Name;Price;Net\nMug;4.00;yes\nJug;5.00;yes')).toEqual(['unused.Net']);
  });

  it('is not asked about as the unit of the size before it', async () => {
    const text = 'Name;Preis;Inhalt;Einheit;Grundpreis\nSeife;4,00;250;ml;16,00\nCreme;5,00;50;g;100,00';
    expect(await prices(text)).toHaveLength(2);
    expect(await prices(text.replace('Inhalt', 'Bestand'))).toEqual(['unused.Einheit']);
    expect(await prices('Name;Price;Weight unit for display\nMug;4.00;g\nJug;5.00;kg')).toHaveLength(2);
  });
});

describe('a column that says how, where or for which time products are sold', () => {
  it.each([
    ['Approval', 'approved', 'refused'],
    ['Channel', 'web', 'store only'],
    ['Channel', 'Shop', 'B2B'],
    ['Vertriebskanal', 'Shop', 'Filiale'],
    ['For sale in', 'DE', 'AT'],
    ['Restrictions', '', '18+'],
    ['Condition', 'used', 'for parts'],
    ['Condition', 'new', 'broken'],
    ['Zustand', 'neu', 'defekt'],
    ['Billing', 'monthly', 'monthly'],
    ['Price valid for', 'members', 'all'],
    ['Replaced by', '', 'A3'],
    ['Nachfolger', '', 'A3'],
    ['Shopfreigabe', 'F', 'G'],
    ['Lagerampel', 'grün', 'rot'],
    ['MHD', '01.10.2025', '01.01.2027'],
    ['Best before', '2025-10-01', '2027-01-01'],
    ['Package', 'each', 'box of 500'],
    ['Gebinde', 'Stück', 'Karton à 12'],
    ['Age restriction', '', '18'],
    ['Reserved for', '', 'Ann'],
    ['Se vende por', 'unidad', 'caja'],
    ['Preisstatus', 'geprüft', 'vorläufig'],
    ['Embargo', '', 'until March'],
    ['Launch quarter', 'Q1/2026', 'Q2/2027'],
    ['Exclusive for', '', 'ACME Ltd'],
    ['Customer', '', 'ACME'],
    ['Comment', '', 'price to be confirmed'],
  ])('is asked about: %s', async (header, one, other) => {
    const text = `Name;Price;${header}\nMug;4.00;${one}\nJug;5.00;${other}`;
    expect(await prices(text)).toEqual([`unused.${header}`]);
    expect(await prices(text, { [`unused.${header}`]: 'leave-out' })).toHaveLength(2);
  });

  it.each([
    ['Condition', 'new', ''],
    ['Condition', 'New', 'Used'],
    ['Zustand', 'neu', 'gebraucht'],
    ['État', 'Neuf', "d'occasion"],
    ['Conditionnement', 'carton', 'sac'],
    ['Channels', '2', '5.1'],
    ['Model', 'Mug 1', 'Mug 2'],
    ['Launch', '2024-01-02', '2025-03-04'],
  ])('says nothing of that: %s', async (header, one, other) => {
    expect(await prices(`Name;Price;${header}\nMug;4.00;${one}\nJug;5.00;${other}`)).toHaveLength(2);
  });
});

describe('a price', () => {
  it('of 0 is asked about: customers would get the product for nothing', async () => {
    const text = 'Name;Price\nMug;0.00 EUR\nJug;5.00 EUR\nCan;0.0';
    expect(await prices(text)).toEqual(['unused.Price']);
    expect(await prices(text, { 'unused.Price': 'skip' })).toEqual([[5, false]]);
    expect(await prices(text, { 'unused.Price': 'free' })).toEqual([
      [0, false],
      [5, false],
      [0, false],
    ]);
    expect(await prices('Name;Price;Old price\nMug;4.00;0.00\nJug;5.00;6.00')).toHaveLength(2);
    const family = 'SKU;Parent;Name;Price;Size\nT;;Tee;0.00;\nT-S;T;Tee;9.00;S\nT-M;T;Tee;9.00;M';
    expect(await prices(family)).not.toContain('unused.Price');
    expect(await prices(`${family}\nC;;Cap;0.00;`)).toEqual(['unused.Price']);
  });

  it('below what the product costs on nearly all rows is asked about: the columns may be swapped', async () => {
    const text = 'Name;Price;Cost\nMug;4.00;6.00\nJug;5.00;8.00\nCan;3.00;3.50';
    expect(await prices(text)).toEqual(['column.price']);
    expect((await prices(text, { 'column.price': 'Cost' }))[0]).toEqual([6, false]);
    expect((await prices(text, { 'column.price': 'Price' }))[0]).toEqual([4, false]);
    expect(await prices(text.replace('3.50', '2.00').replace('8.00', '3.00'))).toHaveLength(3);
  });

  it.each(['99999', '9.999,99', '9999 EUR', '999,00', '0,01', '1,00\nDish;1,00'])(
    'far from all others, which may stand for none, is asked about: %s',
    async (cell) => {
      const others = cell.startsWith('1,00') ? ['104,00', '250,50'] : ['4,00', '25,50'];
      const text = `Name;Preis\nMug;${others[0]}\nJug;${cell}\nCan;${others[1]}`;
      expect(await prices(text)).toEqual(['unused.Preis']);
      expect(await prices(text, { 'unused.Preis': 'skip' })).toHaveLength(2);
      expect(await prices(text, { 'unused.Preis': 'send' })).toHaveLength(text.split('\n').length - 1);
    },
  );

  it('is not far from others that are like it', async () => {
    for (const cells of [
      '99.99;999.00;199',
      '9999;4500;120',
      '1.00;2.50;40',
      '0.01;0.50;0.40',
      '1.00;120.00;450.00',
      '0.01;0.10;129.00',
    ])
      expect(
        await prices(
          `Name;Price\n${cells
            .split(';')
            .map((cell, at) => `Mug ${at};${cell}`)
            .join('\n')}`,
        ),
      ).toHaveLength(3);
    // Repeated, even if one product costs nearly as much.
    const text = 'Name;Price\nA;9999\nB;9999\nC;4500\nD;12\nE;20\nF;30';
    expect(await prices(text)).toEqual(['unused.Price']);
  });

  it('below half of the recommended price of most products is asked about: dealers may pay it', async () => {
    const text = 'Name;Unit price;RRP\nMug;1.00;2.50\nJug;2.00;4.99\nCan;3.00;4.00';
    expect(await prices(text)).toEqual(['column.price']);
    expect(await prices(text, { 'column.price': 'RRP' })).toEqual([
      [2.5, false],
      [4.99, false],
      [4, false],
    ]);
    expect((await prices(text, { 'column.price': 'Unit price' }))[0]).toEqual([1, true]);
    expect((await prices(text.replace('2.50', '2.00')))[0]).toEqual([1, true]);
  });

  it.each([
    ...['12,50 €/Stk.', '12,50 pro Stück', '12,50 / St'],
    ...['12,50 € inkl. MwSt.', '12,50 €\u00a0incl. BTW', '12,50 TTC'],
  ])('for a piece, or with tax, is read: %s', async (cell) => {
    expect(await prices(`Name;Preis\nTasse;${cell}\nDose;3,00`)).toEqual([
      [12.5, false],
      [3, false],
    ]);
  });

  it('is asked about with each column that is called so, where units stand below the headers', () => {
    const header = ['Name', 'Preis', 'Preis'];
    const rows = [
      ['', 'netto', 'brutto'],
      ['Tasse', '8,39', '9,99'],
      ['Kanne', '16,80', '19,99'],
    ];
    const [question] = proposeMapping('products', { header, rows }).questions;
    expect(question?.answers.map(({ value }) => value)).toEqual(['Preis#1', 'Preis#2']);
  });

  it('without tax in its cells is not read', async () => {
    expect(await prices('Name;Preis\nTasse;12,50 € zzgl. MwSt.\nDose;3,00 € zzgl. MwSt.')).toEqual([
      'column.price',
    ]);
  });

  it('in cents is sent in whole units, if an answer makes it the price', async () => {
    const text = 'Name;Price in cents\nMug;1299\nJug;500';
    expect(await prices(text, { 'column.price': 'Price in cents' })).toEqual([
      [12.99, false],
      [5, false],
    ]);
    expect((await prices(text.replace('500', '5.00'), { 'column.price': 'Price in cents' }))[1]).toEqual([
      5,
      false,
    ]);
  });

  it('beside a tax is not asked about where its header, or another price, says whether it is with tax', async () => {
    const text = 'Name;Price incl. VAT;VAT %\nMug;4.80;20\nJug;6.00;20';
    expect(await prices(text)).toHaveLength(2);
    expect(await prices('Name;Net price;Price;VAT\nMug;4.00;4.80;20\nJug;5.00;6.00;20')).toEqual([
      [4.8, false],
      [6, false],
    ]);
  });

  it.each([
    ['Customer group', 'Wholesale', 'Retail'],
    ['Preisliste', 'Händler 2026', 'Endkunden 2026'],
    ['Segment', 'B2B', 'Shop'],
  ])('is asked about where %s says %s: customers may not pay it', async (header, dealer, customer) => {
    const text = `Name;Price;${header}\nMug;4.00;${dealer}\nJug;5.00;${customer}`;
    expect(await prices(text)).toEqual([`unused.${header}`]);
    expect(await prices(text, { [`unused.${header}`]: 'leave-out' })).toHaveLength(2);
    expect(await prices(text.replace(dealer, customer))).toHaveLength(2);
    expect(await prices(`${text.replace(dealer, customer)}\nCan;6.00;${dealer} Foods Ltd`)).toHaveLength(3);
  });

  it.each(['Rental price', 'Price A', 'Cena (gr)', 'Price (g)', 'Price / oz', 'Retailer price'])(
    'called %s is asked about',
    async (header) => {
      expect(await prices(`Name;${header}\nMug;400\nJug;500`)).toEqual(['column.price']);
    },
  );
});

describe('an odd cell hides no doubt that the others raise', () => {
  it.each([
    ['Sold out', 'yes', 'no', 'soon'],
    ['Tax included', 'no', 'yes', 'depends'],
    ['Requires shipping', 'no', 'yes', 'pickup'],
    ['Intern', 'ja', 'nein', 'seit 2020'],
    ['Currency', 'EUR', 'US Dollars', 'Swiss Francs'],
    ['Unit', 'kg', 'pc', 'box'],
    ['Reduction XY', '10 %', '', 'on request'],
    ['Zeta', 'yes', 'no', 'later', 'column.visible'],
  ])('in a column %s', async (header, one, other, odd, id = `unused.${header}`) => {
    const rows = [one, other, odd, one, other, one, other, one, other, one].map(
      (cell, at) => `N${at};${at + 1}.50;${cell}`,
    );
    expect(await prices(`Name;Price;${header}\n${rows.join('\n')}`)).toEqual([id]);
  });

  it.each([
    ['Sale price', 'call us', 0.5, 'column.sale'],
    ['On sale;Sale price', 'soon;1.00', 0.5, 'unused.On sale'],
    ['Unknown XY', '1.00', 1.5, 'column.was'],
  ])('beside prices, in %s', async (headers, odd, factor, id) => {
    const mark = headers.includes(';') ? 'no;' : '';
    const rows = Array.from({ length: 12 }, (_, at) => {
      const price = at + 4.5;
      const cell =
        at % 4 === 0 && (at === 0 || headers === 'Sale price')
          ? odd
          : `${mark}${(price * factor).toFixed(2)}`;
      return `N${at};${price.toFixed(2)};${cell}`;
    });
    expect(await prices(`Name;Price;${headers}\n${rows.join('\n')}`)).toEqual([id]);
  });
});

describe('a mark that a product is sold no more', () => {
  it.each([
    ['Action', 'delete', 'update'],
    ['Kennzeichen', 'gelöscht', ''],
    ['Blocked', 'yes', 'no'],
    ['Not for sale', 'x', ''],
    ['Bloqueado', 'si', 'no'],
    ['Geblokkeerd', 'ja', 'nee'],
    ['is_deleted', 'true', 'false'],
    ['B2B only', 'yes', ''],
    ['Exclude from website', 'yes', 'no'],
    ['Nicht verkaufen', 'ja', 'nein'],
    ['Ne pas publier', 'oui', 'non'],
    ['Internal only', 'x', ''],
    ['Intern', 'ja', 'nein'],
    ['Approval', 'rejected', 'granted'],
    ['販売停止', '1', '0'],
    ['Remarks', 'Discontinued - do not list', 'new box'],
    ['Kommentar', 'Nicht verkaufen!', ''],
    ['Stand', 'nicht mehr im Sortiment', 'ok'],
  ])('in a column %s is asked about', async (header, mark, other) => {
    const text = `Name;Price;${header}\nMug;4.00;${mark}\nJug;5.00;${other}`;
    expect(await titles(text)).toEqual([`unused.${header}`]);
    expect(await titles(text.replace(mark, other))).toEqual(['Mug', 'Jug']);
  });

  it('is not a flag about something else', async () => {
    const text = 'Name;Price;Sold individually;Delete existing images\nMug;4.00;1;1\nJug;5.00;0;1';
    expect(await titles(text)).toEqual(['Mug', 'Jug']);
    expect(await titles('Name;Price;Intern\nMug;4.00;a\nJug;5.00;b')).toEqual(['Mug', 'Jug']);
    expect(await titles('Name;Price;Without sugar\nMug;4.00;yes\nJug;5.00;no')).toEqual(['Mug', 'Jug']);
    expect(await titles('Name;Price;Discontinued date\nMug;4.00;2026-01-02\nJug;5.00;')).toEqual([
      'unused.Discontinued date',
    ]);
  });
});
