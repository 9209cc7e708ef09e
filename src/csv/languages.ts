/**
 * The lower-case letters of a language beyond ASCII, most frequent first. They distinguish encodings: bytes that are
 * Czech in one encoding are a mixture of Danish, French and Italian in another.
 */
export interface Language {
  readonly letters: string;
  readonly script: RegExp;
  /** Less than 1 for less common languages that share letters with common ones. */
  readonly share: number;
}

const LATIN = /\p{Script=Latin}/u;

function latin(letters: string, share = 0.95): Language {
  return { letters, script: LATIN, share };
}

/** Of two encodings that fit a word equally well, the western one is likelier. */
const WESTERN: readonly Language[] = [
  latin('üäöß', 1),
  latin('éèàêçôîùûâïëœ', 1),
  latin('óíáéñúü', 1),
  latin('ãçéáõíóêúâàô', 1),
  latin('èàùòìé', 1),
  latin('äåöé', 1),
  latin('åøæéö', 1),
  latin('ëéïöüè', 1),
  latin('íáðéóúýþæö', 0.9),
];

const CENTRAL: readonly Language[] = [
  latin('íáěéšřčžýůúťóňď'),
  latin('áíéčšýžúťôňľóäďĺŕ'),
  latin('łąężśóćńź'),
  latin('áéöóőíüúű'),
  latin('čšžćđ'),
  latin('ăîşţâ', 0.9),
];

const CYRILLIC = /\p{Script=Cyrillic}/u;

/** The languages of each single-byte encoding. */
export const LANGUAGES: ReadonlyMap<string, readonly Language[]> = new Map([
  ['windows-1252', WESTERN],
  ['macintosh', WESTERN],
  ['windows-1250', CENTRAL],
  ['iso-8859-2', CENTRAL],
  [
    'windows-1251',
    [
      { letters: 'оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфёъ', script: CYRILLIC, share: 1 },
      { letters: 'оаинвітеркслумдпяьзйбгчхюжцшїфщєґ', script: CYRILLIC, share: 1 },
      { letters: 'аоиенјртусвклдпмзбгшњжчћљхцђџф', script: CYRILLIC, share: 1 },
    ],
  ],
  ['koi8-r', [{ letters: 'оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфёъ', script: CYRILLIC, share: 1 }]],
  [
    'windows-1253',
    [{ letters: 'αοιτεσνηυρπκμλςίόάγήέδωχθύφώβξζψϊϋΐΰ', script: /\p{Script=Greek}/u, share: 1 }],
  ],
  ['windows-1254', [{ ...latin('ıüşçöğâîû'), letters: 'ıüşçöği̇âîû' }]],
  ['windows-1255', [{ letters: 'יוהלארתבמםשנכדעקןחפטגסזצךץף', script: /\p{Script=Hebrew}/u, share: 1 }]],
  [
    'windows-1256',
    [
      { letters: 'اليمنرتبوةعدفسكهحقجشطصخضذأىزثغظءئإؤآ', script: /\p{Script=Arabic}/u, share: 1 },
      { letters: 'ايرندهمتوبسشزلكگقفجخعحصپچطضغثظذژئآ', script: /\p{Script=Arabic}/u, share: 1 },
    ],
  ],
  ['windows-1257', [latin('ėžšųįūčąę'), latin('āīēšūņļžčķģ'), latin('äõüöšž', 0.9)]],
]);

/** The length of the character that begins with these bytes, and how common it is, in a multi-byte encoding. */
export type UsualPair = (lead: number, trail: number) => { readonly length: number; readonly worth: number };

const KANA = 1.8;
const COMMON = 1.2;
const SIGN = 0.2;
const SELDOM = -0.3;
const RARE = -1;

const pair = (worth: number) => ({ length: 2, worth });
const within = (byte: number, from: number, to: number) => byte >= from && byte <= to;

/**
 * Double-byte encodings put their most common characters first: the position of a character in the table shows how likely
 * it is.
 */
export const PAIRS: ReadonlyMap<string, UsualPair> = new Map<string, UsualPair>([
  [
    'shift_jis',
    (lead) => {
      if (within(lead, 0xa1, 0xdf)) return { length: 1, worth: SELDOM };
      if (lead === 0x82 || lead === 0x83) return pair(KANA);
      if (lead === 0x81) return pair(SIGN);
      return pair(within(lead, 0x88, 0x97) ? COMMON : within(lead, 0xf0, 0xfc) ? -3 : SELDOM);
    },
  ],
  [
    'euc-jp',
    (lead) => {
      if (lead === 0x8f) return { length: 3, worth: RARE };
      if (lead === 0x8e) return pair(SELDOM);
      if (lead === 0xa4 || lead === 0xa5) return pair(KANA);
      if (lead === 0xa1 || lead === 0xa3) return pair(SIGN);
      return pair(within(lead, 0xb0, 0xcf) ? COMMON : SELDOM);
    },
  ],
  [
    'euc-kr',
    (lead, trail) => {
      if (trail < 0xa1 || lead < 0xa1) return pair(RARE);
      if (within(lead, 0xb0, 0xc8)) return pair(COMMON + 0.2);
      return pair(within(lead, 0xa1, 0xa3) ? SIGN : RARE);
    },
  ],
  [
    'gb18030',
    (lead, trail) => {
      if (within(trail, 0x30, 0x39)) return { length: 4, worth: RARE };
      if (trail < 0xa1 || lead < 0xa1) return pair(RARE);
      if (within(lead, 0xb0, 0xd7)) return pair(COMMON);
      return pair(within(lead, 0xa1, 0xa3) ? SIGN : within(lead, 0xd8, 0xf7) ? SELDOM : RARE);
    },
  ],
  [
    'big5',
    (lead) => {
      if (within(lead, 0xa4, 0xc6)) return pair(COMMON);
      return pair(within(lead, 0xa1, 0xa3) ? SIGN : within(lead, 0xc9, 0xf9) ? SELDOM : RARE);
    },
  ],
]);
