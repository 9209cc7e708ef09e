import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { textsIn } from '../../src/model/json-object.ts';
import { maskPeople } from '../../src/text/mask-personal-data.ts';

const ANNA = {
  name: 'Anna Müller-Smith',
  email: 'anna@mail.example',
  phone: '+44 20 7946 0958',
  address: '5 Long Road',
  city: 'Oslo',
  properties: [{ name: 'Kids', value: 'Bo' }],
  tags: ['vip'],
};

describe('the words of a store about a contact', () => {
  it.each([
    ['Anna Müller-Smith exists already', /anna|ller|smith/i],
    ['The name "ANNA MÜLLER-SMITH" is taken', /anna|ller|smith/i],
    ['Dear Anna, 5 Long Road in Oslo is no address', /anna|long road|oslo/i],
    ['anna@mail.example belongs to peter@other.example', /anna|peter|other/i],
    ['Call +44 20 7946 0958 or 030 1234567', /7946|1234567/],
    ['Email already used by Peter van der Miller (id 7)', /peter|miller/i],
    ['Email already used by Zoë Ní Bhriain.', /zoë|bhriain/i],
    ["Contact 'peter miller' has it", /peter|miller/i],
    ['owned by bob%40firm.com', /bob|firm/],
    ['owned by bob [at] firm.com', /bob|firm/],
    ['owned by bob&#64;firm.com', /bob|firm/],
    ["owned by o'brien, john", /brien|john/],
    ['GET /find?name=Zed&surname=Quux failed', /zed|quux/i],
    ['lives at 12 elm tree road', /elm|tree/],
    ['wohnt in bahnhofstraße 17b', /bahnhof|17/],
    ['phone 030%201234567', /1234567/],
    ['Duplicate of “Li”, «Bo»', /“Li”|Bo/],
    ['Anna Mu\u0308ller-Smith exists', /ller/],
    ['Oslos and Annas contact', /oslo|anna/i],
    ['already used by bob smith', /bob|smith/],
    ['Email belongs to Bob', /Bob/],
    ['name: bob smith, city: ghent', /bob|smith|ghent/],
    ['name:Bob Smith', /Bob|Smith/],
    ['<b>Bob</b> <i>Smith</i> has it', /Bob|Smith/],
    ['conflict with Bob-Smith', /Bob|Smith/],
  ])('name no person: %s', (sentence, people) => {
    expect(maskPeople(sentence, textsIn(ANNA))).not.toMatch(people);
  });

  it.each([
    'Invalid API key',
    'Email is required',
    "Field 'email' is invalid",
    'The field "Company Name" is too long: at most 255 characters (422)',
    'Contact not found',
    'Internal Server Error',
    'Resource not found',
    'Too many requests. Try again on Monday',
    'subscriberLists: unknown list id 12',
    'name: must not be empty',
    'contact: not found',
    'email: already used by another contact',
  ])('keep their sense: %s', (sentence) => {
    expect(maskPeople(sentence, textsIn(ANNA))).toBe(sentence);
  });

  it('are made from values of any length', () => {
    const note = `${'lorem '.repeat(100_000)}Ghislaine ${'x'.repeat(1_000_000)}`;
    const many = Array.from({ length: 20_000 }, (_, index) => `w${index}`).join(' ');
    expect(maskPeople('the note of ghislaine, w19999 is too long', [note, many])).toBe(
      'the note of g••••••••, w••••• is too long',
    );
    expect(maskPeople('Anna \t Smith', ['ANNA  SMITH'])).not.toMatch(/anna|smith/i);
  });

  it('hold no value of the contact, whatever it is', () => {
    const value = fc
      .string({ unit: 'grapheme', minLength: 4, maxLength: 20 })
      .filter((text) => /^[\p{L}\p{N}]{4,}$/u.test(text));
    fc.assert(
      fc.property(value, value, (name, city) => {
        const found = maskPeople(`Contact ${name} of ${city} exists`, [name, city]);
        expect(found.toLowerCase()).not.toContain(name.toLowerCase());
        expect(found.toLowerCase()).not.toContain(city.toLowerCase());
      }),
    );
  });
});
