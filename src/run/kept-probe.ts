import { hash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import type { StoreConfig } from '../config/store-config.ts';
import type { MappingContext } from '../mapping/compile-mapping.ts';
import { sleep, systemClock } from '../model/clock.ts';
import { parsedJson, type Stored } from '../model/json-object.ts';
import { type ProbedProperties, type PropertyName, probedProperties } from '../model/probed-properties.ts';
import { storeIdentity } from '../model/remote-address.ts';
import type { Run } from '../model/run.ts';
import { LockedError, StateError, StoreUnavailableError } from '../model/storeferry-error.ts';
import { Page, type PageOptions } from '../report/document-text.ts';
import type { Artifacts, RunFolder } from '../state/artifacts.ts';
import type { StoreProbe } from '../storefront/storefront.ts';
import { listed, printable } from '../text/printable.ts';
import { judgeStore } from './online/store-check.ts';
import {
  type Facts,
  type OnlineCheck,
  okFinding,
  PROBES_FOLDER,
  type RunContext,
  warningFinding,
} from './run-context.ts';

const probeSchema = z.object({
  /** Milliseconds since the epoch. */
  at: z.number(),
  requests: z.int(),
  /** Products that could not be removed. */
  left: z.array(z.string()),
  properties: probedProperties,
  /** The request that showed each property, also those of earlier versions. */
  evidence: z.record(z.string(), z.string()),
});

/** Products that a probe may leave, by their urls, and contacts, by their e-mail addresses. */
const tracesSchema = z.object({ urls: z.array(z.string()) });

/** The kept result of the last probe of a store. */
export type KeptProbe = Stored<typeof probeSchema>;

const NAMES = probedProperties.keyof().options;

interface ProbeRequest {
  readonly store: StoreConfig;
  readonly contactId: string | null;
}

/** What a store has answered to one request that reads. */
interface StoreTest extends Pick<Facts, 'verdict' | 'message' | 'hint'> {
  readonly answer: StoreProbe['kind'];
}

/** Whether a store answers at its address and takes the key. */
export async function testStore(
  { version, signal }: RunContext,
  store: Pick<StoreConfig, 'name' | 'baseUrl' | 'apiKey'>,
): Promise<StoreTest> {
  const { probeStore } = await import('../storefront/storefront.ts');
  const { baseUrl, apiKey } = store;
  const answered = await probeStore({ baseUrl, apiKey, userAgent: `storeferry/${version}`, signal });
  const [found = okFinding('')] = judgeStore(answered, store);
  if (answered.kind !== 'wrong-key') return { answer: answered.kind, ...found };
  const hint = 'Copy the key from the store again: it may have been revoked, or belong to another site.';
  return { answer: answered.kind, ...found, message: `${baseUrl} answers, and refuses the key`, hint };
}

/**
 * Probes a store, and keeps what was learned. Traces of probes whose process died are removed first.
 *
 * @throws StoreUnavailableError where the address does not answer as the API; LockedError while another probe of the
 * store works.
 */
export async function probeStoreProperties(context: RunContext, request: ProbeRequest): Promise<KeptProbe> {
  const { store, contactId } = request;
  const { artifacts, clock, signal, state, version, newRunId } = context;
  const { probeProperties } = await import('../storefront/storefront.ts');
  const userAgent = `storeferry/${version}`;
  const { baseUrl, apiKey, limits } = store;
  const { verdict, message, hint } = await testStore(context, store);
  if (verdict === 'error') throw new StoreUnavailableError(`${message}.`, { hint });
  const id = newRunId();
  const tag = tagOf(storeIdentity(store));
  const lock = await state.locks.tryAcquire(`probe:${tag}`, { job: 'probe', run: id });
  if ('heldBy' in lock)
    throw new LockedError(`Another probe of ${store.name} is running.`, { hint: 'Wait until it ends.' });
  await using _held = lock;
  const folder = artifacts.run(PROBES_FOLDER);
  const open = `${tag}-open.json`;
  const probed = await probeProperties({
    baseUrl,
    apiKey,
    userAgent,
    attemptMs: limits.timeoutSeconds * 1_000,
    signal,
    contactId,
    traces: (await readJson(folder, open, tracesSchema))?.urls ?? [],
    keepTraces: async (urls) => {
      if (urls.length === 0) await folder.remove([open]);
      else await folder.write(open, [JSON.stringify({ urls })]);
    },
    unique: id,
    wait: (ms) => sleep(systemClock, ms, signal),
    now: clock,
  });
  const kept = { at: clock(), ...probed };
  await folder.write(probeName(store), [JSON.stringify(kept)]);
  return kept;
}

function probeName(store: StoreConfig | string) {
  return `${tagOf(typeof store === 'string' ? store : storeIdentity(store))}.json`;
}

/** What the last probe of a store (or of its identity) has learned; undefined if there was none. */
export async function readProbe(
  artifacts: Artifacts,
  store: StoreConfig | string,
): Promise<KeptProbe | undefined> {
  return await readJson(artifacts.run(PROBES_FOLDER), probeName(store), probeSchema);
}

/** Corrects what the last probe has learned: partial updates of a run have emptied the other fields of products. */
export async function noteEmptied(
  artifacts: Artifacts,
  { id }: Pick<Run, 'id'>,
  store: StoreConfig,
): Promise<void> {
  const kept = await readProbe(artifacts, store);
  if (kept === undefined) return;
  const properties = { ...kept.properties, absentFieldsStay: false, updatesProductById: false };
  const seen = `partial updates of run ${id} emptied the other fields`;
  const evidence = { ...kept.evidence, absentFieldsStay: seen, updatesProductById: seen };
  const folder = artifacts.run(PROBES_FOLDER);
  await folder.write(probeName(store), [JSON.stringify({ ...kept, properties, evidence })]);
}

/** Whether the store was seen to change a product by its id, its url included. */
export async function changesUrls(artifacts: Artifacts, store: StoreConfig): Promise<boolean> {
  return (await readProbe(artifacts, store))?.properties.updatesProductById === true;
}

/** How records are written to a store. Where nothing was probed, whole products are sent and nothing is known of the others' edits. */
export interface ProductWrites {
  /** A part of a record can be sent, by its key or by the id that the store has answered. */
  readonly partByKey: boolean;
  readonly partById: boolean;
  /** Whole products replace what somebody edited in the store. */
  readonly replaces: boolean;
  /** Products can be read. */
  readonly reads: boolean;
  /** Answers are compared with what the ledger believes. */
  readonly observes: boolean;
  /** Fields that the store answers as they are sent. */
  readonly unaltered: readonly string[];
  /** Products may have `quantity: null`. */
  readonly takesNull: boolean;
}

/** How a run writes products or contacts to its store, as the last probe allows. */
export async function productWrites(
  { artifacts }: RunContext,
  { resource }: Run,
  store: StoreConfig,
): Promise<ProductWrites> {
  const { properties } = (await readProbe(artifacts, store)) ?? {};
  if (resource === 'contacts') {
    // By the document, every store keeps the fields of a contact that an update does not have; its answers show them only where that was seen.
    const answers = properties?.emptyContactPutAnswersWhole;
    const observes = answers === true || answers === 'email';
    const never = { partById: false, replaces: false, reads: false, takesNull: false };
    return { partByKey: true, ...never, observes, unaltered: [] };
  }
  const reads = properties?.readsProducts === true;
  const partById = properties?.updatesProductById === true;
  const partByKey = properties?.absentFieldsStay === true;
  return {
    partByKey,
    partById,
    replaces: properties?.absentFieldsStay === false && !partById,
    reads,
    observes: reads || partByKey || partById,
    takesNull: properties?.nullQuantity === true,
    unaltered: [
      ...(properties?.htmlAltered === false ? ['title', 'description'] : []),
      ...(properties?.pricesAltered === false ? ['variants'] : []),
    ],
  };
}

async function readJson<Schema extends z.ZodType>(folder: RunFolder, name: string, schema: Schema) {
  if (!(await folder.exists(name))) return undefined;
  const read = schema.safeParse(parsedJson(await text(await folder.read(name))));
  if (read.success) return read.data;
  throw new StateError(`${folder.location}/${name} is damaged.`, {
    hint: 'Remove it, then probe the store again.',
  });
}

function tagOf(storeId: string) {
  return hash('sha256', storeId).slice(0, 16);
}

function wordsOf(name: PropertyName) {
  return probedProperties.shape[name].description ?? name;
}

function valueWords(value: ProbedProperties[PropertyName]) {
  if (value === null) return 'unknown';
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value);
}

