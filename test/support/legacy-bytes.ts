/** The bytes of a text in a legacy encoding, by asking the decoder what every byte and pair of bytes means. */
export function encoded(text: string, encoding: string): Buffer {
  const table = tables.get(encoding) ?? tableOf(encoding);
  tables.set(encoding, table);
  return Buffer.concat(
    [...text].map((character) => {
      const bytes = table.get(character);
      if (bytes === undefined) throw new Error(`${character} is not in ${encoding}`);
      return bytes;
    }),
  );
}

const tables = new Map<string, ReadonlyMap<string, Buffer>>();

function tableOf(encoding: string): ReadonlyMap<string, Buffer> {
  const table = new Map<string, Buffer>();
  const add = (...bytes: readonly number[]) => {
    try {
      const character = new TextDecoder(encoding, { fatal: true }).decode(Buffer.from(bytes));
      if ([...character].length === 1 && !table.has(character)) table.set(character, Buffer.from(bytes));
    } catch {
      // No character begins so.
    }
  };
  for (let byte = 0; byte < 256; byte++) add(byte);
  for (let lead = 0x81; lead < 256; lead++) for (let trail = 0x40; trail < 256; trail++) add(lead, trail);
  return table;
}
