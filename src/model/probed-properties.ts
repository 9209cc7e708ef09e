import { z } from 'zod';
import type { Stored } from './json-object.ts';

/** A property in words; null where it could not be learned. */
const property = <Value extends z.ZodType>(words: string, value: Value) =>
  value.nullable().default(null).describe(words);
const flag = (words: string) => property(words, z.boolean());

/**
 * What a store does where the API document (storefront-api.md) leaves it open, and which endpoints it has beyond it, in the order of the
 * report.
 */
export const probedProperties = z.object({
  readsProducts: flag('lists products, and reads one by its id'),
  readsContacts: flag('lists contacts'),
  readsSingleContacts: flag('reads a contact by its id'),
  readsCategories: flag('lists categories'),
  readsOrdersSince: flag('lists orders from a time on'),
  searchesContactsByEmail: flag('finds a contact by its e-mail address'),
  upsertsContactsByEmail: flag('updates a contact by its e-mail address'),
  updatesProductById: flag('updates single fields of a product by its id'),
  absentFieldsStay: flag('keeps the fields that an update of a product does not have'),
  advancedKeepsVariantPrices: flag('keeps prices of variants where an option is `advanced`'),
  plainKeepsVariantPrices: flag('keeps prices of variants where no option is `advanced`'),
  nullQuantity: flag('takes `quantity: null` for stock that is not tracked'),
  categoryForm: property('form of categories that is kept', z.enum(['objects', 'ids', 'both'])),
  emptyListClears: flag('empties a list of a contact by `[]`'),
  /** The update is `{url, title}`. */
  partialProductAnswersWhole: flag('answers an update of a part with the whole product'),
  /** `email`: not `PUT {}`, but that of `{"email": ""}`. */
  emptyContactPutAnswersWhole: property(
    'answers an update of nothing with the whole contact',
    z.union([z.boolean(), z.literal('email')]),
  ),
  htmlAltered: flag('alters the HTML of descriptions'),
  pricesAltered: flag('alters prices'),
  idSurvivesRecreation: flag('gives a product that is made again its old id'),
  unknownDeleteStatus: property('status for the delete of a product that is gone', z.int()),
  /** False: all, whatever `limit` says. */
  listPageLimit: property('subscriber lists per page', z.union([z.int(), z.literal(false)])),
  retryAfterOn503: flag('sends `Retry-After` with 503'),
});
export type ProbedProperties = Stored<typeof probedProperties>;

/** The name of a property. */
export type PropertyName = keyof ProbedProperties;
