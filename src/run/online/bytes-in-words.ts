const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** `1.5 GiB`: bytes in the unit that people read. */
export function bytesInWords(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const figure = bytes / 1024 ** power;
  return `${figure.toFixed(power > 0 && figure < 10 ? 1 : 0)} ${UNITS[power]}`;
}
