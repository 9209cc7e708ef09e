import { createRequire } from 'node:module';
import type * as Re2js from 're2js';
import { beyondLimit, raiseLimit } from '../../model/input-limits.ts';
import { grouped } from '../../text/printable.ts';

/** Time is linear in the text, but also in the pattern with its repeats written out: 2 s for 64 KiB at most. */
const MAX_PATTERN_STEPS = 600;

/**
 * Compiles a pattern of a mapping for an engine with linear time: a pattern from a file must not be able to stop the
 * process. Undefined, with a reported problem, if it is not a pattern.
 */
export function compilePattern(
  written: string,
  patternLength: number,
  complain: (message: string) => void,
): Re2js.RE2JS | undefined {
  const characters = written.length;
  if (characters > patternLength) {
    const beyond = beyondLimit('patternLength', patternLength, { characters });
    complain(`${beyond} ${raiseLimit('patternLength')}`);
    return undefined;
  }
  const { RE2JS, RE2JSException } = loadEngine();
  try {
    const pattern = RE2JS.compile(written);
    const steps = pattern.programSize();
    if (steps <= MAX_PATTERN_STEPS + written.length) return pattern;
    complain(
      `the pattern has ${grouped(steps)} steps with its repeats written out, at most ${grouped(MAX_PATTERN_STEPS)} more than characters: repeat less often, as in {0,100} instead of {0,1000}`,
    );
    return undefined;
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    complain(`not a pattern (RE2 syntax): ${error.message}`);
    return undefined;
  }
}

/**
 * The same function, which remembers its last result: the rows of a record repeat its key, and a pattern costs ten times as much as
 * a comparison.
 */
export function rememberingLast<Result>(run: (text: string) => Result): (text: string) => Result {
  let last: { readonly text: string; readonly result: Result } | undefined;
  return (text) => {
    if (last?.text !== text) last = { text, result: run(text) };
    return last.result;
  };
}

/** Loaded with the first pattern: every command reads the schema of mappings, and few of them compile a pattern. */
function loadEngine(): typeof Re2js {
  return createRequire(import.meta.url)('re2js');
}
