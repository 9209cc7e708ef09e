import { reportColumns, requiredColumns } from '../mapping/compile-mapping.ts';
import type { MappingFile, MappingSpec } from '../mapping/spec/mapping-spec.ts';
import { MappingError } from '../model/storeferry-error.ts';
import { looseName } from '../text/printable.ts';
import { type FileToGuess, guessImport, understoodColumns } from './guess/propose-mapping.ts';

/** Tries how well a mapping fits a header line, without rows, params or lookups. */
export function fitHeader(spec: MappingSpec, header: readonly string[]) {
  const { report, repeated } = bind(spec, header);
  const taken = new Set(report.used.flatMap(({ headers }) => headers));
  const required = requiredColumns(spec);
  const lacking = required.filter((name) => report.missing.includes(name));
  return {
    /** What would stop a run with this header: missing required columns, or a repeated one; null if nothing would. */
    obstacle:
      lacking.length === 0
        ? repeated
        : `the file has no ${lacking.map((name) => headerOf(spec, name)).join(', ')}`,
    /** The headers that the mapping's columns use, in the order of the file. */
    used: [...new Set(header.map((text) => text.trim()))].filter((text) => taken.has(text)),
    /** How many headers there are, without blank ones. */
    headers: header.filter((text) => text.trim() !== '').length,
    /** Whether the header has at least half of the required columns: otherwise it is of another format. */
    isNear: lacking.length * 2 <= required.length,
    /** How many of the mapping's columns the header has, and how many the mapping has. */
    columnsFound: report.used.length,
    columns: Object.keys(spec.columns).length,
  };
}

function bind(spec: MappingSpec, header: readonly string[]) {
  const whole = reportOn(spec, header);
  if (typeof whole !== 'string') return { report: whole, repeated: null };
  // Different headers may match one pattern too: Price (tax incl.), Price (tax excl.).
  const report = reportOn(spec, withoutRepeats(header));
  return {
    report: typeof report === 'string' ? { used: [], missing: [] } : report,
    repeated: lowerFirst(whole.replace(/\.$/, '')),
  };
}

/** How the columns of a mapping match the headers, or the sentence about one that matches several. */
function reportOn(
  spec: MappingSpec,
  headers: readonly string[],
): Pick<ReturnType<typeof reportColumns>, 'used' | 'missing'> | string {
  try {
    return reportColumns(spec, headers);
  } catch (error) {
    if (error instanceof MappingError) return error.message;
    throw error;
  }
}

/** The header line, with blanks in place of repeated names. */
function withoutRepeats(header: readonly string[]): readonly string[] {
  const known = new Set<string>();
  return header.map((text) => {
    const isNew = !known.has(looseName(text));
    known.add(looseName(text));
    return isNew ? text : '';
  });
}

