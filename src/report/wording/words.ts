import type { Resource } from '../../model/mapped-record.ts';
import type { Run } from '../../model/run.ts';

/** `12,345`: thousands grouped, alike on every machine. */
export function grouped(figure: number): string {
  return figure.toLocaleString('en');
}

/** `1 record`, `2 records`, `1,200 copies`: a plural that is not made with s is given. */
export function counted(figure: number, one: string, many = `${one}s`): string {
  return `${grouped(figure)} ${figure === 1 ? one : many}`;
}

/** `a`, `a and b`, `a, b and c`. */
export function listed(parts: readonly string[]): string {
  if (parts.length <= 1) return parts.join('');
  return `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}

/** The same with a capital letter first. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** What a record, or an item of an export, is called. */
export function thing(resource: Run['resource']): 'product' | 'contact' | 'order' | 'list' {
  switch (resource) {
    case 'products':
      return 'product';
    case 'contacts':
      return 'contact';
    case 'orders':
      return 'order';
    case 'subscriber-lists':
      return 'list';
    default:
      return resource satisfies never;
  }
}

/** `was` for one, `were` for all other figures. */
export function were(figure: number): 'was' | 'were' {
  return figure === 1 ? 'was' : 'were';
}

/** What a record is called that the ledger does not know: the API creates products, and no contacts. */
export function newWord(resource: Resource): string {
  return resource === 'products' ? 'new' : 'not sent before';
}
