import { describe, expect, it } from 'vitest';
import { proposeMapping } from '../../../src/onboarding/guess/propose-mapping.ts';
import { guessed } from './guess-setup.ts';

describe('a file of products', () => {
  it.each([
    ['Swedish', 'Art.nr;Namn;Pris;Reapris;Lagersaldo;Vikt (g);Varugrupp;Dold', 'Nej', 'Ja'],
    ['Danish', 'Varenr.;Varenavn;Salgspris;Tilbudspris;Beholdning;Vægt (g);Varegruppe;Skjult', 'Nej', 'Ja'],
    ['Norwegian', 'Varenummer;Navn;Pris;Kampanjepris;Lager;Vekt (g);Kategori;Skjult', 'Nei', 'Ja'],
    ['Finnish', 'Tuotekoodi;Nimi;Hinta;Tarjoushinta;Varasto;Paino (g);Tuoteryhmä;Piilotettu', 'Ei', 'Kyllä'],
    ['Greek', 'Κωδικός;Όνομα;Τιμή;Τιμή προσφοράς;Απόθεμα;Βάρος (g);Κατηγορία;Κρυφό', 'Όχι', 'Ναι'],
    ['Ukrainian', 'Артикул;Назва;Ціна;Ціна зі знижкою;Залишок;Вага (g);Категорія;Прихований', 'Ні', 'Так'],
  ])('in %s is understood', async (_, header, no, yes) => {
    const rows = `A1;Mug;10,00;8,00;5;300;Home;${no}\nB2;Jug;20,00;;0;800;Home;${yes}`;
    expect(
      await guessed(`${header}\n${rows}`, ({ title, hidden, categories, variants: [one] }) =>
        [title, hidden, categories?.length, one?.sku, one?.price, one?.quantity, one?.weight].join(' '),
      ),
    ).toEqual(['Mug false 1 A1 8 5 0.3', 'Jug true 1 B2 20 0 0.8']);
  });
});

describe('a file of contacts', () => {
  it.each([
    ['Swedish', 'E-post;Förnamn;Efternamn;Mobil;Adress;Postnr;Ort;Nyhetsbrev;Avregistrerad', 'nej', 'ja'],
    ['Danish', 'E-mail;Fornavn;Efternavn;Mobil;Adresse;Postnr.;By;Nyhedsbrev;Afmeldt', 'nej', 'ja'],
    ['Norwegian', 'E-post;Fornavn;Etternavn;Mobil;Adresse;Postnr;Poststed;Nyhetsbrev;Avmeldt', 'nei', 'ja'],
    [
      'Finnish',
      'Sähköposti;Etunimi;Sukunimi;Puhelin;Osoite;Postinumero;Kaupunki;Uutiskirje;Markkinointikielto',
      'ei',
      'kyllä',
    ],
    ['Greek', 'Email;Όνομα;Επώνυμο;Κινητό;Διεύθυνση;ΤΚ;Πόλη;Newsletter;Διαγραμμένος', 'όχι', 'ναι'],
    ['Ukrainian', "Пошта;Ім'я;Прізвище;Телефон;Адреса;Індекс;Місто;Розсилка;Відписаний", 'ні', 'так'],
  ])('in %s is understood, and asked about who is unsubscribed', (_, header, no, yes) => {
    const rows = [
      ['a@x.example', 'Ada', 'Low', '+46 8 123456', 'Gata 1', '11122', 'Stockholm', yes, no],
      ['b@x.example', 'Bo', 'Ray', '', '', '', '', yes, yes],
    ];
    const file = { header: header.split(';'), rows };
    const { columns, questions } = proposeMapping('contacts', file);
    expect(questions.map(({ id }) => id)).toEqual([`unused.${file.header.at(-1)}`]);
    const used = columns.flatMap(({ field }) => (field === null ? [] : [field]));
    expect(used.map((field) => field.replace('mobile', 'phone'))).toEqual([
      'email',
      'firstName',
      'lastName',
      'phone',
      'address',
      'zip',
      'city',
      'subscribed',
    ]);
  });
});
