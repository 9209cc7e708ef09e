import type { WritingStorefront } from '../apply/apply-operations.ts';
import { isJsonObject, member, plainText, sumOf } from '../model/json-object.ts';
import { answeredDifferences } from '../model/operation.ts';
import type { AnswerDifferences, AnsweredField } from '../model/run.ts';
import type { SendOptions, Storefront } from '../storefront/storefront.ts';
import { truncate } from '../text/printable.ts';

const SAMPLES_KEPT = 3;
const SAMPLE_LENGTH = 60;
/** Contacts may have any number of custom fields: those beyond this many are counted under one name. */
const MAX_FIELDS = 50;
const OTHER_FIELDS = 'other fields';

/** What the answers that a process got have shown. */
export type AnswerTally = ReturnType<typeof answerTally>;

/** How the answers of the store to upserts differ from what was sent, over all answers of a process. */
export function answerTally() {
  const totals = { answered: 0, compared: 0, altered: 0 };
  const byField = new Map<
    string,
    { altered: number; dropped: number; respelled: number; samples: AnsweredField['samples'] }
  >();
  return {
    /** Counts the answer to an upsert. `keepValues`: keeps a few values as samples; those of contacts are personal data. */
    add(key: string, body: string, answer: unknown, { keepValues }: { readonly keepValues: boolean }): void {
      const { compared, ...differing } = answeredDifferences(body, answer);
      totals.answered++;
      if (!compared) return;
      totals.compared++;
      if (differing.altered.length + differing.dropped.length > 0) totals.altered++;
      for (const kind of ['altered', 'respelled', 'dropped'] as const) {
        for (const field of differing[kind]) {
          const name = byField.has(field) || byField.size < MAX_FIELDS ? field : OTHER_FIELDS;
          const counts = byField.get(name) ?? { altered: 0, dropped: 0, respelled: 0, samples: [] };
          byField.set(name, counts);
          counts[kind]++;
          if (counts.samples.length >= SAMPLES_KEPT) continue;
          const values =
            keepValues && kind !== 'dropped'
              ? { sent: valueText(JSON.parse(body), field), answered: valueText(answer, field) }
              : {};
          counts.samples = [...counts.samples, { key, ...values }];
        }
      }
    },
    /** The fields that differ, most frequent first. */
    summary: () =>
      mergeAnswers([{ ...totals, fields: [...byField].map(([field, counts]) => ({ field, ...counts })) }]),
  };
}

/** What several processes have found, most frequent first. */
export function mergeAnswers(found: readonly AnswerDifferences[]): AnswerDifferences {
  const byField = Map.groupBy(
    found.flatMap(({ fields }) => fields),
    ({ field }) => field,
  );
  const fields = [...byField].map(([field, parts]) => {
    const respelled = sumOf(parts, (part) => part.respelled ?? 0);
    return {
      field,
      altered: sumOf(parts, ({ altered }) => altered),
      dropped: sumOf(parts, ({ dropped }) => dropped),
      ...(respelled > 0 && { respelled }),
      samples: parts.flatMap(({ samples }) => samples).slice(0, SAMPLES_KEPT),
    };
  });
  return {
    answered: sumOf(found, ({ answered }) => answered),
    compared: sumOf(found, ({ compared }) => compared),
    altered: sumOf(found, ({ altered }) => altered),
    fields: fields.sort((one, other) => answersWith(other) - answersWith(one)),
  };
}

/** In how many answers a field differs in any way. */
function answersWith({ altered, dropped, respelled = 0 }: AnsweredField) {
  return altered + dropped + respelled;
}

/** The storefront; `onAnswer` is called with each sent body of a product or contact and the answer that acknowledged it. */
export function withAnswerListener(
  storefront: WritingStorefront & Pick<Storefront, 'subscriberLists'>,
  onAnswer: (key: string, body: string, answer: unknown) => void,
): WritingStorefront & Pick<Storefront, 'subscriberLists'> {
  const listening = (key: string, body: string, options: SendOptions): SendOptions => ({
    ...options,
    onAnswer(answer) {
      onAnswer(key, body, answer);
      options.onAnswer?.(answer);
    },
  });
  return {
    ...storefront,
    upsertProduct: (product, options) =>
      storefront.upsertProduct(product, listening(product.url, product.body, options)),
    updateProduct: (id, product, options) =>
      storefront.updateProduct(id, product, listening(product.url, product.body, options)),
    updateContact: (id, body, options) => storefront.updateContact(id, body, listening(id, body, options)),
    upsertContact: (key, body, options) => storefront.upsertContact(key, body, listening(key, body, options)),
  };
}

/** The value of a top-level field, or of its member that a path names: of `variants.price` the prices of all variants. */
export function valueAt(value: unknown, path: string): unknown {
  const [, name] = path.split('.', 2);
  if (name === undefined || !Array.isArray(value)) return value;
  return value.map((one: unknown) => (isJsonObject(one) ? (member(one, name) ?? null) : null));
}

function valueText(body: unknown, path: string) {
  const [field = ''] = path.split('.', 1);
  const value = isJsonObject(body) ? member(body, field) : undefined;
  return truncate(plainText(valueAt(value, path)), SAMPLE_LENGTH);
}