/** What a probe has learned, in words: each property with its value and its name, and what a person should know. */
export function probeFacts({ properties, left }: KeptProbe) {
  return {
    properties: NAMES.map((name) => ({
      name,
      words: wordsOf(name),
      value: valueWords(properties[name]),
    })),
    warnings: [...warningsOf(properties), ...(left.length > 0 ? [leftWords(left)] : [])],
  };
}

/** The result as a table, for the terminal. */
export function probeText(store: StoreConfig, probe: KeptProbe, options: PageOptions): string {
  const page = new Page(options);
  const { properties, warnings } = probeFacts(probe);
  page.say(`${store.name}: ${probe.requests} requests to ${store.baseUrl}`, { tone: 'strong' });
  page.table(
    ['', '', ''],
    properties.map(({ name, words, value }) => ({ cells: [`  ${value}`, words, name], tone: 'quiet' })),
  );
  for (const warning of warnings) page.say(warning, { tone: 'warning' });
  return page.toString();
}

/** The result as Markdown, for the operator of the store. */
export function probeMarkdown(store: StoreConfig, probe: KeptProbe): string {
  const { at, requests, evidence } = probe;
  const { properties, warnings } = probeFacts(probe);
  const row = (cells: readonly string[]) =>
    `| ${cells.map((cell) => printable(cell).replaceAll('|', String.raw`\|`)).join(' | ')} |`;
  return [
    `# What ${store.name} does`,
    '',
    `${store.baseUrl}, ${new Date(at).toISOString()}, ${requests} requests. Sent by Storeferry to one hidden product of its own, which it removed.`,
    '',
    row(['property', 'seen', 'what it says', 'request: status']),
    '|---|---|---|---|',
    ...properties.map(({ name, words, value }) => row([`\`${name}\``, value, words, evidence[name] ?? ''])),
    '',
    ...warnings.flatMap((line) => [line, '']),
  ].join('\n');
}

