import { RE2JS, RE2JSException } from 're2js';
import { beyondLimit, raiseLimit } from '../../model/input-limits.ts';
import type { MappingLimits } from '../scope.ts';
import { textOrBlank } from './text.ts';
import { type Step, textStep } from './transform.ts';

/**
 * A pattern of a mapping, on an engine whose time grows with the text only: a pattern from a file must not be able
 * to stop the process. Undefined, with a complaint, when it is no pattern.
 */
export function compilePattern(
  written: string,
  { patternLength }: MappingLimits,
  complain: (message: string) => void,
): RE2JS | undefined {
  const characters = written.length;
  if (characters > patternLength) {
    const beyond = beyondLimit('patternLength', patternLength, { characters });
    complain(`${beyond} ${raiseLimit('patternLength')}`);
    return undefined;
  }
  try {
    return RE2JS.compile(written);
  } catch (error) {
    if (error instanceof RE2JSException) {
      complain(`not a pattern (RE2 syntax): ${error.message}`);
      return undefined;
    }
    throw error;
  }
}

/** Replaces every match; `$1` in the new text stands for the first group. */
export function replace(pattern: RE2JS, by: string): Step {
  return textStep((text) => textOrBlank(pattern.matcher(text).replaceAll(by).trim()));
}

/** The first group of the first match, or all of the match where the pattern has no group. */
export function extract(pattern: RE2JS): Step {
  return textStep((text) => {
    const matcher = pattern.matcher(text);
    if (!matcher.find()) return undefined;
    return textOrBlank((matcher.group(matcher.groupCount() > 0 ? 1 : 0) ?? '').trim());
  });
}
