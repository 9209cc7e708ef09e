import { expect, it } from 'vitest';
import { z } from 'zod';
import { METRICS } from '../../src/queue/metrics.ts';
import { selectorsOf } from './prometheus-rules.ts';
import { readDocument } from './reference.ts';

const dashboard = z
  .object({
    panels: z.array(
      z.object({
        id: z.int(),
        title: z.string(),
        datasource: z.object({ type: z.literal('prometheus'), uid: z.literal(`\${datasource}`) }),
        gridPos: z.object({ h: z.int(), w: z.int(), x: z.int(), y: z.int() }),
        targets: z.array(z.object({ expr: z.string(), refId: z.string(), legendFormat: z.string() })).min(1),
      }),
    ),
    templating: z.object({
      list: z.array(z.object({ name: z.literal('datasource'), type: z.literal('datasource') })),
    }),
  })
  .parse(JSON.parse(readDocument('docs/grafana.json')));

/** Labels that Prometheus adds itself. */
const ADDED = ['instance'];

it('the Grafana dashboard asks for metrics and labels that workers have, and shows every one of Storeferry', () => {
  const asked = new Set<string>();
  for (const { title, targets } of dashboard.panels) {
    for (const { expr, legendFormat } of targets) {
      // Grafana fills in its variables before Prometheus sees the expression.
      const query = expr.replaceAll('$__rate_interval', '5m');
      const grouped = [...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names = '']) =>
        names.split(/,\s*/),
      );
      const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, name = '']) => name);
      const selectors = selectorsOf(query);
      expect(selectors, title).not.toEqual([]);
      for (const { metric, labels } of selectors) {
        const known = METRICS.find(({ name }) => name === metric);
        expect(known, `${title}: ${metric}`).toBeDefined();
        for (const label of [...labels, ...grouped, ...shown])
          expect([...(known?.labels ?? []), ...ADDED], `${title}: ${metric}`).toContain(label);
        asked.add(metric);
      }
      // What an aggregation leaves out cannot be in a legend.
      if (grouped.length > 0) expect(grouped, title).toEqual(expect.arrayContaining(shown));
    }
  }
  const unasked = METRICS.map(({ name }) => name).filter(
    (name) => name.startsWith('storeferry_') && !asked.has(name),
  );
  expect(unasked).toEqual(['storeferry_job_last_run_timestamp_seconds']);
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
});
