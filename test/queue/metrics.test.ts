import { expect, it } from 'vitest';
import { prometheusText } from '../../src/queue/metrics.ts';

it('metrics are written as Prometheus reads them: help, type, labels escaped, none without figures', () => {
  const text = prometheusText([
    { name: 'a_total', help: 'What is\ncounted \\ here.', type: 'counter', samples: [{ value: 3 }] },
    {
      name: 'b',
      help: 'By label.',
      type: 'gauge',
      samples: [
        { labels: { job: 'a"b\\c\nd', status: 'done' }, value: 0.5 },
        { labels: { job: 'x' }, value: 1 },
      ],
    },
    { name: 'c', help: 'Unknown.', type: 'gauge', samples: [] },
  ]);
  expect(text.split('\n')).toEqual([
    '# HELP a_total What is\\ncounted \\\\ here.',
    '# TYPE a_total counter',
    'a_total 3',
    '# HELP b By label.',
    '# TYPE b gauge',
    'b{job="a\\"b\\\\c\\nd",status="done"} 0.5',
    'b{job="x"} 1',
    '',
  ]);
});
