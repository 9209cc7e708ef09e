/** `0%`, `<0.1%`, `5.2%`, `97%`, `>99.9%`, `100%`: only nothing is 0%, and only everything is 100%. */
export function formatShare(figure: number, of: number): string {
  if (figure === 0 || of === 0) return '0%';
  const percent = (figure / of) * 100;
  if (figure === of) return '100%';
  if (percent < 0.1) return '<0.1%';
  if (percent > 99.9) return '>99.9%';
  return `${Number(percent.toFixed(percent < 10 || percent > 99 ? 1 : 0))}%`;
}
