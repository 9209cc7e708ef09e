import type { MappingSpec } from '../config/mapping/mapping-spec.ts';
import { fitHeader, type HeaderFit } from './columns/header-fit.ts';

/** A mapping that might read a file. */
export interface MappingCandidate {
  readonly name: string;
  readonly spec: MappingSpec;
  /** Comes with Storeferry; else the workspace's own. */
  readonly shipped: boolean;
}

/** A mapping held against a header line. */
export interface MappingFit extends HeaderFit {
  readonly name: string;
  readonly imports: MappingSpec['import'];
  /** The headers it uses that no other format's mapping knows: what tells the formats apart. */
  readonly telling: readonly string[];
}

/** What a header line says about where a file comes from. */
export interface MappingGuess {
  /** The mapping that is meant without much doubt; undefined when the columns say too little, or several fit alike. */
  readonly best: MappingFit | undefined;
  /** Mappings that can read the file, likeliest first. */
  readonly fitting: readonly MappingFit[];
  /** Mappings that know some of its columns and lack others they need, nearest first. */
  readonly near: readonly MappingFit[];
}

/** How much more the best must know than the second, where both have columns of their own. */
const CLEAR_LEAD = 1.25;

/**
 * Guesses the mapping of a file from its header line. A column that many formats have (Title, Email) says little, one
 * that a single format has (Variant Compare At Price) nearly all: each counts the less the more mappings know it.
 */
export function guessMapping(
  header: readonly string[],
  candidates: readonly MappingCandidate[],
): MappingGuess {
  const fits = candidates.map((candidate) => ({ candidate, fit: fitHeader(candidate.spec, header) }));
  // A workspace's own variation of a shipped mapping must not make that one's columns common.
  const knownBy = new Map<string, number>();
  for (const { candidate, fit } of fits) {
    if (!candidate.shipped) continue;
    for (const text of new Set(fit.used)) knownBy.set(text, (knownBy.get(text) ?? 0) + 1);
  }
  const judged = fits
    .filter(({ fit }) => fit.used.length > 0)
    .map(({ candidate: { name, spec, shipped }, fit }) => {
      const others = (text: string) => (knownBy.get(text) ?? 0) - (shipped ? 1 : 0);
      const evidence = fit.used.reduce((sum, text) => sum + 1 / (1 + others(text)), 0);
      const telling = fit.used.filter((text) => others(text) <= 0);
      return { ...fit, name, imports: spec.import, telling, shipped, evidence };
    })
    .sort((a, b) => b.evidence - a.evidence || b.columnsFound / b.columns - a.columnsFound / a.columns);
  const fitting = judged.filter(({ obstacle }) => obstacle === null);
  const near = judged.filter(({ obstacle }) => obstacle !== null);
  const [first, second] = fitting;
  // Who has written a mapping that reads the file has written it for this file.
  const own = fitting.find(({ shipped, used }) => !shipped && used.length >= (first?.used.length ?? 0));
  const clear =
    first !== undefined &&
    first.telling.length > 0 &&
    first.evidence >= CLEAR_LEAD * (second?.evidence ?? 0) &&
    first.evidence > (near[0]?.evidence ?? 0);
  const best = own ?? (clear ? first : undefined);
  return {
    best,
    fitting: best === undefined ? fitting : [best, ...fitting.filter(({ name }) => name !== best.name)],
    near,
  };
}
