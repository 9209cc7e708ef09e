import { type Step, textStep } from './transform.ts';

/** Blank texts count as nothing. */
export function textOrBlank(text: string): string | undefined {
  return text === '' ? undefined : text;
}

/** Takes off white space at both ends. */
export const trim: Step = textStep((text) => textOrBlank(text.trim()));

/** Makes one blank of all white space in a row. */
export const squeeze: Step = textStep((text) => textOrBlank(text.replaceAll(/\s+/g, ' ').trim()));

/** Makes all letters small. */
export const lower: Step = textStep((text) => text.toLowerCase());

/** Makes all letters capital. */
export const upper: Step = textStep((text) => text.toUpperCase());

/** Takes off what spreadsheets put on to keep a text a text: a leading apostrophe, quotes around it, `="…"`. */
export const unquote: Step = textStep((text) => {
  const formula = text.startsWith('="') && text.endsWith('"') ? text.slice(1) : text;
  const bare = formula.startsWith("'") ? formula.slice(1) : formula;
  const quoted = bare.length > 1 && bare.startsWith('"') && bare.endsWith('"');
  return textOrBlank((quoted ? bare.slice(1, -1) : bare).trim());
});

/** Removes any of these characters from both ends. */
export function trimCharacters(characters: string): Step {
  const set = new Set(characters);
  return textStep((text) => {
    const all = [...text];
    const from = all.findIndex((character) => !set.has(character));
    const to = all.findLastIndex((character) => !set.has(character));
    return from < 0
      ? undefined
      : textOrBlank(
          all
            .slice(from, to + 1)
            .join('')
            .trim(),
        );
  });
}

/** The first so many characters (code points). */
export function start(length: number): Step {
  return textStep((text) => textOrBlank([...text.slice(0, length * 2)].slice(0, length).join('').trim()));
}
