import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BREAKER_WINDOW, breaker } from '../../src/storefront/gate/breaker.ts';

function opened(at = 0) {
  const circuit = breaker();
  for (let failure = 0; failure < 10; failure++) circuit.answered(false, at);
  return circuit;
}

describe('the breaker', () => {
  it('opens exactly when ten of the last twenty answers were failures', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 100 }), (answers) => {
        const circuit = breaker();
        for (const [index, ok] of answers.entries()) {
          const lastAnswers = answers.slice(Math.max(0, index + 1 - BREAKER_WINDOW), index + 1);
          const isHalf = lastAnswers.filter((answer) => !answer).length >= 10;
          expect(circuit.answered(ok, index)).toBe(isHalf);
          if (isHalf) return;
          expect(circuit.open).toBe(false);
        }
      }),
    );
  });

  it('lets one probe go a second later, and no other while it is under way', () => {
    const circuit = opened(5_000);
    expect(circuit.probeWaitMs(5_000)).toBe(1_000);
    expect(circuit.probeWaitMs(6_000)).toBe(0);
    circuit.probeSent(6_000);
    expect(circuit.probeWaitMs(60_000)).toBe(Number.POSITIVE_INFINITY);
    circuit.probeEnded(false);
    expect(circuit.probeWaitMs(6_400)).toBe(600);
  });

  it('closes when a probe is answered, and starts counting again', () => {
    const circuit = opened();
    circuit.probeSent(1_000);
    expect(circuit.probeEnded(true)).toBe(true);
    expect(circuit.open).toBe(false);
    for (let failure = 0; failure < 9; failure++) expect(circuit.answered(false, 2_000)).toBe(false);
    expect(circuit.answered(false, 2_000)).toBe(true);
  });

  it('does not close because of a request that was sent before it opened', () => {
    const circuit = opened();
    expect(circuit.answered(true, 10)).toBe(false);
    expect(circuit.open).toBe(true);
  });
});
