import { isJsonObject, type JsonObject, member } from '../../plan/json-value.ts';
import { changedFields } from '../../storefront/storefront.ts';

/** The fields of a sent body that the parsed answer repeats with another value. */
export function alteredFields(body: string, answer: unknown): string[] {
  const sent: unknown = JSON.parse(body);
  if (!isJsonObject(sent) || !isJsonObject(answer)) return [];
  return changedFields(sent, { ...answer, ...arranged(sent, answer) });
}

/** Lists of a contact in the order in which they were sent: a store may sort them, and has more properties than were sent. */
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
