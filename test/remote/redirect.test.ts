import { expect, it } from 'vitest';
import { redirectedTo } from '../../src/remote/http-client.ts';

const FROM = new URL('https://shop.example/in/a.csv?token=T');

it.each([
  ['/b.csv', 'https://shop.example/b.csv'],
  ['b.csv', 'https://shop.example/in/b.csv'],
  ['//cdn.example/b.csv?x=1', 'https://cdn.example/b.csv?x=1'],
])('a redirect to %s leads to %s', (location, to) => {
  expect(redirectedTo(location, FROM).href).toBe(to);
});

it.each([
  ['http://shop.example/a.csv', /http:\/\/shop\.example, without encryption, which is not followed/],
  ['file:///etc/passwd', /a file: address/],
  ['ftp://shop.example/a.csv', /an? ftp: address/],
  ['https://', /no address/],
  [null, /no address/],
])('a redirect from https to %s is refused', (location, message) => {
  expect(() => redirectedTo(location, FROM)).toThrow(message);
});

it('a redirect from http leads to either', () => {
  const from = new URL('http://shop.example/a.csv');
  expect(redirectedTo('http://other.example/', from).protocol).toBe('http:');
  expect(redirectedTo('https://other.example/', from).protocol).toBe('https:');
});
