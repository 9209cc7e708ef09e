import fc from 'fast-check';
import { expect, it } from 'vitest';
import { mapAll, mappingOf, products, table } from './mapping-setup.ts';

/** A decimal number of a cell or a mapping, and what it is as a quotient of integers. */
interface Written {
  readonly text: string;
  readonly over: bigint;
  readonly under: bigint;
}

/** Up to `most`, with no more than so many digits behind the point. */
const decimal = (most: number, fewest = 0, digits = 4): fc.Arbitrary<Written> =>
  fc.integer({ min: 0, max: digits }).chain((behind) =>
    fc.integer({ min: fewest, max: most * 10 ** behind }).map((units) => {
      const all = String(units).padStart(behind + 1, '0');
      const text = behind === 0 ? all : `${all.slice(0, -behind)}.${all.slice(-behind)}`;
      return { text, over: BigInt(units), under: 10n ** BigInt(behind) };
    }),
  );

const step = fc.oneof(
  decimal(9).map((by) => ({ written: { times: Number(by.text) }, by, kind: 'times' as const })),
  decimal(900).map((by) => ({ written: { plus: Number(by.text) }, by, kind: 'plus' as const })),
);

/** What the steps make of each cell: the quantity takes any number. */
async function through(cells: readonly string[], steps: readonly unknown[]): Promise<readonly number[]> {
  const mapping = mappingOf(
    JSON.stringify({
      import: 'products',
      columns: { code: 'Code', cell: 'Cell' },
      product: { url: 'code', title: 'code' },
      variants: { pricing: { price: 1 }, quantity: ['cell', ...steps] },
    }),
  );
  const rows = cells.map((cell, index) => [`p${index}`, cell]);
  const { mapped } = await mapAll(mapping, [table(['Code', 'Cell'], rows)]);
  return products(mapped).map(({ variants }) => variants[0]?.quantity ?? Number.NaN);
}

it('products and sums are exact, whatever stands between the first number and the last rounding', async () => {
  await fc.assert(
    fc.asyncProperty(decimal(9999), fc.array(step, { maxLength: 4 }), async (cell, steps) => {
      const exact = steps.reduce(
        (value, { by, kind }) =>
          kind === 'times'
            ? { over: value.over * by.over, under: value.under * by.under }
            : { over: value.over * by.under + by.over * value.under, under: value.under * by.under },
        { over: cell.over, under: cell.under },
      );
      const cents = (200n * exact.over + exact.under) / (2n * exact.under);
      const written = [...steps.map((one) => one.written), { round: 0.01 }];
      expect(await through([cell.text], written)).toEqual([Number(`${cents}e-2`)]);
    }),
  );
});

const endings = fc
  .record({ to: decimal(20, 1, 2), ending: decimal(19, 0, 2) })
  .filter(({ to, ending }) => to.over > 0n && ending.over * to.under < to.over * ending.under);

it('a rounded number ends as asked, and is the nearest, next or last that does', async () => {
  await fc.assert(
    fc.asyncProperty(decimal(5000, 1, 3), endings, async (cell, { to, ending }) => {
      const options = { to: Number(to.text), ending: Number(ending.text) };
      const rounded = async (direction: string) => {
        const [result = Number.NaN] = await through([cell.text], [{ round: { ...options, direction } }]);
        return thousandths(result);
      };
      const [nearest, up, down] = [await rounded('nearest'), await rounded('up'), await rounded('down')];
      const [value, stride, first] = [cell, to, ending].map(({ text }) => thousandths(Number(text)));
      if (value === undefined || stride === undefined || first === undefined) throw new Error('no numbers');
      for (const one of [nearest, up, down]) expect((one - first) % stride).toBe(0n);
      expect(up).toBeGreaterThanOrEqual(value);
      expect(up - value).toBeLessThan(stride > first ? stride : first + 1n);
      if (value >= first) {
        expect(down).toBeLessThanOrEqual(value);
        expect(value - down).toBeLessThan(stride);
        expect(nearest).toBe(up - value <= value - down ? up : down);
      } else {
        expect([nearest, up, down]).toEqual([first, first, first]);
      }
    }),
  );
});

function thousandths(number: number): bigint {
  return BigInt(Math.round(number * 1000));
}

it('rounding what is rounded changes nothing', async () => {
  await fc.assert(
    fc.asyncProperty(decimal(5000, 1, 3), endings, async (cell, { to, ending }) => {
      const round = { round: { to: Number(to.text), ending: Number(ending.text) } };
      expect(await through([cell.text], [round, round])).toEqual(await through([cell.text], [round]));
    }),
  );
});

it('sums, smallest and greatest of columns are exact, in any order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(decimal(999), { minLength: 1, maxLength: 5 }), async (cells) => {
      const names = cells.map((_, index) => `c${index}`);
      const values = ['sum', 'min', 'max'].map((fold) => ({ [fold]: names }));
      const mapping = mappingOf(
        JSON.stringify({
          import: 'products',
          columns: { code: 'Code', ...Object.fromEntries(names.map((name) => [name, name])) },
          product: { url: 'code', title: 'code' },
          variants: { pricing: { price: values[0], was: values[1] }, quantity: values[2] },
        }),
      );
      const row = ['a', ...cells.map(({ text }) => text)];
      const { mapped } = await mapAll(mapping, [table(['Code', ...names], [row])]);
      const units = cells.map(({ over, under }) => (over * 10_000n) / under);
      const [body] = products(mapped);
      expect(body?.variants[0]).toMatchObject({
        price: Number(`${units.reduce((a, b) => a + b)}e-4`),
        quantity: Number(`${units.reduce((a, b) => (a > b ? a : b))}e-4`),
      });
    }),
  );
});
