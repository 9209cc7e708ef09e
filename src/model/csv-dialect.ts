import { z } from 'zod';
import { DELIMITERS } from './delimiters.ts';

const ENCODING_EXPECTED = 'expected an encoding such as utf-8, utf-16le, windows-1252 or shift_jis';

/** A charset under any label it goes by; gives its WHATWG name. */
export const encodingSchema = z.string(ENCODING_EXPECTED).transform((label, context) => {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    context.addIssue({ code: 'custom', message: ENCODING_EXPECTED });
    return z.NEVER;
  }
});

/** A delimiter by name or as the character; gives the character. */
export const delimiterSchema = z
  .enum(
    [',', ';', '|', '\t', 'comma', 'semicolon', 'tab', 'pipe'],
    'expected comma, semicolon, tab or pipe, by name or as the character',
  )
  .transform((written) =>
    written === 'comma' || written === 'semicolon' || written === 'tab' || written === 'pipe'
      ? DELIMITERS[written]
      : written,
  );
