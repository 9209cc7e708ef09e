import { isJsonObject, type JsonObject, member } from '../model/json-object.ts';
import { AS_SENT, changedFields } from '../model/operation.ts';
import type { AnsweredField, AnswersFound } from '../model/run.ts';
import { truncate } from '../model/truncate.ts';
import type { Storefront } from '../storefront/storefront.ts';

const SAMPLES_KEPT = 3;
const SAMPLE_LENGTH = 60;
/** Contacts may have any number of custom fields: those beyond this many are counted under one name. */
const MAX_FIELDS = 50;
const OTHER_FIELDS = 'other fields';

/** How the answers of the store to upserts differ from what was sent, over all answers of a process. */
export class AnswerTally {
  #answered = 0;
  #compared = 0;
  #altered = 0;
  readonly #fields = new Map<
    string,
    { altered: number; dropped: number; respelled?: number; samples: AnsweredField['samples'] }
  >();

  /** Takes the answer to an upsert; `quotes`: keeps a few values, which are personal data of contacts. */
  add(key: string, body: string, answer: unknown, { quotes }: { readonly quotes: boolean }): void {
    const { altered, dropped, respelled, compared } = answeredDifferences(body, answer);
    this.#answered++;
    if (!compared) return;
    this.#compared++;
    if (altered.length + dropped.length > 0) this.#altered++;
    for (const field of [...altered, ...respelled]) {
      const counts = this.#countsOf(field);
      if (respelled.includes(field)) counts.respelled = (counts.respelled ?? 0) + 1;
      else counts.altered++;
      if (counts.samples.length >= SAMPLES_KEPT) continue;
      const values = quotes
        ? { sent: valueText(JSON.parse(body), field), answered: valueText(answer, field) }
        : {};
      counts.samples = [...counts.samples, { key, ...values }];
    }
    for (const field of dropped) {
      const counts = this.#countsOf(field);
      counts.dropped++;
      if (counts.samples.length < SAMPLES_KEPT) counts.samples = [...counts.samples, { key }];
    }
  }