function leftWords(left: readonly string[]) {
  return `Could not be removed: ${listed(left.map(printable))}. The next probe tries again; remove a contact by its number in the store.`;
}

/** Whether the store gives all variants of a product one price, whatever is sent. */
export function flattensPrices({
  advancedKeepsVariantPrices,
  plainKeepsVariantPrices,
}: ProbedProperties): boolean {
  return advancedKeepsVariantPrices === false && plainKeepsVariantPrices !== true;
}

/** How this store wants a record written. Default: it keeps prices of variants where an option is `advanced`, as the API suggests. */
export function formsOf(
  probe: ProbedProperties | undefined,
): Pick<MappingContext, 'advanced' | 'nullQuantity'> {
  if (probe === undefined) return {};
  const { advancedKeepsVariantPrices: advanced, plainKeepsVariantPrices: plain, nullQuantity } = probe;
  return {
    ...(advanced === false && plain === true && { advanced: false }),
    ...(nullQuantity === true && { nullQuantity }),
  };
}

/** What a shop loses by such a store, whatever is sent. */
function warningsOf(properties: ProbedProperties): readonly string[] {
  return flattensPrices(properties)
    ? ['This store gives all variants of a product one price, whatever is sent.']
    : [];
}

/** What the last probe of each store has learned; shown without a request to the store. */
export const probeCheck: OnlineCheck = ({ stores, settings }) =>
  settings === undefined
    ? []
    : stores.map((store) => ({
        subject: `store ${store.name}`,
        async look(): Promise<Facts[]> {
          const { openArtifacts } = await import('../state/open-state.ts');
          const probe = await readProbe(openArtifacts(settings.artifacts), store);
          if (probe === undefined) return [];
          const seen = NAMES.filter((name) => probe.properties[name] === true).map(wordsOf);
          const found = `probed on ${new Date(probe.at).toISOString().slice(0, 10)}: ${seen.length === 0 ? 'nothing beyond the API document' : seen.join('; ')}`;
          const [warning] = warningsOf(probe.properties);
          return [okFinding(found), ...(warning === undefined ? [] : [warningFinding(warning)])];
        },
      }));
