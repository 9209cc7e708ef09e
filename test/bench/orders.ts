import { type Bench, scaled } from './bench-row.ts';
import { runProcess } from './run-process.ts';

const ORDERS = 20_000;
const LATENCY_MS = 20;

/** The figure of orders-export.ts, which takes its own median. */
export const orders: Bench = async (options) => {
  const count = scaled(ORDERS, options);
  const { stdout } = await runProcess('orders-export.ts', [String(count), String(LATENCY_MS)]);
  for (const line of stdout.trimEnd().split('\n')) options.log(`orders: ${line}`);
  const times = Number(/^median: ([\d.]+)/m.exec(stdout)?.[1]);
  return [
    {
      what: `orders export, ${count} orders, ${LATENCY_MS} ms an answer`,
      ours: '',
      plain: '',
      bare: 'one page after another',
      ratio: `${times} times`,
      asked: 'at least 10 times',
      met: times >= 10,
    },
  ];
};
