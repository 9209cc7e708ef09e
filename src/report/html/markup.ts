import { escapeUTF8 } from 'entities';

/** HTML that is safe to show as it is: made by `html` only, or vouched for by `trusted`. */
export class Markup {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** What may stand in a template: text is escaped; what is absent or false leaves nothing. */
export type Slot = Markup | string | number | null | undefined | false | readonly Slot[];

/**
 * A piece of HTML: everything from outside goes through a slot and is escaped there, as text and within quoted
 * attributes alike, so that nothing from a catalog can become an element. Slots stand in text or in quoted attributes only.
 */
export function html(parts: TemplateStringsArray, ...slots: readonly Slot[]): Markup {
  let text = parts[0] ?? '';
  for (const [index, slot] of slots.entries()) text += rendered(slot) + (parts[index + 1] ?? '');
  return new Markup(text);
}

/** Vouches for HTML that was not made by `html`: a drawing of the plot library, a stylesheet of our own. */
export function trusted(text: string): Markup {
  return new Markup(text);
}

function rendered(slot: Slot): string {
  if (slot instanceof Markup) return slot.toString();
  if (slot === null || slot === undefined || slot === false) return '';
  if (typeof slot === 'object') return slot.map(rendered).join('');
  return escapeUTF8(String(slot));
}
