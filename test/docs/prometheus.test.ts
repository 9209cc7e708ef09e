import { expect, it } from 'vitest';
import { describeWithRedis } from '../support/redis.ts';
import { blocksIn } from './document-blocks.ts';
import { readConfiguration, readRules } from './prometheus-rules.ts';
import { METRICS_FILE, readDocument, withMetrics } from './reference.ts';
import { Scene } from './scene.ts';
import { SCENES } from './scenes.ts';

const OPERATION = readDocument(METRICS_FILE);
const CONFIGURATION = blocksIn(OPERATION).find(({ notes }) => notes.get('prometheus') === 'configuration');

/** What a worker shows Prometheus after a run: metrics, each with its labels. */
async function metricsOfAWorker(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const setting = await SCENES['shared workspace']?.();
  if (setting === undefined) throw new Error('no scene');
  await using scene = await Scene.open(setting);
  await scene.leave('storeferry worker --listen 9464', '"ready"');
  expect((await scene.type('storeferry enqueue nightly-catalog --follow')).code).toBe(0);
  const { stdout } = await scene.type(
    `node -e "fetch('http://127.0.0.1:9464/metrics').then((answer) => answer.text()).then(console.log)"`,
  );
  const metrics = new Map<string, Set<string>>();
  for (const [, name = ''] of stdout.matchAll(/^# TYPE (\S+)/gm)) metrics.set(name, new Set());
  for (const [, name = '', labels = ''] of stdout.matchAll(/^(\w+)\{(.*)\} /gm)) {
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) metrics.get(name)?.add(label);
  }
  return metrics;
}

it('docs/operation.md lists the metrics as they are defined (npm run docs)', () => {
  expect(OPERATION).toBe(withMetrics(OPERATION));
});

describeWithRedis('what docs/operation.md and docs/alerts.yaml say to Prometheus', () => {
  it('asks for metrics and labels that workers have, in PromQL, and every metric of its table is there', async () => {
    const metrics = await metricsOfAWorker();
    const rules = readRules(readDocument('docs/alerts.yaml'));
    expect(rules.size).toBeGreaterThan(6);
    for (const [alert, selectors] of rules) {
      expect(selectors.length, alert).toBeGreaterThan(0);
      for (const { metric, labels } of selectors) {
        expect([...metrics.keys()], alert).toContain(metric);
        for (const label of labels)
          expect([...(metrics.get(metric) ?? [])], `${alert}: ${metric}`).toContain(label);
      }
    }
    const listed = [...OPERATION.matchAll(/`((?:storeferry|process|nodejs)_[a-z0-9_]+)(?:\{([a-z,]*)\})?`/g)];
    for (const [, metric = '', labels] of listed) {
      expect([...metrics.keys()]).toContain(metric);
      if (labels !== undefined)
        expect([...(metrics.get(metric) ?? [])].sort()).toEqual(labels.split(',').sort());
    }
    const unlisted = [...metrics.keys()].filter(
      (name) => name.startsWith('storeferry_') && !listed.some(([, metric]) => metric === name),
    );
    expect(unlisted).toEqual([]);
  });

  it('keeps the label job of Storeferry', () => {
    const { scrape_configs } = readConfiguration(CONFIGURATION?.content ?? '');
    expect(scrape_configs.map(({ honor_labels }) => honor_labels)).toEqual([true]);
  });
});
