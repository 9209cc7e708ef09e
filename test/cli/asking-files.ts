import type { MAPPING_QUESTIONS } from '../../src/onboarding/guess/propose-mapping.ts';

type Asked =
  | (typeof MAPPING_QUESTIONS.once)[number]
  | `${Exclude<(typeof MAPPING_QUESTIONS.byName)[number], 'column'>}.`;

/** Files by the question that they leave open; each kind of question has at least one, those of columns are below. */
export const ASKING_FILES: Readonly<Record<Asked, readonly string[]>> = {
  decimal: ['Name,Price\nTable,1.299\nLamp,2.500\n', 'Name;Price\nTable;"1,299"\nLamp;"2,500"\n'],
  currency: [
    'Name,Price,Currency\nMug,4.00,EUR\nJug,5.00,USD\n',
    'Name,Price\nMug,4.00 €\nJug,$5.00\n',
    'Name,Price (CAD)\nMug,US$4.00\nJug,US$5.00\n',
  ],
  weightIn: ['Name,Price,Weight\nMug,4.00,250\nJug,5.00,300\n'],
  group: [
    'SKU,Parent,Name,Size,Price\nA1,P1,Tea small,S,5.00\nA2,P1,Tea large,L,5.50\nB1,P2,Jam,S,4.00\n',
    'Name,Size,Price\nTea,S,5.00\nTea,S,5.50\nJam,L,4.00\n',
    'Name,Size,Price\nTea,"S, M, L",5.00\nJam,"S, M",4.00\n',
  ],
  fromPrices: ['Name,Price\nMug,from 4.00\nJug,5.00\n'],
  imageBase: ['Name,Price,Image\nMug,4.00,mug.jpg\nJug,5.00,jug.jpg\n'],
  separator: ['Name,Price,Category\nMug,4.00,Home/Mugs\nJug,5.00,Art/Jugs\nBowl,5.00,Toys\n'],
  'word.': [
    'Name,Price,Stock\nMug,4.00,5\nJug,5.00,7\nBowl,5.00,ask Joe\nPan,5.00,8\nPot,5.00,9\n',
    'Name,Price,Visible\nMug,4.00,yes\nJug,5.00,no\nBowl,5.00,perhaps\n',
  ],
  'unused.': [
    'Name,Price,Discount\nMug,4.00,10\nJug,5.00,0\n',
    'Name,Price,Sale price,Sale from\nMug,4.00,3.00,02/03/2026\nJug,5.00,,\n',
    'Name,Price,Discontinued\nMug,4.00,no\nJug,5.00,yes\n',
    'Name,Price,Club price\nMug,4.00,3.00\nJug,5.00,4.00\n',
    'Name,Price,Stock Berlin,Stock Bonn\nMug,4.00,5,1\nJug,5.00,0,2\n',
    'Name,Price,36,37,38\nShoe,4.00,5,1,0\nBoot,5.00,0,2,1\n',
    'Name,Price,S,M\nShirt,4.00,x,\nCoat,5.00,x,x\n',
    'Name,S,M\nShirt,4.00,4.50\nCoat,5.00,6.00\n',
  ],
};

/** Two columns that may both fill a field, by field. `null`: the field is never asked about. */
export const ASKING_COLUMNS: Readonly<
  Record<'products' | 'contacts', Readonly<Record<string, string | null>>>
