import { describe, expect, it } from 'vitest';
import { hasSecret, hideSecrets, writeAddress } from '../../src/config/write-address.ts';

const nothingKnown = { isFree: () => true };
const open = (name: string) => `$${'{'}${name}}`;

describe('an address that is typed', () => {
  it.each([
    ['https://shop.example/a.csv', {}],
    ['https://shop.example/a.csv?format=csv&lang=de', {}],
    ['https://shop.example/a.csv?token=abc', { FEED_TOKEN: 'abc' }, '?token=@'],
    [
      'https://shop.example/a.csv?lang=de&api_key=a%2Fb&page=1',
      { FEED_TOKEN: 'a%2Fb' },
      '?lang=de&api_key=@&page=1',
    ],
    ['https://shop.example/a.csv?k=9f8a7c6b5d4e3f2a1b0c', { FEED_TOKEN: '9f8a7c6b5d4e3f2a1b0c' }, '?k=@'],
    ['https://shop.example/a.csv?token=$1', { FEED_TOKEN: '$1' }, '?token=@'],
  ])('%s keeps its secrets apart', (typed, variables, query?: string) => {
    const url =
      query === undefined
        ? typed
        : `https://shop.example/a.csv${query.replace('@', () => open('FEED_TOKEN'))}`;
    expect(writeAddress(` ${typed} `, nothingKnown)).toEqual({ url, variables });
    expect(hasSecret(typed)).toBe(Object.keys(variables).length > 0);
  });

  it('gives each of several secrets a variable that has no value', () => {
    const isFree = (name: string) => name !== 'FEED_TOKEN';
    expect(writeAddress('https://shop.example/a?key=one&secret=two', { isFree })).toEqual({
      url: `https://shop.example/a?key=${open('FEED_TOKEN_2')}&secret=${open('FEED_TOKEN_3')}`,
      variables: { FEED_TOKEN_2: 'one', FEED_TOKEN_3: 'two' },
    });
  });

  it.each([
    ['https://me:pass@shop.example/a?x=1', 'me', 'pass', 'https://shop.example/a?x=1'],
    ['https://me%40shop:p%3Aa%2F@shop.example:8443', 'me@shop', 'p:a/', 'https://shop.example:8443'],
    ['http://me:p@ss:word@shop.example/a@b', 'me', 'p@ss:word', 'http://shop.example/a@b'],
    ['https://me:pass@shop.example?mail=a@b', 'me', 'pass', 'https://shop.example?mail=a@b'],
  ])('%s gives user and password as auth', (typed, user, password, address) => {
    expect(writeAddress(typed, nothingKnown)).toEqual({
      url: { address, auth: { user, password: open('FEED_PASSWORD') } },
      variables: { FEED_PASSWORD: password },
    });
    expect(hasSecret(typed)).toBe(true);
  });

  it.each([
    ['https://cdn.example/a.jpg?w=20&v=7', 'https://cdn.example/a.jpg?w=20&v=7'],
    ['https://me:p@ss@cdn.example/a@b.jpg', 'https://***@cdn.example/a@b.jpg'],
    ['https://me:p?ss@cdn.example/a.jpg', 'https://***@cdn.example/a.jpg'],
    [
      'https://b.s3.example/p.jpg?X-Amz-Date=20260101T000000Z&X-Amz-Security-Token=abc&X-Amz-Signature=5f4d',
      'https://b.s3.example/p.jpg?X-Amz-Date=20260101T000000Z&X-Amz-Security-Token=***&X-Amz-Signature=***',
    ],
    ['https://x.example/p.jpg?sp=r&sig=a%2Bb#token=c', 'https://x.example/p.jpg?sp=r&sig=***#token=c'],
  ])('%s is shown as %s', (address, shown) => {
    expect(hideSecrets(address)).toBe(shown);
  });

  it('names no variable by itself', () => {
    const typed = `https://shop.example/a?token=${open('STORE_API_KEY')}&x=${open('HOME')}`;
    expect(writeAddress(typed, nothingKnown)).toEqual({
      url: typed.replaceAll('${', () => '$${'),
      variables: {},
    });
    const user = writeAddress(`https://${open('A')}:${open('B')}@shop.example/`, nothingKnown);
    expect(JSON.stringify(user.url)).not.toContain('"${A');
    expect(user.variables).toEqual({ FEED_PASSWORD: open('B') });
  });

  it('that is no web address, or is written wrongly, stays as it is', () => {
    for (const typed of ['jobs/list.csv', 'https://me:%zz@shop.example/', 'https://me@shop.example/'])
      expect(writeAddress(typed, nothingKnown)).toEqual({ url: typed, variables: {} });
  });
});

describe('an address that replaces another of the same server', () => {
  const before = `https://shop.example/a?lang=${open('LANG')}&token=${open('T')}`;

  it('keeps its placeholders, and may give the variable of a secret another value', () => {
    const typed = `https://shop.example/b?lang=${open('LANG')}&token=new`;
    const kept = { isFree: (name: string) => name !== 'T', before };
    expect(writeAddress(typed, { ...kept, mayReplace: () => true })).toEqual({
      url: `https://shop.example/b?lang=${open('LANG')}&token=${open('T')}`,
      variables: { T: 'new' },
    });
    expect(writeAddress(typed, kept)).toEqual({
      url: `https://shop.example/b?lang=${open('LANG')}&token=${open('FEED_TOKEN')}`,
      variables: { FEED_TOKEN: 'new' },
    });
  });

  it('gives two secrets two variables, although one served both', () => {
    const both = `https://shop.example/?token=${open('T')}&key=${open('T')}`;
    const { variables } = writeAddress('https://shop.example/?token=a&key=b', {
      isFree: () => true,
      before: both,
      mayReplace: () => true,
    });
    expect(variables).toEqual({ T: 'a', FEED_TOKEN: 'b' });
  });
});