  #countsOf(field: string) {
    const name = this.#fields.has(field) || this.#fields.size < MAX_FIELDS ? field : OTHER_FIELDS;
    const counts = this.#fields.get(name) ?? { altered: 0, dropped: 0, samples: [] };
    this.#fields.set(name, counts);
    return counts;
  }

  /** Most frequent first. */
  found(): AnswersFound {
    const fields = [...this.#fields].map(([field, counts]) => ({ field, ...counts }));
    const counts = { answered: this.#answered, compared: this.#compared, altered: this.#altered };
    return joinedAnswers([{ ...counts, fields }]);
  }
}

/** What several processes have found, most frequent first. */
export function joinedAnswers(found: readonly AnswersFound[]): AnswersFound {
  const byField = Map.groupBy(
    found.flatMap(({ fields }) => fields),
    ({ field }) => field,
  );
  const fields = [...byField].map(([field, parts]) => {
    const respelled = parts.reduce((sum, part) => sum + (part.respelled ?? 0), 0);
    return {
      field,
      altered: parts.reduce((sum, { altered }) => sum + altered, 0),
      dropped: parts.reduce((sum, { dropped }) => sum + dropped, 0),
      ...(respelled > 0 && { respelled }),
      samples: parts.flatMap(({ samples }) => samples).slice(0, SAMPLES_KEPT),
    };
  });
  return {
    answered: found.reduce((sum, { answered }) => sum + answered, 0),
    compared: found.reduce((sum, { compared }) => sum + compared, 0),
    altered: found.reduce((sum, { altered }) => sum + altered, 0),
    fields: fields.sort((one, other) => answersWith(other) - answersWith(one)),
  };
}

/** In how many answers a field differs in any way. */
function answersWith({ altered, dropped, respelled = 0 }: AnsweredField): number {
  return altered + dropped + respelled;
}

/** The storefront, which also gives each body that was sent with the answer that acknowledged it. */
export function withAnswers(
  storefront: Storefront,
  onAnswer: (key: string, body: string, answer: unknown) => void,
): Pick<Storefront, 'upsertProduct' | 'updateContact' | 'deleteProduct' | 'subscriberLists'> {
  return {
    upsertProduct: (product, options) =>
      storefront.upsertProduct(product, {
        ...options,
        onAnswer: (answer) => onAnswer(product.url, product.body, answer),
      }),
    updateContact: (id, body, options) =>
      storefront.updateContact(id, body, { ...options, onAnswer: (answer) => onAnswer(id, body, answer) }),
    deleteProduct: (id, options) => storefront.deleteProduct(id, options),
    subscriberLists: (options) => storefront.subscriberLists(options),
  };
}

/**
 * The fields of a sent body that the answer (as `SendOptions.onAnswer` gives it) repeats with another value, and those that it leaves out: `title`,
 * `variants.price`. `respelled`: the url, where it is another spelling of the one that was sent. Some stores answer little more than the id:
 * where an answer repeats less than half of the fields, `compared` is false, and none counts as dropped.
 */
export function answeredDifferences(
  body: string,
  answer: unknown,
): Readonly<Record<'altered' | 'dropped' | 'respelled', string[]>> & { readonly compared: boolean } {
  const nothing = { altered: [], dropped: [], respelled: [] };
  if (answer === AS_SENT) return { ...nothing, compared: true };
  const sent: unknown = JSON.parse(body);
  if (!isJsonObject(sent) || !isJsonObject(answer)) return { ...nothing, compared: false };
  const altered = changedFields(sent, { ...answer, ...arranged(sent, answer) }).flatMap((field) =>
    field === 'variants' ? variantFields(member(sent, field), member(answer, field)) : [field],
  );
  const names = Object.keys(sent);
  const missing = names.filter((name) => !Object.hasOwn(answer, name));
  const compared = 2 * missing.length <= names.length;
  const dropped = compared ? missing.filter((name) => !isBlank(sent[name])) : [];
  const [sentUrl, url] = [member(sent, 'url'), member(answer, 'url')];
  const isRespelled =
    typeof sentUrl === 'string' && url !== undefined && url !== sentUrl && !altered.includes('url');
  return { altered, dropped, respelled: isRespelled ? ['url'] : [], compared };
}

/** A store need not repeat what is empty. */
function isBlank(value: unknown): boolean {
  return value === null || value === '' || (Array.isArray(value) && value.length === 0);
}

/** The fields that differ in any variant, compared by place; `variants` where the answer has more or fewer. */
function variantFields(sent: unknown, answered: unknown): string[] {
  if (!Array.isArray(sent) || !Array.isArray(answered) || sent.length !== answered.length)
    return ['variants'];
  const fields = sent.flatMap((variant: unknown, index) => {
    const other: unknown = answered[index];
    return isJsonObject(variant) && isJsonObject(other) ? changedFields(variant, other) : [];
  });
  return fields.length === 0 ? ['variants'] : [...new Set(fields)].map((field) => `variants.${field}`);
}

/** The value of a field, of variants all values, short enough for a line. */
function valueText(body: unknown, field: string): string {
  const [first = '', rest] = field.split('.', 2);
  const whole = isJsonObject(body) ? member(body, first) : undefined;
  const value =
    rest === undefined || !Array.isArray(whole)
      ? whole
      : whole.map((each: unknown) => (isJsonObject(each) ? member(each, rest) : undefined));
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return truncate(text, SAMPLE_LENGTH);
}

/**
 * Lists of a contact in the order in which they were sent: a store may sort them, and may have more properties than
 * were sent.
 */
function arranged(sent: JsonObject, answer: JsonObject): JsonObject {
  const lists = ['tags', 'subscriberLists'].flatMap((name) => {
    const [before, after] = [member(sent, name), member(answer, name)];
    if (!Array.isArray(before) || !Array.isArray(after)) return [];
    const places = new Map(before.map((value, index) => [String(value), index]));
    const placeOf = (value: unknown) => places.get(String(value)) ?? before.length;
    return [[name, after.toSorted((one, other) => placeOf(one) - placeOf(other))] as const];
  });
  const [before, after] = [member(sent, 'properties'), member(answer, 'properties')];
  if (!Array.isArray(before) || !Array.isArray(after)) return Object.fromEntries(lists);
  const held = new Map(after.filter(isJsonObject).map((property) => [member(property, 'name'), property]));
  const properties = before.map((property) =>
    isJsonObject(property) ? held.get(member(property, 'name')) : undefined,
  );
  return { ...Object.fromEntries(lists), properties };
}
