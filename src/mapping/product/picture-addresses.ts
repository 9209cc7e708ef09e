import type { Scope } from '../scope.ts';

/** The address that the picture file of a name is published at, or why there is none, as a note; undefined for other addresses. */
export type FindPicture = (
  written: string,
) => { readonly address: string } | { readonly note: string } | undefined;

/** A second address directly after a letter, digit, `_` or `)`; after `/` or `=` it is a part of the first. */
const RUN_TOGETHER = /[\p{L}\p{N}_)]https?:\/\//iu;

/** Whether a text is one address, which may have blanks. */
export function isAddress(text: string): boolean {
  return (
    /^https?:\/\/[^\s/]/i.test(text) &&
    // After the first `://` nearly no address has another one.
    (text.indexOf('://', 'https'.length + 1) < 0 || !RUN_TOGETHER.test(text))
  );
}

/** Advice on params that could complete incomplete addresses: those of the images that have no http address yet; or nothing. */
export function adviceOnBases({ params }: Scope, written: string): string {
  const names = [...params].flatMap(([name, value]) =>
    written.includes(`{${name}}`) && !isAddress(String(value)) ? [`${name} to https://…`] : [],
  );
  return names.length === 0 ? '' : `; set ${names.join(' and ')} in the job (params)`;
}

/** Separators between two addresses of one cell. Within an address, a second one follows no blank or separator. */
const BETWEEN_ADDRESSES = /(?<![\s,;|])[\s,;|]+(?=(?:https?:)?\/\/|$)/i;
/** A text without any of them, as nearly all are. */
const ONE_WORD = /^[^\s,;|]+$/;

/** Image addresses, without other texts, and whether picture files are missing. `//host/…` means https; blanks within an address are encoded. */
export function pictureAddresses(
  written: readonly string[],
  notes: string[],
  advice: string,
  findPicture: FindPicture | undefined,
): { readonly usable: readonly string[]; readonly lacksPictures: boolean } {
  const kept = new Set<string>();
  let lacksPictures = false;
  const apart = written.every((text) => ONE_WORD.test(text))
    ? written
    : written.flatMap((text) => text.split(BETWEEN_ADDRESSES).filter((one) => one !== ''));
  if (apart.length > written.length) notes.push('images: several addresses in one cell, split');
  for (const text of apart) {
    const whole = text.startsWith('//') ? `https:${text}` : text;
    const address = whole.replaceAll(/[ \u00a0]/g, '%20');
    const found =
      findPicture === undefined ? [] : picturesNamed(isAddress(address) ? address : text, findPicture);
    for (const picture of found) {
      if ('address' in picture) kept.add(picture.address);
      else {
        notes.push(picture.note);
        lacksPictures = true;
      }
    }
    if (found.length > 0) continue;
    if (isAddress(address)) kept.add(address);
    else notes.push(`images: not an http address, left out${advice}`);
  }
  return { usable: [...kept], lacksPictures };
}

/** A name may have any character: only where there is no such file, they separate several names. */
function picturesNamed(text: string, find: FindPicture): readonly NonNullable<ReturnType<FindPicture>>[] {
  const whole = find(text);
  if (whole === undefined) return [];
  const names = text.split(/[,;|\n]/).flatMap((name) => name.trim() || []);
  return 'address' in whole || names.length < 2 ? [whole] : names.flatMap((name) => find(name) ?? []);
}

/** A text without the indentation and line breaks of its file, as a title or the name of a category is. */
export function onOneLine(text: string): string {
  return text.replaceAll(/(?<!\s)\s+/g, (space) => (/[\r\n\t]/.test(space) ? ' ' : space)).trim();
}
