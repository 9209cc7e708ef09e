import type { Reporter, TestModule, TestSpecification, Vitest } from 'vitest/node';
import { type Figure, holds, type Measure, type Skipped } from '../support/measure.ts';
import { succeeds } from '../support/processes.ts';
import { INVARIANTS } from './invariants.ts';

const WIDTH = 110;

/** What all tests together found out about one invariant. */
interface Found {
  readonly fired: Readonly<Record<string, number>>;
  readonly measured: readonly Measure[];
  readonly seeds: readonly number[];
  readonly skipped: readonly string[];
}

/**
 * Prints the table of invariants: faults fired, figures against what must hold, seeds. Several tests may measure the
 * same: faults add up, and of each figure the worst is shown. The process fails when a figure is off, or none was measured where it could be.
 */
export default class FiguresTable implements Reporter {
  #isPart = false;

  #vitest: Vitest | null = null;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  /** Where only some files or tests were asked for, only a part of the table can be had. */
  onTestRunStart(specifications: readonly TestSpecification[]): void {
    const { include = [], testNamePattern } = this.#vitest?.config ?? {};
    this.#isPart = specifications.length < include.length || testNamePattern !== undefined;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const cases = modules.flatMap((module) => [...module.children.allTests()]);
    const figures = cases.flatMap((test) => test.meta().figures ?? []);
    const skipped = cases.flatMap((test) => test.meta().skippedFaults ?? []);
    const missing = hasRedis() ? [] : ['no redis-server'];
    let off = 0;
    const lines: string[] = [];
    for (const [number, sentence] of Object.entries(INVARIANTS)) {
      const known = foundOut(Number(number), figures, skipped);
      const isMissing = known.measured.length === 0;
      if (isMissing && this.#isPart) continue;
      const found = isMissing ? { ...known, skipped: [...known.skipped, ...missing] } : known;
      const isOff = isMissing ? found.skipped.length === 0 : !found.measured.every(holds);
      if (isOff) off++;
      lines.push(...rowsOf(number, sentence, found, isOff));
    }
    process.stdout.write(`\n${lines.join('\n')}\n\n`);
    const failed = cases.filter((test) => test.result().state === 'failed').length;
    process.stdout.write(`${off} invariants with a figure off or missing, ${failed} tests failed\n`);
    if (off > 0) process.exitCode = 1;
  }
}

/** Without one whole tests are left out, and their invariants have no figure here. */
function hasRedis(): boolean {
  return succeeds('redis-server', '--version');
}

function foundOut(invariant: number, all: readonly Figure[], skips: readonly Skipped[]): Found {
  const figures = all.filter((figure) => figure.invariant === invariant);
  const fired: Record<string, number> = {};
  const worst = new Map<string, Measure>();
  for (const figure of figures) {
    for (const [name, count] of Object.entries(figure.fired)) fired[name] = (fired[name] ?? 0) + count;
    for (const measure of figure.measured) {
      const key = `${measure.name} ${measure.bound} ${measure.limit}`;
      const known = worst.get(key);
      if (known === undefined || isWorse(measure, known)) worst.set(key, measure);
    }
  }
  return {
    fired,
    measured: [...worst.values()],
    seeds: [...new Set(figures.flatMap(({ seed }) => (seed === null ? [] : [seed])))],
    skipped: [...new Set(skips.filter((skip) => skip.invariant === invariant).map(({ reason }) => reason))],
  };
}

function isWorse(measure: Measure, than: Measure): boolean {
  return measure.bound === 'at most' ? measure.value > than.value : measure.value < than.value;
}

function rowsOf(number: string, sentence: string, found: Found, isOff: boolean): string[] {
  const { fired, measured, seeds, skipped } = found;
  const faults = Object.entries(fired).map(([name, count]) => `${name} ${count}`);
  const figures = measured.map((measure) => {
    const { name, value, bound, limit } = measure;
    const held = limit === 0 ? '0' : `${bound} ${shown(limit)}`;
    return `${holds(measure) ? '' : 'OFF: '}${name} ${shown(value)} (${held})`;
  });
  return [
    `${isOff ? 'OFF' : ' ok'} ${number.padStart(2)}  ${sentence}`,
    ...wrapped('faults  ', faults),
    ...wrapped('figures ', figures.length === 0 ? ['none measured'] : figures),
    ...wrapped('seed    ', seeds.map(String)),
    ...skipped.map((reason) => `        skipped, ${reason}`),
  ];
}

function shown(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(3);
}

/** The words after a label, in lines of the table's width. */
function wrapped(label: string, words: readonly string[]): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of words) {
    if (line !== '' && line.length + word.length + 2 > WIDTH - 16) {
      lines.push(`${line},`);
      line = word;
    } else {
      line = line === '' ? word : `${line}, ${word}`;
    }
  }
  if (line !== '') lines.push(line);
  return lines.map((text, index) => `        ${index === 0 ? label : ' '.repeat(label.length)}${text}`);
}
