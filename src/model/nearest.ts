import { distance } from 'fastest-levenshtein';

const fold = (name: string) => name.toLowerCase().replaceAll(/[-_. ]/g, '');

/** The choice that was probably meant: at most a third of its letters (one at least) differ, case and dashes apart. */
export function nearest(name: string, choices: Iterable<string>): string | undefined {
  const folded = fold(name);
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const choice of choices) {
    const apart = distance(folded, fold(choice));
    const most = Math.max(1, Math.ceil(Math.max(choice.length, name.length) / 3));
    if (apart < bestDistance && apart <= most && apart < folded.length) {
      best = choice;
      bestDistance = apart;
    }
  }
  return best;
}

/** `; did you mean 'x'?`, or nothing when no choice is near. */
export function didYouMean(name: string, choices: Iterable<string>): string {
  const meant = nearest(name, choices);
  return meant === undefined ? '' : `; did you mean '${meant}'?`;
}
