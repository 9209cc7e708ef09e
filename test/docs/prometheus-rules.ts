import { parser } from '@prometheus-io/lezer-promql';
import { parse } from 'yaml';
import { z } from 'zod';

/** As Prometheus reads a file of rules; what it does not know is refused, as it would be there. */
const rulesSchema = z.strictObject({
  groups: z.array(
    z.strictObject({
      name: z.string(),
      rules: z.array(
        z.strictObject({
          alert: z.string().regex(/^[A-Z][A-Za-z]+$/),
          expr: z.string(),
          for: z
            .string()
            .regex(/^\d+[smhd]$/)
            .optional(),
          annotations: z.strictObject({ summary: z.string() }),
        }),
      ),
    }),
  ),
});

const configurationSchema = z.strictObject({
  scrape_configs: z.array(
    z.strictObject({
      job_name: z.string(),
      honor_labels: z.boolean(),
      static_configs: z.array(
        z.strictObject({ targets: z.array(z.string()), labels: z.record(z.string(), z.string()) }),
      ),
    }),
  ),
});

/** Something that an expression picks: `up{job="a"}` is the metric `up` with the label `job`. */
export interface Selector {
  readonly metric: string;
  readonly labels: readonly string[];
}

/** The selectors of a file of rules, by alert. Throws for what Prometheus would not load. */
export function readRules(text: string): ReadonlyMap<string, readonly Selector[]> {
  const { groups } = rulesSchema.parse(parse(text));
  return new Map(groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => [alert, selectorsOf(expr)])));
}

/** Throws for a configuration that Prometheus would not load. */
export function readConfiguration(text: string): z.infer<typeof configurationSchema> {
  return configurationSchema.parse(parse(text));
}

/** What an expression picks. Throws for what is no PromQL. */
export function selectorsOf(expression: string): Selector[] {
  const selectors: { metric: string; labels: string[] }[] = [];
  parser.parse(expression).iterate({
    enter({ type, name, from, to }) {
      const text = expression.slice(from, to);
      if (type.isError) throw new Error(`no PromQL at ${from}: ${expression}`);
      if (name === 'VectorSelector') selectors.push({ metric: '', labels: [] });
      const selector = selectors.at(-1);
      if (name === 'Identifier' && selector?.metric === '') selector.metric = text;
      if (name === 'LabelName' && selector !== undefined) selector.labels.push(text);
    },
  });
  return selectors;
}
