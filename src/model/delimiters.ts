/** What separates the columns of a file, by the name it goes by; the likeliest first. Others must be told. */
export const DELIMITERS = { comma: ',', semicolon: ';', tab: '\t', pipe: '|' } as const;

/** Their characters. */
export const DELIMITER_CHARACTERS: readonly string[] = Object.values(DELIMITERS);

/** The name of a delimiter; undefined for one without a name. */
export function delimiterName(character: string): string | undefined {
  return Object.entries(DELIMITERS).find(([, known]) => known === character)?.[0];
}
