import { expect, it } from 'vitest';
import { hasHtml, htmlCleaner } from '../../src/mapping/transforms/html.ts';
import { Unreadable } from '../../src/mapping/values/cell.ts';

const { plain, harmless } = htmlCleaner();

const SHAPES = [
  ...[
    '<b>',
    '<p>',
    '<',
    '<<b',
    '<a ',
    '<a x=1 ',
    '<!--',
    '<script>',
    '<b',
    '</b>',
    '<p><b>',
    '<table>',
    '&',
    '&amp;',
  ],
  ...[
    '<svg>',
    '<li>',
    '<option>',
    '<![CDATA[',
    '<?',
    '"<a "',
    '<img src=x>',
    '&lt;b&gt;',
    '<title>',
    '<svg><title>',
  ],
  ...['<style></style>', '<x-y>', '<b/', '<textarea>', '<noscript>', '<xmp></xmp><b>', '<p></b>'],
];

/** The CPU time of this thread, in microseconds. */
function timeOf(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return user + system;
}

it.each(SHAPES)('takes linear time to strip %s', (shape) => {
  const time = (length: number) => timeOf(() => plain(shape.repeat(Math.ceil(length / shape.length))));
  time(16_384);
  const short = Math.min(time(65_536), time(65_536));
  // Linear is 4 times as much, quadratic 16 times. The times of a fast one are noise.
  expect(Math.min(time(262_144), time(262_144))).toBeLessThan(Math.max(10 * short, 150_000));
});

it('strips what was encoded hundreds of times in a few rounds', () => {
  let nested = '<b>x';
  for (let level = 1; level < 800; level += 1) nested += `&${'amp;'.repeat(level - 1)}lt;b>`;
  expect(nested.length).toBeGreaterThan(1_000_000);
  const bare = plain(nested);
  expect(hasHtml(bare)).toBe(false);
  expect(bare).toMatch(/^xb>/);
});

it('strips tags, comments and what a browser does not show, and nothing else', () => {
  expect(plain('5 < 6 &amp; <b>7</b> > 3')).toBe('5 < 6 & 7 > 3');
  expect(plain('a<script>if (x < 1) alert("<b>")</script>b<style>p > b {}</style>c')).toBe('abc');
  expect(plain('<p class="a>b">One</p><p>Two<br>Three</p>')).toBe('One\nTwo\nThree');
  expect(plain('<optgroup>a<scripts>b</scripts><!-- c --><x-y z>d')).toBe('abd');
  expect(plain('&lt;b&gt;x&lt;/b&gt; &lt;i>y')).toBe('x y');
});

it('refuses to sanitize more tags than it can in short time', () => {
  const text = '<b>x</b>'.repeat(20_000);
  expect(harmless(text)).toBe(text);
  expect(() => harmless(`${text}<b>`)).toThrow(Unreadable);
});
