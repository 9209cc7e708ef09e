import { expect } from 'vitest';
import { errorBody } from './shapes.ts';
import type { Answer } from './target.ts';

/** Asserts a status in the 4xx range with the error body (sections 2 and 7); gives its message. */
export function expectRefusal(answer: Answer): string {
  expect(answer.status).toBeGreaterThanOrEqual(400);
  expect(answer.status).toBeLessThan(500);
  return errorBody.parse(answer.json).message;
}