> = {
  products: {
    title: 'Dings,Bums,Price\nMug blue,Cup 1,4.00\nMug blue,Cup 2,5.00\n',
    price: 'Name,Price A,Price B\nMug,4.00,5.00\nJug,5.00,6.00\n',
    was: 'Name,Price,Old price,RRP\nMug,4.00,5.00,6.00\nJug,5.00,6.00,7.00\n',
    sale: 'Name,Price,Sale price,Special price\nMug,4.00,3.00,2.00\nJug,5.00,4.00,3.00\n',
    currency: 'Name,Price,Currency,Currency code\nMug,4.00,EUR,EUR\nJug,5.00,EUR,EUR\n',
    sku: 'Name,Price,Item no,Product code\nMug,4.00,A-1,B-1\nJug,5.00,A-2,B-2\n',
    quantity: 'Name,Price,Stock,Qty\nMug,4.00,1,2\nJug,5.00,3,4\n',
    availability:
      'Name,Price,Availability,Availability status\nMug,4.00,in stock,in stock\nJug,5.00,sold out,sold out\n',
    description: 'Name,Price,Description,Details\nMug,4.00,A blue mug.,Blue.\nJug,5.00,A red jug.,Red.\n',
    images: null,
    category: 'Name,Price,Category,Department\nMug,4.00,Mugs,Home\nJug,5.00,Jugs,Home\n',
    subcategory: 'Name,Price,Subcategory,Sub category\nMug,4.00,Mugs,Home\nJug,5.00,Jugs,Home\n',
    weight: 'Name,Price,Weight (g),Net weight (g)\nMug,4.00,250,240\nJug,5.00,300,290\n',
    url: 'Name,Price,Maker\nMug,4.00,A\nMug,5.00,A\nJug,5.00,B\n',
    visible: 'Name,Price,Visible,Published\nMug,4.00,yes,yes\nJug,5.00,no,no\n',
    hidden: 'Name,Price,Hidden,Unpublished\nMug,4.00,yes,yes\nJug,5.00,no,no\n',
    option:
      'Code,Parent,Name,Blend,Price\nA1,P1,Tea,Mint,5.00\nA2,P1,Tea,Lemon,5.50\nB1,P2,Jam,Plum,4.00\nB2,P2,Jam,Fig,4.25\n',
  },
  contacts: {
    email: 'Name,Ansprache\nAda,ada@example.com\nBob,x\n',
    name: 'Email,Name,Full name\na@example.com,Ada,Ada B\nb@example.com,Bob,Bob C\n',
    firstName: 'Email,First name,Given name,Last name\na@example.com,Ada,Ada,B\nb@example.com,Bob,Bob,C\n',
    lastName: 'Email,Last name,Surname,First name\na@example.com,Ada,Ada,B\nb@example.com,Bob,Bob,C\n',
    phone:
      'Email,Phone,Telephone\na@example.com,0123456789,0123456780\nb@example.com,0123456788,0123456787\n',
    mobile:
      'Email,Mobile,Mobile phone\na@example.com,0123456789,0123456780\nb@example.com,0123456788,0123456787\n',
    companyName: 'Email,Company,Company name\na@example.com,A Ltd,A\nb@example.com,B Ltd,B\n',
    address: 'Email,Address,Street\na@example.com,A Road 1,A Road\nb@example.com,B Road 2,B Road\n',
    houseNumber:
      'Email,Street,House number,Street number\na@example.com,A Road,1,1\nb@example.com,B Road,2,2\n',
    zip: 'Email,ZIP,Postal code\na@example.com,11111,11111\nb@example.com,22222,22222\n',
    city: 'Email,City,Town\na@example.com,Ulm,Ulm\nb@example.com,Bonn,Bonn\n',
    state: 'Email,State,Province\na@example.com,TX,TX\nb@example.com,CA,CA\n',
    country: 'Email,Country,Country name\na@example.com,US,US\nb@example.com,US,US\n',
    note: 'Email,Note,Notes\na@example.com,one,two\nb@example.com,three,four\n',
    tags: 'Email,Tags,Labels\na@example.com,vip,vip\nb@example.com,new,new\n',
    subscribed: 'Email,Subscribed,Newsletter\na@example.com,yes,yes\nb@example.com,no,no\n',
    unsubscribed: 'Email,Unsubscribed,Opted out\na@example.com,yes,yes\nb@example.com,no,no\n',
  },
};

/** What a person types where any text is an answer, by question. */
export const TYPED_ANSWERS: Readonly<Record<string, string>> = {
  imageBase: 'https://img.example/',
  'column.price': 'Qty',
};

/** Further files of products that leave a question open. */
export const FURTHER_FILES: readonly string[] = [
  'Name,Price,Handle,Slug\nMug,4.00,a,b\nMug,5.00,c,d\n',
  'Product name,Item name,Price\nMug,Blue,4.00\nJug,Red,5.00\n',
  'SKU,Qty,Place of it\nA1,5,Shelf one\nA2,0,Shelf one\n',
];
