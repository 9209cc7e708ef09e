import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StateError } from '../../src/model/storeferry-error.ts';
import {
  BLOCK_BODIES,
  decodeBodies,
  decodeBody,
  encodeBodies,
  encodeBody,
} from '../../src/state/encode-body.ts';

describe('a body in the ledger', () => {
  it('comes back as it was', () => {
    const bodies = fc.oneof(fc.string({ unit: 'binary' }), fc.json());
    fc.assert(
      fc.property(bodies, (body) => {
        expect(decodeBody(encodeBody(body))).toBe(body.toWellFormed());
      }),
    );
    const large = JSON.stringify(
      Array.from({ length: 5_000 }, (_, variant) => ({ sku: `S-${variant * 7919}` })),
    );
    expect(decodeBody(encodeBody(large))).toBe(large);
  });

  it('takes less than half of the room, even when it is small', () => {
    const body =
      '{"type":"physical","title":"Trail lamp","description":"<p>Bright for nine hours.</p>","url":"trail-lamp",' +
      '"hidden":false,"images":["https://cdn.example/lamp.jpg"],"options":[],"variants":[{"options":[],"price":39.5,' +
      '"onSale":false,"regularPrice":39.5,"quantity":12,"sku":"TL-9","weight":0.25}]}';
    expect(encodeBody(body).length).toBeLessThan(body.length / 2);
  });

  it('is refused when it is damaged or was written by a newer version', () => {
    const stored = encodeBody('{"title":"Trail lamp"}');
    expect(() => decodeBody(Buffer.concat([Buffer.of(9), stored.subarray(1)]))).toThrow(/format 9/);
    for (const damaged of [stored.subarray(0, 5), Buffer.of(1, 255, 255), Buffer.alloc(0)]) {
      expect(() => decodeBody(damaged)).toThrow(StateError);
    }
  });
});

describe('a block of bodies in the ledger', () => {
  it('comes back as it was, empty places and one body stored alone included', () => {
    const body = fc.oneof(fc.string({ unit: 'binary' }), fc.json(), fc.constant(''));
    fc.assert(
      fc.property(fc.array(body, { minLength: 1, maxLength: BLOCK_BODIES }), (bodies) => {
        expect(decodeBodies(encodeBodies(bodies))).toEqual(bodies.map((each) => each.toWellFormed()));
      }),
    );
    expect(decodeBodies(encodeBody('{"title":"Trail lamp"}'))).toEqual(['{"title":"Trail lamp"}']);
  });

  it('is refused when it is damaged or was written by a newer version', () => {
    const stored = encodeBodies(['{"title":"Trail lamp"}', '{"title":"Head lamp"}']);
    expect(() => decodeBodies(Buffer.concat([Buffer.of(9), stored.subarray(1)]))).toThrow(/format 9/);
    const tooLong = Buffer.from(stored);
    tooLong.writeUInt32LE(1_000, 2);
    for (const damaged of [stored.subarray(0, 5), stored.subarray(0, 14), tooLong, Buffer.alloc(0)]) {
      expect(() => decodeBodies(damaged)).toThrow(StateError);
    }
  });
});
