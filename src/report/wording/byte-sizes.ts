import { counted } from './words.ts';

const UNITS = ['kB', 'MB', 'GB', 'TB'] as const;
const STEP = 1_000;
/** From here on `toFixed(1)` would round up to a thousand: `999.95` is the next unit. */
const ROUNDS_UP = 999.95;

/** `812 bytes`, `3.4 kB`, `12.0 MB`, `5.0 GB`: how large something is, in the unit that people read. */
export function formatBytes(bytes: number): string {
  return bytes < STEP
    ? counted(Math.round(bytes), 'byte')
    : `${figureOf(bytes, unitOf(bytes))} ${unitOf(bytes)}`;
}

/** `1.5 of 30.0 MB`: a part in the unit of the whole. */
export function formatBytesOf(part: number, whole: number): string {
  if (whole < STEP) return `${part} of ${formatBytes(whole)}`;
  return `${figureOf(part, unitOf(whole))} of ${formatBytes(whole)}`;
}

type Unit = (typeof UNITS)[number];

function unitOf(bytes: number): Unit {
  return UNITS.find((unit) => bytes / sizeOf(unit) < ROUNDS_UP) ?? 'TB';
}

function figureOf(bytes: number, unit: Unit): string {
  return (bytes / sizeOf(unit)).toFixed(1);
}

function sizeOf(unit: Unit): number {
  return STEP ** (UNITS.indexOf(unit) + 1);
}
