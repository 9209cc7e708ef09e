import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { limitsFor, SAFETY_LIMIT_NAMES, safetyLimit } from '../../src/model/safety-limits.ts';
import { jobText } from '../../src/onboarding/job-text.ts';
import { referenceMarkdown } from '../docs/reference-markdown.ts';

const TROUBLES = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'troubles.md'), 'utf8');

describe('every safety limit', () => {
  it.each(SAFETY_LIMIT_NAMES)('is documented, offered and explained: %s', (name) => {
    const limit = safetyLimit(name);
    expect(referenceMarkdown('job')).toContain(
      `- \`safety.${name}\` (whole number or percentage, or \`off\`; default \`${limit.default}\`): ${limit.description}`,
    );
    expect(TROUBLES).toContain(`- \`${name}\``);
    for (const imports of limit.resources) {
      const text = jobText({
        name: 'nightly',
        imports,
        store: 'main',
        source: { path: 'a.csv' },
        mapping: 'own',
        params: {},
        paramValues: {},
        timezone: 'UTC',
      });
      expect(text).toContain(`${name}: ${limit.default}`);
    }
  });

  it('is judged on the records it is for, and on deletes only where the mode deletes', () => {
    expect(limitsFor('products', 'mirror')).toEqual(
      SAFETY_LIMIT_NAMES.filter((name) => name !== 'maxCreates'),
    );
    expect(limitsFor('products', 'upsert')).not.toContain('maxDeletes');
    expect(limitsFor('contacts')).toEqual([
      'maxRejects',
      'maxSkipped',
      'minRows',
      'maxChanges',
      'maxCreates',
    ]);
  });
});
