/** The delimiters that are detected, by name, most likely first. A job must name any other. */
export const DELIMITERS = { comma: ',', semicolon: ';', tab: '\t', pipe: '|' } as const;

/** Their characters. */
export const DELIMITER_CHARACTERS: readonly string[] = Object.values(DELIMITERS);

/** The name of a delimiter; undefined for one without a name. */
export function delimiterName(character: string): string | undefined {
  return Object.entries(DELIMITERS).find(([, known]) => known === character)?.[0];
}