function lowerFirst(text: string) {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

/** The name of a column in its format: the first of its headers. */
function headerOf({ columns }: MappingSpec, name: string) {
  const spec = columns[name];
  const written = typeof spec === 'object' && 'header' in spec ? spec.header : (spec ?? name);
  return `'${(typeof written === 'string' ? written : written[0]) ?? name}'`;
}

/** A mapping that may fit a file: shipped with Storeferry, or from the workspace. */
export type MappingCandidate = Pick<MappingFile, 'name' | 'spec' | 'shipped'>;

/** What a thread can be sent of a mapping. */
export function candidateOf({ name, spec, shipped }: MappingCandidate): MappingCandidate {
  return { name, spec, shipped };
}

/** How many times the evidence of the second the best must have. */
const CLEAR_LEAD = 1.25;

/**
 * Guesses the mapping of a file from its header line. A column that many formats have (Title, Email) is weak
 * evidence; one that a single format has (Variant Compare At Price) is strong evidence. The weight of a column
 * decreases with the number of mappings that know it.
 */
export function guessMapping(header: readonly string[], candidates: readonly MappingCandidate[]) {
  const fits = candidates.map((candidate) => ({ candidate, fit: fitHeader(candidate.spec, header) }));
  // A workspace's variation of a shipped mapping must not make the columns of that format common.
  const knownBy = new Map<string, number>();
  for (const { candidate, fit } of fits) {
    if (!candidate.shipped || !fit.isNear) continue;
    for (const text of new Set(fit.used)) knownBy.set(text, (knownBy.get(text) ?? 0) + 1);
  }
  const judged = fits
    .filter(({ fit }) => fit.used.length > 0)
    .map(({ candidate: { name, spec, shipped }, fit }) => {
      const others = (text: string) => (knownBy.get(text) ?? 0) - (shipped && fit.isNear ? 1 : 0);
      const evidence = fit.used.reduce((sum, text) => sum + 1 / (1 + others(text)), 0);
      // The used headers that no other format's mapping knows: these distinguish the formats.
      const distinctive = fit.used.filter((text) => others(text) <= 0);
      return { ...fit, name, imports: spec.import, distinctive, shipped, evidence };
    })
    .sort((a, b) => b.evidence - a.evidence || b.columnsFound / b.columns - a.columnsFound / a.columns);
  const fitting = judged.filter(({ obstacle }) => obstacle === null);
  const near = judged.filter(({ obstacle }) => obstacle !== null);
  const [first, second] = fitting;
  // A workspace's own mapping that reads the file was written for this file.
  const own = fitting.find(({ shipped, used }) => !shipped && used.length >= (first?.used.length ?? 0));
  const clear =
    first !== undefined &&
    first.distinctive.length > 0 &&
    first.evidence >= CLEAR_LEAD * (second?.evidence ?? 0) &&
    first.evidence > (near[0]?.evidence ?? 0);
  const best = own ?? (clear ? first : undefined);
  return {
    /** The mapping that fits without much doubt; undefined if the columns say too little, or several fit equally well. */
    best,
    /** Mappings that can read the file, likeliest first. */
    fitting: best === undefined ? fitting : [best, ...fitting.filter(({ name }) => name !== best.name)],
    /** Mappings that know some of its columns and cannot read the file, those with most evidence first. */
    near,
  };
}

/** What is known of a file that no job reads yet. */
export type RecognisedFile = ReturnType<typeof recogniseFile>;

/** A format is recognised by this many columns that no other format has. */
const MIN_DISTINCTIVE = 3;
/** By this many, if the mapping also leaves out no column that is understood without it. */
const MIN_DISTINCTIVE_OF_WHOLE = 2;

/**
 * Recognises the format of a file among these mappings: by several columns that only this format has, and if it explains more of its
 * columns than the headers and values alone; one of the workspace, if it knows more columns than it leaves out.
 */
export function recogniseFile(file: FileToGuess, known: readonly MappingCandidate[]) {
  const guess = guessMapping(file.header, known);
  const { best, fitting } = guess;
  const understood = new Map(fitting.map(({ imports }) => [imports, understoodColumns(imports, file)]));
  const lost = new Map(
    fitting.map(({ name, imports, used, shipped }) => {
      const { used: claimed = [], asked = [] } = understood.get(imports) ?? {};
      // Somebody may have answered for their own mapping that a column is not the one.
      const known = shipped ? [...claimed, ...asked] : claimed;
      return [name, known.filter(({ header }) => !used.includes(header))] as const;
    }),
  );
  const isRecognised = ({ name, imports, used, distinctive, shipped }: (typeof fitting)[number]) => {
    const left = lost.get(name) ?? [];
    if (!shipped) return used.length > left.length;
    const wanted = left.length === 0 ? MIN_DISTINCTIVE_OF_WHOLE : MIN_DISTINCTIVE;
    return distinctive.length >= wanted && used.length > (understood.get(imports)?.used.length ?? 0);
  };
  return {
    guess,
    /** Undefined where it could be either. */
    imports: guessImport(file),
    /** The mapping to use without a question; undefined if none fits, or one was recognised by few columns only. */
    best: best !== undefined && isRecognised(best) ? best : undefined,
    /** For each mapping that fits, by name: the columns that it would leave out although they are understood. */
    lost,
  };
}
