import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isLoopback, normalisedAddress, storeIdentity } from '../../src/model/remote-address.ts';

const label = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/);
const host = fc.array(label, { minLength: 2, maxLength: 4 }).map((labels) => labels.join('.'));
const segment = fc.stringMatching(/^[A-Za-z0-9_~-]{1,8}$/);
const path = fc
  .array(segment, { maxLength: 3 })
  .map((segments) => segments.map((part) => `/${part}`).join(''));
const port = fc.option(
  fc.integer({ min: 1, max: 65_535 }).filter((number) => number !== 80 && number !== 443),
);

/** An address in parts, and one of the ways to write it. */
const spelled = fc.record({ host, path, port }).chain((parts) =>
  fc
    .record({
      scheme: fc.constantFrom('http', 'https', 'HTTPS'),
      upper: fc.boolean(),
      dot: fc.boolean(),
      slashes: fc.constantFrom('', '/', '//'),
      defaultPort: fc.boolean(),
      escaped: fc.boolean(),
    })
    .map(({ scheme, upper, dot, slashes, defaultPort, escaped }) => {
      const name = `${upper ? parts.host.toUpperCase() : parts.host}${dot ? '.' : ''}`;
      const usual = scheme === 'http' ? ':80' : ':443';
      const number = parts.port === null ? (defaultPort ? usual : '') : `:${parts.port}`;
      const where = escaped ? parts.path.replaceAll('a', '%61').replaceAll('~', '%7e') : parts.path;
      return { parts, address: `${scheme}://${name}${number}${where}${slashes}` };
    }),
);

describe('the identity of a store', () => {
  it('is the same for every spelling of its address', () => {
    fc.assert(
      fc.property(spelled, ({ parts, address }) => {
        const plain = `https://${parts.host}${parts.port === null ? '' : `:${parts.port}`}${parts.path}`;
        expect(storeIdentity({ baseUrl: address })).toBe(storeIdentity({ baseUrl: plain }));
      }),
    );
  });

  it('differs where host, port or path differ', () => {
    fc.assert(
      fc.property(spelled, spelled, (one, other) => {
        const same = JSON.stringify(one.parts) === JSON.stringify(other.parts);
        expect(normalisedAddress(one.address) === normalisedAddress(other.address)).toBe(same);
      }),
    );
  });

  it('is its id where it has one, and no address equals an id', () => {
    fc.assert(
      fc.property(spelled, fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,20}$/), ({ address }, id) => {
        expect(storeIdentity({ id, baseUrl: address })).toBe(`id:${id}`);
        expect(normalisedAddress(`http://id:${id}`)).not.toBe(`id:${id}`);
      }),
    );
  });

  it.each([
    ['127.0.0.1', 'localhost', '[::1]', '127.3.2.1', '0x7f.1', 'localhost.', '[::ffff:127.0.0.1]', '0.0.0.0'],
    ['BÜCHER.example', 'xn--bcher-kva.example', 'bücher.example.'],
    ['[2001:DB8:0::1]', '[2001:db8::1]'],
  ])('is one for the spellings of a host: %s, %s …', (...hosts) => {
    const identities = hosts.map((name) => storeIdentity({ baseUrl: `http://${name}:8080/a` }));
    expect(new Set(identities).size).toBe(1);
  });

  it.each(['127.0.0.1.example', 'localhost.example', '128.0.0.1', '[::2]', 'my-localhost'])(
    'takes %s for no spelling of this machine',
    (name) => {
      expect(isLoopback(new URL(`http://${name}`).hostname)).toBe(false);
    },
  );

  it('is the text itself where that is no address', () => {
    expect(normalisedAddress('no address')).toBe('no address');
  });
});
