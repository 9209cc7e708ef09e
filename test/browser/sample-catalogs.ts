/** A variant's stock and price in the sample catalogs. */
const VARIANT = /,shopify,(\d+),(deny|continue),manual,(\d+\.\d\d),/g;
/** Where a product begins: at its handle, and not within a description of several lines. */
const PRODUCT = /^([a-z0-9-]+),/gm;

/** A catalog as it is some days later: some stock has been sold or has come in, a few prices have risen. */
export function catalogOfDay(catalog: string, day: number): string {
  return eachVariant(catalog, (stock, price, index) => ({
    stock: (index * 7 + day * 3) % 13 === 0 ? stock + (day % 3) + 1 : stock,
    price: (index + day * 11) % 61 === 0 ? price + 0.5 * day : price,
  }));
}

/** A catalog that went wrong on its way: it breaks off after half of its products, and some prices have lost their point. */
export function brokenCatalog(catalog: string): string {
  const handles = [...catalog.matchAll(PRODUCT)].filter(
    ({ 1: handle }, index, all) => handle !== all[index - 1]?.[1],
  );
  const end = handles[Math.ceil(handles.length / 2)]?.index ?? catalog.length;
  return eachVariant(catalog.slice(0, end), (stock, price, index) => ({
    stock,
    price: index % 17 === 6 ? price * 100 : price,
  }));
}

interface Figures {
  readonly stock: number;
  readonly price: number;
}

function eachVariant(
  catalog: string,
  change: (stock: number, price: number, index: number) => Figures,
): string {
  let index = 0;
  return catalog.replaceAll(VARIANT, (_, stock: string, policy: string, price: string) => {
    const changed = change(Number(stock), Number(price), index++);
    return `,shopify,${changed.stock},${policy},manual,${changed.price.toFixed(2)},`;
  });
}
