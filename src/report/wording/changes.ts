/** From where on a change is told as a factor: twice, and half. */
const FACTOR = 2;

/** How far a number has moved: `×100`, `÷100`, `+20%`, `−5.2%`; `from 0` and `to 0` have no size. */
export function formatChange(old: number, now: number): string {
  if (old === now) return '±0';
  if (old === 0) return 'from 0';
  if (now === 0) return 'to 0';
  const factor = now / old;
  if (factor < 0) return 'sign changes';
  if (factor >= FACTOR) return `×${rounded(factor)}`;
  if (factor <= 1 / FACTOR) return `÷${rounded(1 / factor)}`;
  const percent = (factor - 1) * 100;
  return `${percent > 0 ? '+' : '−'}${Math.abs(percent) < 0.1 ? '<0.1' : Number(Math.abs(percent).toFixed(1))}%`;
}

function rounded(factor: number): string {
  return factor.toLocaleString('en', { maximumSignificantDigits: 3 });
}
