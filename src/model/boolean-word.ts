/** What spreadsheets write for TRUE, in the languages in which they are sold; in lower case. */
export const TRUE_WORDS: ReadonlySet<string> = new Set(
  'true wahr vrai verdadero vero verdadeiro waar prawda истина pravda sant sand tosi igaz doğru adevărat αληθής'.split(
    ' ',
  ),
);

/** What a spreadsheet writes for FALSE, likewise. */
export const FALSE_WORDS: ReadonlySet<string> = new Set(
  'false falsch faux falso onwaar fałsz ложь nepravda falskt falsk usant epätosi hamis yanlış fals ψευδής'.split(
    ' ',
  ),
);

/** How a word is compared with those for yes and no. */
export function booleanWord(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

const ERRORS: ReadonlySet<string> = new Set(
  [
    // The first is ours: a formula whose file holds no result.
    '#FORMULA!',
    'NaN #ERROR! #FEHLER! #ERREUR! #ERRO! #FOUT! #N/A #VALUE! #REF! #NAME? #DIV/0! #NUM! #NULL! #SPILL! #CALC! #FIELD! #BLOCKED! #CONNECT! #GETTING_DATA',
    '#NV #WERT! #BEZUG! #ZAHL! #ÜBERLAUF! #N/D #VALEUR! #NOM? #NOMBRE! #NUL! #PROPAGATION! #¡VALOR! #¡REF!',
    '#¿NOMBRE? #¡DIV/0! #¡NUM! #¡NULO! #¡DESBORDAMIENTO! #VALORE! #RIF! #NOME? #VALOR! #NÚM! #NULO! #WAARDE!',
    '#VERW! #NAAM? #DEEL/0! #GETAL! #LEEG! #N/B #ARG! #ADR! #NAZWA? #DZIEL/0! #LICZBA! #ZERO! #N/D! #BRAK',
    '#Н/Д #ЗНАЧ! #ССЫЛКА! #ИМЯ? #ДЕЛ/0! #ЧИСЛО! #ПУСТО! #VÄRDEFEL! #REFERENS! #NAMN? #DIVISION/0! #SAKNAS! #YOK',
    '#DEĞER! #BAŞV! #AD? #SAYI/0! #SAYI! #BOŞ! #HODNOTA! #ODKAZ! #NÁZEV? #DĚLENÍ_NULOU! #ČÍSLO! #ÉRTÉK! #HIV! #NÉV?',
  ]
    .join(' ')
    .split(' '),
);

/** Whether a cell has the error of a spreadsheet or a program, which is not a value of any column. */
export function isErrorValue(text: string): boolean {
  return ERRORS.has(text) || /^(?:#{3,}|Err:5[0-9]{2})$/.test(text);
}
