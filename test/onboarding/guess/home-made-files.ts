import { encoded } from '../../support/legacy-bytes.ts';
import { makeOds, makeXlsx } from '../../tables/workbooks.ts';

/** A file as a shop or its supplier makes it, and what must be sent for it. */
export interface HomeMadeFile {
  readonly name: string;
  readonly bytes: Buffer;
  /** Options of `init` beside --yes: each is an edit that the file needs. */
  readonly edits: readonly string[];
  /** What init must ask where no edit is made. */
  readonly asks?: readonly string[];
  /** The request bodies, by hand; without type, which is physical for all. */
  readonly sends: readonly Readonly<Record<string, unknown>>[];
}

/** A product with one variant. */
function one(fields: Readonly<Record<string, unknown>>, variant: Readonly<Record<string, unknown>>) {
  return { ...fields, options: [], variants: [{ options: [], ...variant }] };
}

/** A price without a sale. */
function price(amount: number) {
  return { price: amount, onSale: false, regularPrice: amount };
}

function sale(amount: number, before: number) {
  return { price: amount, onSale: true, regularPrice: before, salePrice: amount };
}

const category = (name: string, url: string) => [{ name, url, parentCategory: 0 }];
const csv = (text: string) => Buffer.from(text, 'utf8');

/** Suppliers' lists and shops' own tables, in the languages and habits that are met. */
export const HOME_MADE_FILES: readonly HomeMadeFile[] = [
  {
    name: 'german-shop.csv',
    edits: [],
    bytes: csv(
      'Name;Preis;Lager;Bild;Beschreibung\nBlaue Tasse;12,90;5;https://img.example/a.jpg;Eine Tasse.\nRote Tasse;1.012,90;ausverkauft;https://img.example/b.jpg|https://img.example/c.jpg;<p>Rot</p>\nDose;3;auf Lager;;\n',
    ),
    sends: [
      one(
        {
          title: 'Blaue Tasse',
          description: 'Eine Tasse.',
          url: 'blaue-tasse',
          images: ['https://img.example/a.jpg'],
        },
        { ...price(12.9), quantity: 5 },
      ),
      one(
        {
          title: 'Rote Tasse',
          description: '<p>Rot</p>',
          url: 'rote-tasse',
          images: ['https://img.example/b.jpg', 'https://img.example/c.jpg'],
        },
        { ...price(1012.9), quantity: 0 },
      ),
      one({ title: 'Dose', url: 'dose' }, price(3)),
    ],
  },
  {
    name: 'german-supplier.csv',
    edits: [],
    bytes: encoded(
      'Art.-Nr.;EAN;Artikelbezeichnung;VK-Preis in €;UVP;EK netto;Verfügbarkeit;Gewicht (g);Warengruppe;Hersteller\n' +
        '00123;4006381333931;Füller "Öko";8,99 €;10,99 €;4,10 €;sofort lieferbar;25;Büro > Stifte;Muster\n' +
        '00124;4006381333948;Mäppchen groß;1.249,00 €;1.249,00 €;600,00 €;vergriffen;1250;Büro > Etuis;Muster\n',
      'windows-1252',
    ),
    sends: [
      one(
        { title: 'Füller "Öko"', url: '00123', categories: category('Stifte', 'stifte') },
        { ...sale(8.99, 10.99), sku: '00123', weight: 0.025 },
      ),
      one(
        { title: 'Mäppchen groß', url: '00124', categories: category('Etuis', 'etuis') },
        { ...price(1249), quantity: 0, sku: '00124', weight: 1.25 },
      ),
    ],
  },
  {
    name: 'romanian-list.csv',
    edits: [],
    bytes: csv(
      'Cod produs;Denumire produs;Preț de vânzare (lei);Preț vechi;Preț de achiziție;Stoc;Categorie;Producător\n' +
        'R-1;Cană albastră;49,90;59,90;20,00;12;Căni;Exemplu\n' +
        'R-2;Ceainic;1.249,00;;600,00;stoc epuizat;Ceainice;Exemplu\n',
    ),
    sends: [
      one(
        { title: 'Cană albastră', url: 'r-1', categories: category('Căni', 'cani') },
        { ...sale(49.9, 59.9), quantity: 12, sku: 'R-1' },
      ),
      one(
        { title: 'Ceainic', url: 'r-2', categories: category('Ceainice', 'ceainice') },
        { ...price(1249), quantity: 0, sku: 'R-2' },
      ),
    ],
  },
  {
    name: 'hungarian-list.csv',
    edits: [],
    bytes: encoded(
      'Cikkszám;Megnevezés;Bruttó ár (Ft);Beszerzési ár (Ft);Készlet;Kategória;Gyártó;Látható\n' +
        'H-1;Kék bögre;4 990;3 929;12 db;Bögrék;Példa;igen\n' +
        'H-2;Teáskanna;12 490;9 835;0 db;Kannák;Példa;nem\n',
      'windows-1250',
    ),
    sends: [
      one(
        { title: 'Kék bögre', url: 'h-1', hidden: false, categories: category('Bögrék', 'bogrek') },
        { ...price(4990), quantity: 12, sku: 'H-1' },
      ),
      one(
        { title: 'Teáskanna', url: 'h-2', hidden: true, categories: category('Kannák', 'kannak') },
        { ...price(12490), quantity: 0, sku: 'H-2' },
      ),
    ],
  },
  {
    name: 'slovak-list.csv',
    edits: [],
    bytes: csv(
      'Kód tovaru;Názov tovaru;Predajná cena s DPH;Pôvodná cena;Nákupná cena;Dostupnosť;Hmotnosť (g);Výrobca\n' +
        'S-1;Modrý hrnček;8,99 €;10,99 €;4,10 €;skladom;250;Vzor\n' +
        'S-2;Čajník;1 249,00 €;;600,00 €;vypredané;1250;Vzor\n',
    ),
    sends: [
      one({ title: 'Modrý hrnček', url: 's-1' }, { ...sale(8.99, 10.99), sku: 'S-1', weight: 0.25 }),
      one({ title: 'Čajník', url: 's-2' }, { ...price(1249), quantity: 0, sku: 'S-2', weight: 1.25 }),
    ],
  },
  {
    name: 'english-stock.csv',
    edits: [],
    bytes: csv(
      'SKU,Product Name,Price (GBP),RRP,Cost Price,Qty,Photo URLs,Active,Weight\n' +
        'MUG-1,"Mug, blue","£1,299.00","£1,499.00",£700.00,10+,"https://img.example/1.jpg, https://img.example/2.jpg",Yes,0.35kg\n' +
        'MUG-2,Mug red,£9.50,,£4.00,0,https://img.example/3.jpg,No,350g\n',
    ),
    sends: [
      one(
        {
          title: 'Mug, blue',
          url: 'mug-1',
          hidden: false,
          images: ['https://img.example/1.jpg', 'https://img.example/2.jpg'],
        },
        { ...sale(1299, 1499), quantity: 10, sku: 'MUG-1', weight: 0.35 },
      ),
      one(
        { title: 'Mug red', url: 'mug-2', hidden: true, images: ['https://img.example/3.jpg'] },
        { ...price(9.5), quantity: 0, sku: 'MUG-2', weight: 0.35 },
      ),
    ],
  },
  {
    name: 'french-catalogue.csv',
    edits: [],
    bytes: csv(
      'Référence;Désignation;Prix TTC;Prix promo;Stock;Catégorie;Sous-catégorie;Image 1;Image 2;En ligne\n' +
        'A12;Théière émaillée;49,90;39,90;12;Cuisine;Thé;https://img.example/t1.jpg;https://img.example/t2.jpg;oui\n' +
        'A13;Bol;1 250,00;;3;Cuisine;;https://img.example/b.jpg;;non\n',
    ),
    sends: [
      one(
        {
          title: 'Théière émaillée',
          url: 'a12',
          hidden: false,
          images: ['https://img.example/t1.jpg', 'https://img.example/t2.jpg'],
          categories: category('Thé', 'the'),
        },
        { ...sale(39.9, 49.9), quantity: 12, sku: 'A12' },
      ),
      one(
        {
          title: 'Bol',
          url: 'a13',
          hidden: true,
          images: ['https://img.example/b.jpg'],
          categories: category('Cuisine', 'cuisine'),
        },
        { ...price(1250), quantity: 3, sku: 'A13' },
      ),
    ],
  },
  {
    name: 'spanish-clothes.xlsx',
    edits: [],
    bytes: makeXlsx([
      {
        name: 'Catálogo',
        rows: [
          ['Referencia', 'Nombre', 'Talla', 'Color', 'Precio', 'Existencias', 'Código de barras'],
          ['C-S', 'Camisa', 'S', 'Azul', 19.95, 4, '8412345678905'],
          ['C-M', 'Camisa', 'M', 'Azul', 20, 0, '8412345678912'],
          ['G-1', 'Gorra', '', 'Rojo', 9.5, 7, '8412345678929'],
        ],
      },
    ]),
    sends: [
      {
        title: 'Camisa',
        url: 'camisa',
        options: [{ name: 'Talla', values: ['S', 'M'], advanced: true }],
        variants: [
          { options: ['S'], ...price(19.95), quantity: 4, sku: 'C-S' },
          { options: ['M'], ...price(20), quantity: 0, sku: 'C-M' },
        ],
      },
      one({ title: 'Gorra', url: 'gorra' }, { ...price(9.5), quantity: 7, sku: 'G-1' }),
    ],
  },
  {
    name: 'italian-list.csv',
    edits: [],
    bytes: csv(
      'Codice\tDescrizione\tPrezzo al pubblico\tPrezzo di acquisto\tGiacenza\tPeso\n' +
        'IT01\tMoka 3 tazze\t€ 24,50\t€ 11,00\t15 pz\t0,6 kg\n' +
        'IT02\tTazzina\t€ 3,00\t€ 1,20\t0 pz\t150 g\n',
    ),
    sends: [
      one({ title: 'Moka 3 tazze', url: 'it01' }, { ...price(24.5), quantity: 15, sku: 'IT01', weight: 0.6 }),
      one({ title: 'Tazzina', url: 'it02' }, { ...price(3), quantity: 0, sku: 'IT02', weight: 0.15 }),
    ],
  },
  {
    name: 'portuguese-shop.ods',
    edits: [],
    bytes: makeOds([
      {
        name: 'Produtos',
        rows: [
          ['Código', 'Nome do produto', 'Preço', 'Estoque', 'Descrição', 'Imagem'],
          ['P-1', 'Caneca', '1.234,56', '8', '<b>Feita</b> à mão', 'https://img.example/c.png'],
          ['P-2', 'Prato', '15,00', '20', '', ''],
        ],
      },
    ]),
    sends: [
      one(
        {
          title: 'Caneca',
          description: '<b>Feita</b> à mão',
          url: 'p-1',
          images: ['https://img.example/c.png'],
        },
        { ...price(1234.56), quantity: 8, sku: 'P-1' },
      ),
      one({ title: 'Prato', url: 'p-2' }, { ...price(15), quantity: 20, sku: 'P-2' }),
    ],
  },
  {
    name: 'dutch-list.csv',
    edits: [],
    bytes: csv(
      'Artikelnummer;Omschrijving;Consumentenprijs incl. BTW;Adviesprijs;Voorraad;Foto\n' +
        'NL-10;Fietsbel;€ 7,50;€ 8,95;op voorraad;https://img.example/bel.jpg\n' +
        'NL-11;Fietspomp;€ 17,-;;uitverkocht;https://img.example/pomp.jpg\n',
    ),
    sends: [
      one(
        { title: 'Fietsbel', url: 'nl-10', images: ['https://img.example/bel.jpg'] },
        { ...sale(7.5, 8.95), sku: 'NL-10' },
      ),
      one(
        { title: 'Fietspomp', url: 'nl-11', images: ['https://img.example/pomp.jpg'] },
        { ...price(17), quantity: 0, sku: 'NL-11' },
      ),
    ],
  },
  {
    name: 'polish-list.csv',
    edits: [],
    bytes: encoded(
      'Symbol;Nazwa;Cena brutto (zł);Stan magazynowy;Kategoria;Zdjęcie;Waga [kg]\n' +
        'PL-1;Kubek żółty;29,99;12 szt.;Kuchnia/Kubki;https://img.example/k.jpg;0,4\n' +
        'PL-2;Łyżka;5,00;0 szt.;Kuchnia/Sztućce;https://img.example/l.jpg;0,05\n' +
        'PL-3;Świeca;12,50;3 szt.;Dom/Świece;https://img.example/s.jpg;0,2\n',
      'windows-1250',
    ),
    sends: [
      one(
        {
          title: 'Kubek żółty',
          url: 'pl-1',
          images: ['https://img.example/k.jpg'],
          categories: category('Kubki', 'kubki'),
        },
        { ...price(29.99), quantity: 12, sku: 'PL-1', weight: 0.4 },
      ),
      one(
        {
          title: 'Łyżka',
          url: 'pl-2',
          images: ['https://img.example/l.jpg'],
          categories: category('Sztućce', 'sztucce'),
        },
        { ...price(5), quantity: 0, sku: 'PL-2', weight: 0.05 },
      ),
      one(
        {
          title: 'Świeca',
          url: 'pl-3',
          images: ['https://img.example/s.jpg'],
          categories: category('Świece', 'swiece'),
        },
        { ...price(12.5), quantity: 3, sku: 'PL-3', weight: 0.2 },
      ),
    ],
  },
  {
    name: 'czech-list.csv',
    edits: [],
    bytes: csv(
      'Kód zboží;Název;Cena s DPH;Původní cena;Skladem;Obrázky;Výrobce\n' +
        'CZ1;Hrnek modrý;1 299,00 Kč;1 499,00 Kč;skladem;https://img.example/1.jpg;Hrnky\n' +
        'CZ2;Talíř;99,00 Kč;;není skladem;https://img.example/2.jpg,https://img.example/3.jpg;Hrnky\n',
    ),
    sends: [
      one(
        { title: 'Hrnek modrý', url: 'cz1', images: ['https://img.example/1.jpg'] },
        { ...sale(1299, 1499), sku: 'CZ1' },
      ),
      one(
        { title: 'Talíř', url: 'cz2', images: ['https://img.example/2.jpg', 'https://img.example/3.jpg'] },
        { ...price(99), quantity: 0, sku: 'CZ2' },
      ),
    ],
  },
  {
    name: 'russian-list.csv',
    edits: [],
    bytes: csv(
      'Артикул;Наименование;Цена, руб.;Оптовая цена;Остаток;Фото;Вес, кг\n' +
        'Р-1;Кружка синяя;1 250,50;900,00;7;https://img.example/1.jpg;0,35\n' +
        'Р-2;Тарелка;450,00;300,00;0;https://img.example/2.jpg;0,5\n',
    ),
    sends: [
      one(
        { title: 'Кружка синяя', url: 'р-1', images: ['https://img.example/1.jpg'] },
        { ...price(1250.5), quantity: 7, sku: 'Р-1', weight: 0.35 },
      ),
      one(
        { title: 'Тарелка', url: 'р-2', images: ['https://img.example/2.jpg'] },
        { ...price(450), quantity: 0, sku: 'Р-2', weight: 0.5 },
      ),
    ],
  },
  {
    name: 'turkish-feed.xml',
    edits: [],
    bytes: csv(
      '<?xml version="1.0" encoding="UTF-8"?><urunler>' +
        '<urun><stok_kodu>TR-1</stok_kodu><urun_adi>Mavi Kupa</urun_adi><fiyat>1.149,90 TL</fiyat><stok_adedi>14</stok_adedi><kategori>Mutfak &gt; Kupalar</kategori><resim>https://img.example/k.jpg</resim></urun>' +
        '<urun><stok_kodu>TR-2</stok_kodu><urun_adi>Tabak</urun_adi><fiyat>89,90 TL</fiyat><stok_adedi>0</stok_adedi><kategori>Mutfak &gt; Tabaklar</kategori><resim>https://img.example/t.jpg</resim></urun></urunler>',
    ),
    sends: [
      one(
        {
          title: 'Mavi Kupa',
          url: 'tr-1',
          images: ['https://img.example/k.jpg'],
          categories: category('Kupalar', 'kupalar'),
        },
        { ...price(1149.9), quantity: 14, sku: 'TR-1' },
      ),
      one(
        {
          title: 'Tabak',
          url: 'tr-2',
          images: ['https://img.example/t.jpg'],
          categories: category('Tabaklar', 'tabaklar'),
        },
        { ...price(89.9), quantity: 0, sku: 'TR-2' },
      ),
    ],
  },
  {
    name: 'japanese-list.csv',
    edits: [],
    bytes: encoded(
      '商品コード,商品名,販売価格（税込）,在庫数,商品説明,商品画像URL\n' +
        'JP-1,青いマグカップ,"1,980円",12,手作りです。,https://img.example/1.jpg\n' +
        'JP-2,小皿,880円,0,,https://img.example/2.jpg\n',
      'shift_jis',
    ),
    sends: [
      one(
        {
          title: '青いマグカップ',
          description: '手作りです。',
          url: 'jp-1',
          images: ['https://img.example/1.jpg'],
        },
        { ...price(1980), quantity: 12, sku: 'JP-1' },
      ),
      one(
        { title: '小皿', url: 'jp-2', images: ['https://img.example/2.jpg'] },
        { ...price(880), quantity: 0, sku: 'JP-2' },
      ),
    ],
  },
  {
    name: 'chinese-products.json',
    edits: [],
    bytes: csv(
      JSON.stringify({
        products: [
          {
            货号: 'CN-1',
            商品名称: '蓝色杯子',
            售价: 39.9,
            市场价: 59,
            库存: 100,
            图片: ['https://img.example/1.jpg', 'https://img.example/2.jpg'],
            上架: true,
          },
          {
            货号: 'CN-2',
            商品名称: '盘子',
            售价: 25,
            市场价: 25,
            库存: 0,
            图片: ['https://img.example/3.jpg'],
            上架: false,
          },
        ],
      }),
    ),
    sends: [
      one(
        {
          title: '蓝色杯子',
          url: 'cn-1',
          hidden: false,
          images: ['https://img.example/1.jpg', 'https://img.example/2.jpg'],
        },
        { ...sale(39.9, 59), quantity: 100, sku: 'CN-1' },
      ),
      one(
        { title: '盘子', url: 'cn-2', hidden: true, images: ['https://img.example/3.jpg'] },
        { ...price(25), quantity: 0, sku: 'CN-2' },
      ),
    ],
  },
  {
    name: 'parents.csv',
    edits: [],
    bytes: csv(
      'Parent SKU,SKU,Title,Size,Colour,Selling price,Compare at price,Stock\n' +
        ',TEE,Tee,,,,,\nTEE,TEE-S,Tee S,S,White,15.00,20.00,5\nTEE,TEE-M,Tee M,M,White,15.00,,2\n,CAP,Cap,,,9.00,,1\n',
    ),
    sends: [
      {
        title: 'Tee',
        url: 'tee',
        options: [{ name: 'Size', values: ['S', 'M'], advanced: true }],
        variants: [
          { options: ['S'], ...sale(15, 20), quantity: 5, sku: 'TEE-S' },
          { options: ['M'], ...price(15), quantity: 2, sku: 'TEE-M' },
        ],
      },
      one({ title: 'Cap', url: 'cap' }, { ...price(9), quantity: 1, sku: 'CAP' }),
    ],
  },
  {
    name: 'fill-down.csv',
    edits: [],
    bytes: csv(
      'Produktname;Größe;Farbe;Preis;Bestand;Artikelnummer\n' +
        'Hemd;S;weiß;29,90;3;H-S\n;M;weiß;29,90;0;H-M\n;L;weiß;31,90;1;H-L\nMütze;;grau;12,00;9;M-1\n',
    ),
    sends: [
      {
        title: 'Hemd',
        url: 'hemd',
        options: [{ name: 'Größe', values: ['S', 'M', 'L'], advanced: true }],
        variants: [
          { options: ['S'], ...price(29.9), quantity: 3, sku: 'H-S' },
          { options: ['M'], ...price(29.9), quantity: 0, sku: 'H-M' },
          { options: ['L'], ...price(31.9), quantity: 1, sku: 'H-L' },
        ],
      },
      one({ title: 'Mütze', url: 'mutze' }, { ...price(12), quantity: 9, sku: 'M-1' }),
    ],
  },
  {
    name: 'both-taxes.csv',
    edits: ['--column', 'price=Preis brutto'],
    asks: ['Which column has the price?'],
    bytes: csv(
      'Artikelnr;Bezeichnung;Preis netto;Preis brutto;Menge\nX1;Lampe;100,00;119,00;4\nX2;Birne;5,00;5,95;90\n',
    ),
    sends: [
      one({ title: 'Lampe', url: 'x1' }, { ...price(119), quantity: 4, sku: 'X1' }),
      one({ title: 'Birne', url: 'x2' }, { ...price(5.95), quantity: 90, sku: 'X2' }),
    ],
  },
  {
    name: 'only-thousands.csv',
    edits: ['--decimal', ','],
    asks: ['Which sign is the decimal sign?'],
    bytes: csv('Nummer;Produkt;Preis\nS-1;Sofa;1.299\nS-2;Sessel;2.450\n'),
    sends: [
      one({ title: 'Sofa', url: 's-1' }, { ...price(1299), sku: 'S-1' }),
      one({ title: 'Sessel', url: 's-2' }, { ...price(2450), sku: 'S-2' }),
    ],
  },
  {
    name: 'from-prices.csv',
    edits: ['--from-prices', 'send', '--weight-in', 'g', '--word', 'auf Bestellung=available'],
    asks: [
      'What is sent for lowest prices?',
      "In which unit is 'Gewicht'?",
      "What does 'auf Bestellung' mean in 'Lagerstatus'?",
    ],
    bytes: csv(
      'Titel;Preis;Gewicht;Lagerstatus\nKette;ab 49,00 €;15;auf Bestellung\nRing;129,00 €;4;auf Lager\nBrosche;auf Anfrage;8;auf Lager\n',
    ),
    sends: [
      one({ title: 'Kette', url: 'kette' }, { ...price(49), weight: 0.015 }),
      one({ title: 'Ring', url: 'ring' }, { ...price(129), weight: 0.004 }),
    ],
  },
  {
    name: 'blank-separated.csv',
    edits: [],
    bytes: csv(
      'id|name|current_price|old_price|currency|in_stock|image_urls|category|description\n' +
        '901|Desk lamp|39.00|49.00|EUR|true|https://img.example/d1.jpg https://img.example/d2.jpg|Lighting; Office|"<p>Bright &amp; warm</p>"\n' +
        '902|Desk|249.50||EUR|false|https://img.example/d3.jpg|Office|\n' +
        '903|Floor lamp|89.00||EUR|true||Lighting|\n',
    ),
    sends: [
      one(
        {
          title: 'Desk lamp',
          description: '<p>Bright &amp; warm</p>',
          url: 'desk-lamp',
          images: ['https://img.example/d1.jpg', 'https://img.example/d2.jpg'],
          categories: [...category('Lighting', 'lighting'), ...category('Office', 'office')],
        },
        sale(39, 49),
      ),
      one(
        {
          title: 'Desk',
          url: 'desk',
          images: ['https://img.example/d3.jpg'],
          categories: category('Office', 'office'),
        },
        { ...price(249.5), quantity: 0 },
      ),
      one(
        { title: 'Floor lamp', url: 'floor-lamp', categories: category('Lighting', 'lighting') },
        price(89),
      ),
    ],
  },
];
