import { describe, expect, it } from 'vitest';
import { EncodingError } from '../../../src/model/storeferry-error.ts';
import { encoded } from '../../support/legacy-bytes.ts';
import { refusal } from './open-bytes.ts';

/** What a shop's file in an encoding may say, in the header and in a row. */
const TEXTS: readonly (readonly [encoding: string, language: string, text: string])[] = [
  ['windows-1252', 'German', 'Größe;Stückzahl\nKüchenmesser für Gemüse, weiß;3\nLöffel;5\n'],
  ['windows-1252', 'French', 'Référence;Quantité\nThéière émaillée, façon château;3\nGoût crème brûlée;1\n'],
  ['windows-1252', 'Spanish', 'Título;Descripción\nCafetera pequeña de aluminio, edición única;2\n'],
  ['windows-1252', 'Portuguese', 'Descrição;Preço\nCalção de algodão para crianças;9\n'],
  ['windows-1252', 'Danish', 'Størrelse;Længde\nRød grød med fløde på trædækket;4\n'],
  ['windows-1252', 'Swedish', 'Färg;Längd\nBlå kåpa för små flickor;4\n'],
  ['windows-1252', 'Icelandic', 'Stærð;Verð\nÞykk ullarpeysa með góðum kraga;4\n'],
  ['macintosh', 'German', 'Größe;Stückzahl\nKüchenmesser für Gemüse, weiß;3\nLöffel;5\n'],
  ['macintosh', 'French', 'Référence;Quantité\nThéière émaillée, façon château;3\n'],
  [
    'windows-1250',
    'Czech',
    'Název;Příliš\nŽluťoučký kůň úpěl ďábelské ódy;3\nHrníček na čaj, světle zelený;8\n',
  ],
  ['windows-1250', 'Slovak', 'Názov;Množstvo\nHrnček na čaj, svetložltý, veľký;8\nKôš na bielizeň;2\n'],
  ['windows-1250', 'Hungarian', 'Megnevezés;Készlet\nÁrvíztűrő tükörfúrógép;3\nKülönleges bögre;2\n'],
  ['windows-1250', 'Polish', 'Nazwa;Ilość\nKubek błękitny, duży, ręcznie malowany na żółto;3\nŚcierka;2\n'],
  [
    'iso-8859-2',
    'Polish',
    'Nazwa;Ilość\nKubek błękitny, duży, ręcznie malowany na żółto;3\nŚcierka źródlana;2\n',
  ],
  ['windows-1251', 'Russian', 'Название;Количество\nКружка синяя, большая, ручной работы;3\n'],
  ['windows-1251', 'Ukrainian', 'Назва;Кількість\nКухоль синій, великий, ручної роботи;3\n'],
  ['koi8-r', 'Russian', 'Название;Количество\nКружка синяя, большая, ручной работы;3\n'],
  ['windows-1253', 'Greek', 'Τίτλος;Ποσότητα\nΚούπα μπλε, μεγάλη, χειροποίητη;3\n'],
  [
    'windows-1254',
    'Turkish',
    'Ürün adı;Açıklama\nIşıklı gümüş yüzük, büyük boy, sarı taşlı;3\nŞişe açacağı;1\n',
  ],
  ['windows-1255', 'Hebrew', 'שם המוצר;תיאור\nספל כחול גדול בעבודת יד;3\nצלחת לבנה;2\n'],
  ['windows-1256', 'Arabic', 'اسم المنتج;الوصف\nكوب أزرق كبير مصنوع يدويا;3\n'],
  [
    'windows-1257',
    'Lithuanian',
    'Pavadinimas;Kiekis\nMėlynas didelis puodelis, rankų darbo, šviesių žiedų;3\n',
  ],
  ['windows-1257', 'Latvian', 'Nosaukums;Apraksts\nZilā krūze ar rokām darināta, liela, ļoti skaista;3\n'],
  [
    'shift_jis',
    'Japanese',
    `商品名,説明\nマグカップ,${'この青いマグカップは手作りで、毎日のお茶の時間にぴったりです。'.repeat(8)}\n`,
  ],
  [
    'euc-jp',
    'Japanese',
    `商品名,説明\nマグカップ,${'この青いマグカップは手作りで、毎日のお茶の時間にぴったりです。'.repeat(8)}\n`,
  ],
  [
    'big5',
    'Traditional Chinese',
    `商品名稱,說明\n藍色茶杯,${'這個藍色的茶杯是手工製作的適合每天喝茶的時候使用'.repeat(8)}\n`,
  ],
  [
    'gb18030',
    'Simplified Chinese',
    `商品名称,说明\n蓝色茶杯,${'这个蓝色的茶杯是手工制作的适合每天喝茶的时候使用'.repeat(8)}\n`,
  ],
  ['euc-kr', 'Korean', '상품명,설명\n파란 머그컵,손으로 만든 큰 컵입니다 매일 차를 마실 때 좋습니다\n'],
];

describe('the encodings suggested for a file that is not UTF-8', () => {
  it.each(TEXTS)(
    'begin with %s for %s, and show how a word reads in it',
    async (encoding, _language, text) => {
      const error = await refusal(encoded(text, encoding), { delimiter: text.includes(';') ? ';' : ',' });
      if (!(error instanceof EncodingError)) throw new Error(`expected an EncodingError: ${error.message}`);
      expect(error.candidates[0]).toBe(encoding);
      const word = error.words.get(encoding) ?? '';
      expect(text).toContain(word);
      expect([...word].length).toBeGreaterThan(1);
      expect(error.message).toContain(`${encoding} (there it reads ${word})`);
    },
  );

  it.each(
    TEXTS.filter(([encoding]) => ['big5', 'shift_jis', 'gb18030', 'euc-jp', 'euc-kr'].includes(encoding)),
  )('include %s wherever a long text of it is cut', async (encoding, _language, text) => {
    const bytes = encoded(text, encoding);
    for (let length = 20; length < 60; length++) {
      const row = Buffer.concat([
        bytes.subarray(0, bytes.indexOf(0x0a) + 1),
        encoded('x'.repeat(length), encoding),
        bytes,
      ]);
      const error = await refusal(row, { delimiter: ',' });
      expect(error instanceof EncodingError && error.candidates).toContain(encoding);
    }
  });

  it('show the same word in each, and none of the bytes around it', async () => {
    const error = await refusal(encoded('Name;Stadt\nJörg Müller;Köln\n', 'windows-1252'), {
      delimiter: ';',
    });
    if (!(error instanceof EncodingError)) throw new Error(error.message);
    expect(error.words.get('windows-1252')).toBe('Jörg');
    expect(error.words.get('windows-1251')).toBe('Jцrg');
  });
});
