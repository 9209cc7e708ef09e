/** Names to make people up from. The pairings are left to chance: any likeness is accidental. */
export const FIRST_NAMES: readonly string[] = [
  'Ada Amélie Anouk Arjun Beatriz Bram Callum Chiara Cormac Dagny Davide Edda Elif Emeka Esme Farah Finn Freya',
  'Gareth Greta Hana Henrik Imani Ines Isla Jonas Jun Kasia Keir Lars Leila Ludo Maeve Marisol Mateus Mina Nadia',
  'Niamh Noor Olu Orla Paolo Petra Priya Quentin Rafael Rosalind Ruben Saoirse Sólveig Tamsin Teodor Thea Uma',
  'Viktor Wanda Wilf Yara Yusuf Zofia',
].flatMap((line) => line.split(' '));

export const LAST_NAMES: readonly string[] = [
  'Abara Alder Almquist Ashdown Barros Bellweather Birch Brandvold Brook Calloway Castellan Chandrasek Copeland',
  'Dahlgren Delacourt Dunmore Eastwick Eriksdotter Fairbairn Fennimore Ferrante Fjeldstad Garrick Grünwald Hale',
  'Hawksworth Holloway Hyacinth Imhoff Jarrow Kestrel Kowalczuk Lindqvist Loxley Machado Marchbanks Meadows Moreau',
  "Nakagawa Nightingale Novotná O'Dell Okonjo Ottosson Pemberley Penhaligon Quill Ravensdale Rosenthal Rowntree",
  'Santoro Shoreditch Sommerfeld Sørby Tanaka Thistlewood Treharne Underhill Vasconcelos Wetherby Whitlock Wren Yılmaz',
].flatMap((line) => line.split(' '));

/** Towns with what belongs to them. Phone numbers come from ranges that regulators keep for fiction. */
export const TOWNS = [
  { city: 'Bristol', state: 'England', country: 'United Kingdom', zip: 'BS1 4QA', phone: '+44 117 496 0' },
  { city: 'Leeds', state: 'England', country: 'United Kingdom', zip: 'LS2 7AB', phone: '+44 113 496 0' },
  { city: 'Edinburgh', state: 'Scotland', country: 'United Kingdom', zip: 'EH3 9ZZ', phone: '+44 131 496 0' },
  { city: 'Cardiff', state: 'Wales', country: 'United Kingdom', zip: 'CF10 2XX', phone: '+44 29 2018 0' },
  { city: 'Dublin', state: 'Leinster', country: 'Ireland', zip: 'D02 XY45', phone: '+353 20 912 0' },
  { city: 'Portland', state: 'ME', country: 'United States', zip: '04101', phone: '+1 207 555 0' },
  { city: 'Seattle', state: 'WA', country: 'United States', zip: '98101', phone: '+1 206 555 0' },
] as const;

export const STREETS: readonly string[] = [
  'Orchard Lane',
  'Harbour Street',
  'Mill Road',
  'Chapel Row',
  'Tanners Yard',
  'Lantern Hill',
  'Foundry Walk',
  'Saltmarsh Close',
];

export const COMPANIES: readonly string[] = [
  'Bramble & Co',
  'Copperkettle Cafés',
  'Driftwood Interiors',
  'Fern and Fable',
  'Little Lighthouse Nursery',
  'Northern Loom Ltd',
  'Quillfeather Books',
  'The Tin Roof Deli',
];
