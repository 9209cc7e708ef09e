import { distance } from 'fastest-levenshtein';

/** The languages whose header words are known, with the names that evidence shows. */
const LANGUAGES = {
  en: 'English',
  de: 'German',
  fr: 'French',
  es: 'Spanish',
  it: 'Italian',
  pt: 'Portuguese',
  nl: 'Dutch',
  pl: 'Polish',
  cs: 'Czech',
  ru: 'Russian',
  tr: 'Turkish',
  ja: 'Japanese',
  zh: 'Chinese',
} as const;

type Language = keyof typeof LANGUAGES;
type Words = Readonly<Partial<Record<Language, string>>>;

/**
 * The concepts of a product file, each with its header words. If a word belongs to several concepts, the values of the
 * column decide, in this order. Words for product (Artikelname, product name), units, currencies, numbers and `incl. VAT`
 * are understood in addition. Some concepts have no field: they prevent that their columns are used for another concept.
 */
const PRODUCT_WORDS = {
  sku: {
    en: 'sku, item no, item number, article no, article number, product code, item code, part number, part no, stock code, model number, code, ref, reference, item, item id, product no, product number, stock keeping unit, style number, catalog number, catalogue number, number, no, article',
    de: 'sku, artikelnummer, artikelnr, artnr, art nr, artikel nr, bestellnummer, bestellnr, best nr, produktnummer, produktnr, artikelcode, sachnummer, materialnummer, teilenummer, warennummer, nummer, artikel, katalognummer, modellnummer, nr',
    fr: 'sku, référence, réf, code article, code produit, numéro article, n article, no article, réf article, référence article, code, article',
    es: 'sku, referencia, ref, código, cód, código de artículo, código artículo, número de artículo, número de referencia, codigo producto, clave, artículo',
    it: 'sku, codice, cod, codice articolo, cod articolo, cod art, riferimento, rif, numero articolo, articolo',
    pt: 'sku, código, cód, referência, ref, código do produto, código do artigo, número do artigo, artigo',
    nl: 'sku, artikelnummer, artikelnr, artnr, art nr, bestelnummer, productcode, artikelcode, code, referentie, nummer, artikel',
    pl: 'sku, symbol, kod, kod produktu, indeks, numer katalogowy, nr katalogowy, nr kat, nr artykułu, numer artykułu, kod towaru, index, artykuł',
    cs: 'sku, kód, kód zboží, kód produktu, katalogové číslo, kat č, číslo zboží, číslo produktu, objednací číslo, obj č, číslo artiklu',
    ru: 'sku, артикул, арт, код, код товара, номенклатурный номер, номер, артикул товара',
    tr: 'sku, stok kodu, ürün kodu, kod, stok no, ürün no, malzeme kodu, referans',
    ja: 'sku, 商品コード, 品番, 型番, 商品番号, 製品番号, 管理番号, 製品コード, コード, 商品管理番号',
    zh: 'sku, 货号, 商品编码, 产品编号, 编号, 商品编号, 型号, 产品编码, 款号, 編號, 貨號, 商品編號, 產品編號, 產品型號, 编码',
  },
  title: {
    en: 'title, name, product name, item name, product title, product, item, label, designation',
    de: 'titel, name, bezeichnung, artikelbezeichnung, produktbezeichnung, produktname, artikelname, produkt, artikel, warenbezeichnung, produkttitel, benennung',
    fr: 'titre, nom, désignation, libellé, intitulé, produit, article, nom du produit, dénomination',
    es: 'título, nombre, denominación, producto, artículo, nombre del producto, designación',
    it: 'titolo, nome, denominazione, prodotto, articolo, nome prodotto',
    pt: 'título, nome, designação, produto, artigo, nome do produto, denominação',
    nl: 'titel, naam, benaming, productnaam, artikelnaam, product, artikel',
    pl: 'tytuł, nazwa, nazwa produktu, nazwa towaru, produkt, towar, artykuł',
    cs: 'titul, název, jméno, název zboží, název produktu, produkt, zboží, výrobek, označení',
    ru: 'название, наименование, имя, название товара, наименование товара, товар, продукт, номенклатура',
    tr: 'başlık, ad, adı, ürün adı, isim, ürün, ürün ismi, stok adı, malzeme adı',
    ja: '商品名, 製品名, 品名, 名称, 名前, タイトル, 商品, 品目',
    zh: '名称, 商品名称, 产品名称, 品名, 标题, 商品名, 商品, 产品, 名稱, 商品名稱, 產品名稱, 標題, 商品标题',
  },
  description: {
    en: 'description, long description, body, body html, details, product description, text, html description, full description, content, description html',
    de: 'beschreibung, langbeschreibung, produktbeschreibung, artikelbeschreibung, langtext, text, beschreibungstext, details, artikeltext, beschreibung lang',
    fr: 'description, description longue, descriptif, détails, texte, description du produit, descriptif long',
    es: 'descripción, descripción larga, detalles, texto, descripción del producto',
    it: 'descrizione, descrizione lunga, dettagli, testo, descrizione prodotto, descrizione estesa',
    pt: 'descrição, descrição longa, detalhes, texto, descrição do produto, descrição completa',
    nl: 'beschrijving, omschrijving, lange omschrijving, lange beschrijving, productomschrijving, tekst, details',
    pl: 'opis, opis długi, pełny opis, opis produktu, długi opis, szczegóły',
    cs: 'popis, dlouhý popis, detailní popis, popis zboží, popis produktu, podrobný popis',
    ru: 'описание, полное описание, описание товара, подробное описание, текст',
    tr: 'açıklama, ürün açıklaması, detay, uzun açıklama, detaylar, tanım',
    ja: '説明, 商品説明, 製品説明, 詳細, 商品説明文, 説明文, 商品詳細',
    zh: '描述, 商品描述, 产品描述, 详情, 说明, 介绍, 商品详情, 產品描述, 說明, 詳情, 简介',
  },
  summary: {
    en: 'short description, summary, subtitle, teaser, excerpt, tagline, short text',
    de: 'kurzbeschreibung, kurztext, untertitel, zusammenfassung, beschreibung kurz, kurzinfo',
    fr: 'description courte, résumé, accroche, sous-titre, descriptif court',
    es: 'descripción corta, descripción breve, resumen, subtítulo',
    it: 'descrizione breve, riassunto, sottotitolo, descrizione corta',
    pt: 'descrição curta, descrição breve, resumo, subtítulo',
    nl: 'korte omschrijving, korte beschrijving, samenvatting, ondertitel',
    pl: 'krótki opis, opis krótki, skrót',
    cs: 'krátký popis, stručný popis',
    ru: 'краткое описание, короткое описание, анонс',
    tr: 'kısa açıklama, özet',
    ja: '短い説明, 概要, キャッチコピー',
    zh: '简短描述, 副标题, 摘要, 副標題',
  },
  price: {
    en: 'price, selling price, sales price, retail price, unit price, current price, shop price, store price, your price, price each, price per unit, price per piece, consumer price, our price, sell price, new price',
    de: 'preis, verkaufspreis, vk, vk preis, einzelpreis, stückpreis, ladenpreis, endpreis, endkundenpreis, shoppreis, preis pro stück, aktueller preis, preis je stück, stk preis, neuer preis, preis neu',
    fr: 'prix, prix de vente, tarif, prix unitaire, pv, prix actuel, prix public, pu, prix à l unité, nouveau prix',
    es: 'precio, precio de venta, pvp, precio unitario, precio actual, tarifa, p v p, precio venta, importe, precio nuevo, nuevo precio',
    it: 'prezzo, prezzo di vendita, prezzo unitario, prezzo al pubblico, prezzo attuale, prezzo vendita, nuovo prezzo, prezzo nuovo',
    pt: 'preço, preço de venda, pvp, preço unitário, preço atual, valor, preço venda, novo preço, preço novo',
    nl: 'prijs, verkoopprijs, consumentenprijs, winkelprijs, stukprijs, huidige prijs, eenheidsprijs, prijs per stuk, nieuwe prijs, prijs nieuw',
    pl: 'cena, cena sprzedaży, cena jednostkowa, cena detaliczna, cena za sztukę, cena szt, nowa cena, cena nowa',
    cs: 'cena, prodejní cena, cena za kus, maloobchodní cena, cena ks, mc, nová cena',
    ru: 'цена, цена продажи, розничная цена, розница, цена розн, розн, стоимость, цена за шт, цена за единицу, цена розничная, новая цена, цена новая',
    tr: 'fiyat, satış fiyatı, fiyatı, birim fiyat, ürün fiyatı, perakende fiyat, birim fiyatı, tutar, yeni fiyat',
    ja: '価格, 販売価格, 値段, 単価, 通常販売価格, 売価, 金額, 新価格',
    zh: '价格, 售价, 单价, 销售价, 零售价, 销售价格, 現價, 價格, 售價, 單價, 零售價, 现价, 定价, 新价格, 新价',
  },
  regular: {
    en: 'regular price, normal price, list price, base price, standard price, full price, catalog price, catalogue price',
    de: 'normalpreis, listenpreis, regulärer preis, katalogpreis, basispreis, grundverkaufspreis, regulaerer preis, standardpreis',
    fr: 'prix normal, prix régulier, prix catalogue, prix de base, prix standard, prix habituel',
    es: 'precio normal, precio regular, precio de lista, precio base, precio habitual',
    it: 'prezzo normale, prezzo regolare, prezzo di listino, prezzo base, listino',
    pt: 'preço normal, preço regular, preço de tabela, preço base, preço de lista',
    nl: 'normale prijs, reguliere prijs, catalogusprijs, basisprijs, lijstprijs',
    pl: 'cena regularna, cena katalogowa, cena podstawowa, cena bazowa, cena normalna',
    cs: 'běžná cena, standardní cena, ceníková cena, základní cena',
    ru: 'обычная цена, базовая цена, регулярная цена, цена по прайсу',
    tr: 'normal fiyat, liste fiyatı, standart fiyat',
    ja: '通常価格, 定価, 標準価格',
    zh: '原始价格, 标准价格, 标准价',
  },
  was: {
    en: 'compare at price, compare price, old price, was price, previous price, original price, rrp, msrp, srp, recommended retail price, suggested retail price, was, before price, price before discount, strike price, crossed out price, recommended price, suggested price, manufacturer suggested retail price',
    de: 'uvp, unverbindliche preisempfehlung, uvp preis, streichpreis, statt preis, alter preis, vorheriger preis, ursprünglicher preis, originalpreis, empfohlener verkaufspreis, evp, preisempfehlung, früherer preis, uvp hersteller, vergleichspreis, vorher preis, statt',
    fr: 'prix barré, ancien prix, prix avant remise, prix conseillé, prix public conseillé, ppc, prix d origine, prix initial',
    es: 'precio anterior, precio tachado, precio original, precio antes, pvp recomendado, pvpr, precio recomendado, precio de comparación',
    it: 'prezzo precedente, prezzo barrato, vecchio prezzo, prezzo originale, prezzo consigliato, prezzo pieno',
    pt: 'preço anterior, preço antigo, preço original, preço riscado, pvpr, preço recomendado, preço de',
    nl: 'oude prijs, adviesprijs, van prijs, vanprijs, originele prijs, doorgestreepte prijs, adviesverkoopprijs',
    pl: 'stara cena, cena przed promocją, cena przekreślona, cena poprzednia, cena sugerowana, sugerowana cena, cena oryginalna',
    cs: 'původní cena, stará cena, přeškrtnutá cena, cena před slevou, doporučená cena, doporučená maloobchodní cena, dmoc, moc',
    ru: 'старая цена, цена до скидки, прежняя цена, зачеркнутая цена, ррц, рекомендованная розничная цена, рекомендованная цена',
    tr: 'eski fiyat, indirimsiz fiyat, önceki fiyat, piyasa fiyatı, tavsiye edilen fiyat, üstü çizili fiyat',
    ja: '元の価格, 参考価格, メーカー希望小売価格, 希望小売価格, 旧価格, 元値',
    zh: '原价, 市场价, 划线价, 建议零售价, 原價, 市場價, 建議售價, 吊牌价',
  },
  sale: {
    en: 'sale price, special price, discounted price, promo price, promotional price, offer price, discount price, reduced price, special offer, action price, deal price, markdown price',
    de: 'angebotspreis, sonderpreis, aktionspreis, rabattpreis, reduzierter preis, angebot, sale preis, sonderangebot, aktion',
    fr: 'prix promo, prix promotionnel, prix soldé, prix réduit, prix remisé, prix spécial, prix promotion, promo',
    es: 'precio de oferta, precio oferta, precio rebajado, precio promocional, precio especial, precio con descuento, oferta',
    it: 'prezzo scontato, prezzo in offerta, prezzo promozionale, prezzo speciale, prezzo offerta, prezzo promo, offerta',
    pt: 'preço promocional, preço de oferta, preço com desconto, preço especial, promoção, preço por',
    nl: 'actieprijs, aanbiedingsprijs, kortingsprijs, speciale prijs, aanbieding, afgeprijsd',
    pl: 'cena promocyjna, cena specjalna, cena po rabacie, promocja, cena obniżona, cena wyprzedażowa',
    cs: 'akční cena, cena po slevě, zvýhodněná cena, speciální cena, akce, výprodejová cena',
    ru: 'цена со скидкой, акционная цена, специальная цена, цена по акции, спеццена',
    tr: 'indirimli fiyat, kampanya fiyatı, özel fiyat, indirimli satış fiyatı',
    ja: 'セール価格, 特価, 割引価格, 特別価格, キャンペーン価格',
    zh: '促销价, 特价, 优惠价, 折扣价, 活动价, 特價, 促銷價, 優惠價',
  },
  cost: {
    en: 'cost, cost price, purchase price, wholesale price, dealer price, buying price, trade price, buy price, cost per item, reseller price, distributor price, b2b price, landed cost, wholesale, supplier price, unit cost',
    de: 'ek, einkaufspreis, ek preis, einstandspreis, händlerpreis, hek, händler ek, großhandelspreis, selbstkosten, kosten, netto ek, ek netto, wiederverkäuferpreis, haendlerpreis',
    fr: 'prix d achat, prix achat, coût, prix de revient, prix grossiste, prix revendeur, pa, prix de gros, tarif revendeur',
    es: 'precio de compra, coste, costo, precio de coste, precio mayorista, precio de costo, precio distribuidor, precio mayoreo',
    it: 'prezzo di acquisto, costo, prezzo acquisto, prezzo ingrosso, prezzo rivenditore, prezzo d acquisto, prezzo all ingrosso',
    pt: 'preço de compra, custo, preço de custo, preço de revenda, preço atacado, preço grossista',
    nl: 'inkoopprijs, kostprijs, dealerprijs, groothandelsprijs, inkoop, wederverkoopprijs',
    pl: 'cena zakupu, koszt, cena hurtowa, hurt, cena dla sklepu',
    cs: 'nákupní cena, velkoobchodní cena, náklady, voc, nákup, pořizovací cena',
    ru: 'закупочная цена, себестоимость, оптовая цена, цена закупки, опт, закупка, цена опт, дилерская цена, оптовая',
    tr: 'alış fiyatı, maliyet, toptan fiyat, bayi fiyatı, alış',
    ja: '原価, 仕入価格, 仕入れ価格, 仕入値, 卸価格, 卸値, 下代',
    zh: '成本, 成本价, 进价, 批发价, 采购价, 進價, 批發價, 供货价, 成本價',
  },
  otherAmount: {
    en: 'base unit price, minimum price, map, map price, shipping cost, shipping price, shipping, delivery cost, deposit, margin, markup, price group, price list, tax, tax rate, vat, vat rate, tier price, price from, surcharge, member price, vip price, tax amount, vat amount, price unit, profit, handling fee, price change, lowest price',
    de: 'grundpreis, mindestpreis, versandkosten, pfand, marge, preisgruppe, steuer, steuersatz, mwst, ust, mwst satz, staffelpreis, mengenpreis, preiseinheit, versand, zuschlag, aufschlag, gewinn, vpe preis, grundpreiseinheit, porto',
    fr: 'prix au kilo, prix minimum, frais de port, consigne, marge, tva, taxe, taux tva, taux de tva, éco participation, ecotaxe, port, livraison',
    es: 'precio por kilo, precio mínimo, gastos de envío, margen, iva, impuesto, tipo iva, envío, recargo',
    it: 'prezzo al kg, prezzo minimo, spese di spedizione, margine, iva, aliquota iva, tassa, spedizione, cauzione',
    pt: 'preço por quilo, preço mínimo, portes, margem, iva, imposto, taxa de iva, frete, taxa',
    nl: 'basisprijs per eenheid, minimumprijs, verzendkosten, statiegeld, marge, btw, btw tarief, verzending',
    pl: 'cena minimalna, koszt wysyłki, kaucja, marża, vat, stawka vat, podatek, koszt dostawy, wysyłka',
    cs: 'minimální cena, doprava, poštovné, záloha, marže, dph, sazba dph, daň',
    ru: 'минимальная цена, мрц, доставка, маржа, ндс, ставка ндс, наценка, стоимость доставки',
    tr: 'asgari fiyat, kargo, kargo ücreti, kar, kdv, kdv oranı, vergi, depozito',
    ja: '送料, 税率, 消費税, 最低価格, 利益, ポイント, 配送料',
    zh: '运费, 税率, 利润, 最低价, 押金, 運費, 稅率, 毛利, 会员价, 會員價',
  },
  discount: {
    en: 'discount, discount percent, discount percentage, discount rate, discount amount, percent off, off, reduction, rebate',
    de: 'rabatt, rabattsatz, nachlass, preisnachlass, ermäßigung, rabatt prozent, skonto, rabattbetrag',
    fr: 'remise, réduction, rabais, taux de remise, montant remise',
    es: 'descuento, dto, dcto, rebaja, porcentaje descuento',
    it: 'sconto, riduzione, percentuale sconto, ribasso',
    pt: 'desconto, redução, percentual desconto',
    nl: 'korting, kortingspercentage, reductie',
    pl: 'rabat, zniżka, upust, obniżka',
    cs: 'sleva, rabat, výše slevy, procento slevy',
    ru: 'скидка, размер скидки, процент скидки',
    tr: 'indirim, iskonto, indirim oranı, iskonto oranı',
    ja: '割引, 割引率, 値引, 値引き, 値引率',
    zh: '折扣, 折扣率, 优惠, 減價',
  },
  saleDate: {
    en: 'sale from, sale to, sale start, sale end, sale start date, sale end date, sale until, sale price from, sale price to, sale price dates, sale price effective date, special price from, special price to, special price from date, special price to date, special from, special to, offer from, offer to, offer until, offer end, offer valid until, promo from, promo to, promo start, promo end, promotion start, promotion end, discount from, discount until, discount start, discount end, price valid from, price valid to, valid from, valid to, valid until, sale starts, sale ends, date sale price starts, date sale price ends',
    de: 'angebot von, angebot bis, angebot ab, aktion von, aktion bis, aktion ab, aktionsbeginn, aktionsende, aktionszeitraum, angebotszeitraum, angebotsbeginn, angebotsende, sonderpreis von, sonderpreis bis, sonderpreis ab, aktionspreis von, aktionspreis bis, gültig von, gültig ab, gültig bis, preis gültig ab, rabatt bis, rabatt von',
    fr: 'promo du, promo au, début promo, fin promo, date début promo, date fin promo, début promotion, fin promotion, soldes du, soldes au, valable du, valable au, valable jusqu au, date début soldes, date fin soldes',
    es: 'oferta desde, oferta hasta, inicio oferta, fin oferta, fecha inicio oferta, fecha fin oferta, válido desde, válido hasta, promoción desde, promoción hasta',
    it: 'offerta dal, offerta al, inizio offerta, fine offerta, inizio promo, fine promo, valido dal, valido al, valido fino al, promozione dal, promozione al',
    pt: 'promoção de, promoção até, início promoção, fim promoção, início da promoção, fim da promoção, válido de, válido até',
    nl: 'actie van, actie tot, aanbieding van, aanbieding tot, begin actie, einde actie, geldig van, geldig tot, actieprijs van, actieprijs tot',
    pl: 'promocja od, promocja do, początek promocji, koniec promocji, ważne od, ważne do, data rozpoczęcia promocji, data zakończenia promocji',
    cs: 'akce od, akce do, začátek akce, konec akce, platnost od, platnost do, platí od, platí do, sleva od, sleva do',
    ru: 'акция с, акция до, начало акции, конец акции, действует с, действует до, дата начала скидки, дата окончания скидки',
    tr: 'kampanya başlangıç, kampanya bitiş, indirim başlangıç, indirim bitiş, kampanya başlangıç tarihi, kampanya bitiş tarihi, indirim başlangıç tarihi, indirim bitiş tarihi',
    ja: 'セール開始日, セール終了日, セール期間, 特価開始日, 特価終了日, 販売期間開始日, 販売期間終了日',
    zh: '促销开始, 促销结束, 促销开始时间, 促销结束时间, 活动开始时间, 活动结束时间, 特價開始, 特價結束, 促销开始日期, 促销结束日期',
  },
  discontinued: {
    en: 'discontinued, is discontinued, end of life, eol, obsolete, phased out, phase out, b stock, b ware, deleted, delisted, withdrawn',
    de: 'auslaufartikel, auslauf, auslaufend, ausgelaufen, eingestellt, abgekündigt, restposten, b ware, gelöscht, nicht mehr lieferbar, löschkennzeichen, auslaufmodell',
    fr: 'arrêté, discontinué, fin de série, fin de vie, supprimé, obsolète',
    es: 'descatalogado, descontinuado, obsoleto, eliminado, fin de serie',
    it: 'fuori produzione, fuori catalogo, dismesso, obsoleto, fine serie, eliminato',
    pt: 'descontinuado, fora de linha, obsoleto, eliminado, excluído',
    nl: 'uitlopend, uit assortiment, uitloopartikel, vervallen, verwijderd',
    pl: 'wycofany, wycofane, koniec serii, usunięty, wycofany z oferty',
    cs: 'ukončeno, vyřazeno, výroba ukončena, doprodej, smazáno',
    ru: 'снят с производства, снято с производства, выведен, удален, архив, удалён',
    tr: 'üretimi durdu, üretimden kalktı, silindi, satıştan kaldırıldı',
    ja: '廃番, 生産終了, 販売終了, 取扱終了, 廃盤',
    zh: '停产, 停售, 下市, 停產, 已删除',
  },
  currency: {
    en: 'currency, currency code, price currency',
    de: 'währung, waehrung, währungscode',
    fr: 'devise, monnaie, code devise',
    es: 'moneda, divisa',
    it: 'valuta, moneta',
    pt: 'moeda, divisa',
    nl: 'valuta, munteenheid',
    pl: 'waluta',
    cs: 'měna',
    ru: 'валюта',
    tr: 'para birimi, döviz, döviz cinsi',
    ja: '通貨',
    zh: '货币, 币种, 貨幣, 幣別',
  },
  gtin: {
    en: 'ean, gtin, upc, barcode, isbn, ean13, gtin13, upc code, ean code, bar code, gtin14, ean upc, jan, isbn13, ean gtin, upc ean, gtin ean',
    de: 'ean, gtin, barcode, strichcode, ean code, ean nummer, gtin nummer',
    fr: 'ean, code barre, code barres, gencod, gencode, code ean, code à barres',
    es: 'ean, código de barras, cod barras, código ean',
    it: 'ean, codice a barre, barcode, codice ean, cod a barre',
    pt: 'ean, código de barras, cód barras',
    nl: 'ean, barcode, streepjescode, ean code',
    pl: 'ean, kod kreskowy, kod ean',
    cs: 'ean, čárový kód, ean kód, kód ean',
    ru: 'штрихкод, штрих код, ean, шк, баркод',
    tr: 'barkod, ean, barkod no, barkod numarası',
    ja: 'jan, janコード, バーコード, ean',
    zh: '条码, 条形码, 國際條碼, 條碼, 商品条码, 国际条码',
  },
  mpn: {
    en: 'mpn, manufacturer part number, manufacturer number, manufacturer code, supplier sku, supplier code, supplier article number, vendor sku, vendor code, manufacturer sku, oem number, manufacturer no, supplier item number, vendor part number, alternative sku, old sku, hs code, tariff code, customs number, manufacturer part no',
    de: 'mpn, herstellernummer, hersteller artikelnummer, herstellernr, hersteller nr, lieferantenartikelnummer, lieferanten artikelnummer, oem nummer, hersteller art nr, lieferanten nr, lieferantennummer, zolltarifnummer, alte artikelnummer, herstellerartikelnummer',
    fr: 'référence fabricant, réf fabricant, référence fournisseur, réf fournisseur, code fabricant, code fournisseur, code douanier',
    es: 'referencia fabricante, referencia proveedor, ref fabricante, código fabricante, código proveedor',
    it: 'codice produttore, codice fornitore, rif produttore, cod fornitore, cod produttore',
    pt: 'referência fabricante, código fabricante, referência fornecedor, código do fornecedor, ncm',
    nl: 'fabrikantnummer, leveranciersnummer, fabrikantcode, leverancierscode, artikelnummer leverancier, artikelnummer fabrikant',
    pl: 'kod producenta, kod dostawcy, symbol producenta, numer producenta, indeks dostawcy',
    cs: 'kód výrobce, kód dodavatele, číslo výrobce, part number',
    ru: 'артикул производителя, код производителя, артикул поставщика, код поставщика',
    tr: 'üretici kodu, tedarikçi kodu, üretici parça numarası',
    ja: 'メーカー品番, メーカー型番, 仕入先コード',
    zh: '厂家货号, 供应商编码, 制造商编号, 廠商料號, 厂家编码',
  },
  parent: {
    en: 'parent sku, parent, parent id, parent code, group id, item group id, group code, parent item, parent product, product group id, style code, style, variant group, variant of, model code, master sku, parent reference, style no, group sku, product group code, variation group, model no',
    de: 'elternartikel, eltern sku, hauptartikel, hauptartikelnummer, vaterartikel, vaterartikelnummer, übergeordnete artikelnummer, gruppen id, variantengruppe, masterartikel, modellcode, stammartikel, hauptartikelnr, eltern artikelnummer, variante von, übergeordneter artikel',
    fr: 'référence parent, sku parent, parent, produit parent, réf parent, groupe de variantes, modèle code',
    es: 'sku padre, padre, referencia padre, producto padre, código padre, grupo de variantes',
    it: 'sku padre, padre, codice padre, articolo padre, prodotto padre, codice modello, parent',
    pt: 'sku pai, pai, código pai, produto pai, referência pai',
    nl: 'hoofdartikel, parent sku, hoofdproduct, hoofdartikelnummer, variantgroep',
    pl: 'sku nadrzędne, produkt nadrzędny, kod nadrzędny, grupa wariantów, kod główny, symbol nadrzędny',
    cs: 'nadřazený produkt, nadřazené sku, rodič, kód rodiče, skupina variant, hlavní kód',
    ru: 'родительский артикул, артикул родителя, родитель, группа вариантов, код модели, основной артикул, родительский товар',
    tr: 'ana ürün, ana ürün kodu, üst ürün, ana sku, varyant grubu, model kodu, ana stok kodu',
    ja: '親コード, 親sku, 親商品コード, グループコード, 親品番, 親商品',
    zh: '父sku, 父商品, 主货号, 父体sku, 组编号, spu, 主貨號, 父级编码, 款式编号',
  },
  id: {
    en: 'id, product id, article id, internal id, record id, uid',
    de: 'id, produkt id, artikel id, interne id, kennung',
    fr: 'id, identifiant, id produit',
    es: 'id, identificador, id producto',
    it: 'id, identificativo, id prodotto',
    pt: 'id, identificador, id produto',
    nl: 'id, product id, artikel id',
    pl: 'id, identyfikator, id produktu, id towaru',
    cs: 'id, id zboží, id produktu, identifikátor',
    ru: 'id, ид, идентификатор, id товара',
    tr: 'id, ürün id, kimlik',
    ja: 'id, 商品id, 識別子',
    zh: 'id, 商品id, 产品id, 标识',
  },
  position: {
    en: 'pos, position, line, line number, row, sort, sort order, #, s no, serial no, sr no, order, rank, no',
    de: 'pos, position, lfd nr, laufende nummer, zeile, sortierung, reihenfolge, nr, lfdnr',
    fr: 'pos, position, ligne, tri, ordre, n, no, numéro',
    es: 'pos, posición, línea, orden, nº, no, núm, número',
    it: 'pos, posizione, riga, ordine, n, nr, numero',
    pt: 'pos, posição, linha, ordem, nº, no, número',
    nl: 'pos, positie, regel, volgorde, nr',
    pl: 'lp, poz, pozycja, kolejność, nr',
    cs: 'poř, pořadí, pozice, č, číslo, poř č',
    ru: '№, no, п п, № п п, позиция, порядок, n',
    tr: 'sıra, sıra no, sn, no',
    ja: 'no, 番号, 順番, 行',
    zh: '序号, 序號, 排序, no',
  },
  url: {
    en: 'handle, slug, url key, url handle, permalink, seo url, url slug, friendly url, url rewrite, product handle',
    de: 'slug, handle, url schlüssel, permalink, seo url, url key',
    fr: 'slug, handle, url simplifiée, url rewriting',
    es: 'slug, handle, url amigable',
    it: 'slug, handle, url semplificato',
    pt: 'slug, handle, url amigável',
    nl: 'slug, handle',
    pl: 'slug, handle, przyjazny url',
    cs: 'slug, handle, seo url',
    ru: 'slug, чпу, handle, символьный код',
    tr: 'slug, handle, seo url',
    ja: 'slug, ハンドル, スラッグ',
    zh: 'slug, handle, 别名',
  },
  page: {
    en: 'url, link, page url, product url, product link, page, product page, web address, website, deeplink, deep link, canonical url, web link, video, video url, pdf, data sheet',
    de: 'url, link, produktlink, produkt url, artikelseite, webseite, deeplink, produktseite, video, datenblatt',
    fr: 'url, lien, lien produit, page, url produit, site web, vidéo, fiche technique',
    es: 'url, enlace, enlace del producto, página, sitio web, vídeo, ficha técnica',
    it: 'url, link, link prodotto, pagina, sito web, scheda tecnica',
    pt: 'url, link, página, link do produto, ficha técnica',
    nl: 'url, link, productlink, pagina, website',
    pl: 'url, link, adres strony, strona, link do produktu',
    cs: 'url, odkaz, stránka, odkaz na produkt',
    ru: 'url, ссылка, ссылка на товар, страница, сайт',
    tr: 'url, link, bağlantı, ürün linki, sayfa',
    ja: 'url, リンク, 商品url, 商品ページ, ページ',
    zh: 'url, 链接, 商品链接, 网址, 連結, 網址',
  },
  image: {
    en: 'image, images, image url, image link, picture, pictures, photo, photos, image src, image urls, main image, additional images, additional image, additional image link, img, thumbnail, picture url, photo url, gallery, more images, product image, product images, image address, image file, images url, img url',
    de: 'bild, bilder, bild url, bilder url, bildurl, produktbild, produktbilder, foto, fotos, hauptbild, zusatzbilder, weitere bilder, bildlink, abbildung, artikelbild, bildadresse, bilddatei, bildpfad, zusatzbild, galerie, bild link',
    fr: 'image, images, photo, photos, url image, lien image, image principale, images supplémentaires, visuel, visuels, url photo, images url',
    es: 'imagen, imágenes, foto, fotos, url imagen, imagen principal, imágenes adicionales, enlace imagen, url de la imagen, fotografía',
    it: 'immagine, immagini, foto, url immagine, immagine principale, link immagine, immagini aggiuntive, url foto',
    pt: 'imagem, imagens, foto, fotos, url imagem, imagem principal, url da imagem, imagens adicionais',
    nl: 'afbeelding, afbeeldingen, foto, foto s, fotos, afbeelding url, hoofdafbeelding, plaatje, afbeeldinglink, extra afbeeldingen',
    pl: 'zdjęcie, zdjęcia, obraz, obrazek, grafika, url zdjęcia, link do zdjęcia, obrazy, zdjęcie główne, foto, dodatkowe zdjęcia',
    cs: 'obrázek, obrázky, fotka, foto, url obrázku, hlavní obrázek, fotografie, další obrázky',
    ru: 'изображение, изображения, фото, картинка, картинки, ссылка на фото, ссылка на изображение, фотографии, фотография',
    tr: 'resim, resimler, görsel, görseller, fotoğraf, resim url, görsel url, ürün resmi, resim linki, ürün görseli, resim yolu',
    ja: '画像, 画像url, 商品画像, 写真, メイン画像, 画像リンク, 商品画像url',
    zh: '图片, 图片链接, 商品图片, 主图, 图片地址, 图片url, 產品圖片, 圖片, 圖片網址, 照片, 图片网址, 主圖',
  },
  category: {
    en: 'category, categories, product category, collection, collections, department, main category, category path, category name, product type, group, product group, item group, section, type',
    de: 'kategorie, kategorien, warengruppe, produktgruppe, produktkategorie, hauptkategorie, artikelgruppe, sortiment, rubrik, kategoriepfad, gruppe, abteilung, produkttyp, hauptwarengruppe',
    fr: 'catégorie, catégories, famille, rayon, collection, type de produit, groupe, rubrique, catégorie principale',
    es: 'categoría, categorías, familia, sección, departamento, tipo de producto, grupo, colección',
    it: 'categoria, categorie, famiglia, reparto, gruppo, tipo di prodotto, collezione, gruppo merceologico',
    pt: 'categoria, categorias, família, secção, departamento, grupo, coleção, tipo de produto',
    nl: 'categorie, categorieën, productgroep, hoofdcategorie, groep, rubriek, afdeling, productcategorie, artikelgroep',
    pl: 'kategoria, kategorie, grupa, grupa towarowa, dział, kategoria główna, rodzaj',
    cs: 'kategorie, skupina, hlavní kategorie, oddělení, sortiment, skupina zboží, typ zboží',
    ru: 'категория, категории, группа, раздел, группа товаров, тип товара, рубрика',
    tr: 'kategori, kategoriler, ana kategori, ürün grubu, grup, ürün kategorisi, reyon',
    ja: 'カテゴリ, カテゴリー, 分類, 商品カテゴリ, ジャンル, 部門, 商品分類',
    zh: '分类, 类别, 商品分类, 产品分类, 類別, 分類, 类目, 產品類別, 商品類別, 品类',
  },
  subcategory: {
    en: 'subcategory, sub category, sub group, subgroup, second category, child category',
    de: 'unterkategorie, untergruppe, unterwarengruppe, subkategorie',
    fr: 'sous catégorie, sous famille, sous rayon',
    es: 'subcategoría, subfamilia, sub categoría',
    it: 'sottocategoria, sottofamiglia, sottogruppo',
    pt: 'subcategoria, subfamília',
    nl: 'subcategorie, subgroep',
    pl: 'podkategoria, podgrupa',
    cs: 'podkategorie, podskupina',
    ru: 'подкатегория, подгруппа, подраздел',
    tr: 'alt kategori, alt grup',
    ja: 'サブカテゴリ, サブカテゴリー, 小分類',
    zh: '子类, 二级分类, 子分类, 次類別, 子類別',
  },
  quantity: {
    en: 'quantity, qty, stock, stock quantity, inventory, on hand, stock level, available quantity, units in stock, stock qty, qty on hand, inventory quantity, in stock quantity, stock on hand, available stock, soh, available, in stock, quantity in stock, units available',
    de: 'menge, bestand, lager, lagerbestand, lagermenge, stückzahl, anzahl, verfügbare menge, lagerstand, verfügbar, vorrat, auf lager, freier bestand, warenbestand',
    fr: 'quantité, qté, stock, quantité en stock, stock disponible, disponible, qte, en stock, inventaire',
    es: 'cantidad, existencias, stock, inventario, unidades, disponible, cant, en stock, cantidad disponible',
    it: 'quantità, giacenza, qta, disponibilità, magazzino, qtà, stock, scorte, pezzi disponibili, disponibile, esistenza',
    pt: 'quantidade, estoque, stock, existências, qtd, qtde, inventário, em estoque, disponível, quantidade em estoque',
    nl: 'voorraad, aantal, op voorraad, voorraadaantal, hoeveelheid, beschikbaar, voorraadniveau',
    pl: 'ilość, stan, stan magazynowy, magazyn, zapas, liczba sztuk, dostępna ilość, na stanie, stany',
    cs: 'množství, sklad, skladem, počet kusů, zásoba, počet, stav skladu, skladové množství, skladová zásoba, na skladě',
    ru: 'количество, остаток, остатки, кол во, наличие, склад, на складе, в наличии, остаток на складе, количество на складе',
    tr: 'miktar, stok, adet, stok adedi, stok miktarı, envanter, mevcut, stok durumu, kalan stok',
    ja: '在庫, 在庫数, 数量, 在庫数量, 個数',
    zh: '库存, 数量, 库存数量, 存货, 庫存, 數量, 庫存數量, 库存量',
  },
  availability: {
    en: 'availability, stock status, in stock, available, stock state, status stock, availability status, stock availability, stock, is in stock',
    de: 'verfügbarkeit, lagerstatus, auf lager, lieferstatus, verfügbar, bestandsstatus, lager, lieferbar, lieferbarkeit, bestand',
    fr: 'disponibilité, en stock, statut du stock, disponible, état du stock, stock',
    es: 'disponibilidad, en stock, disponible, estado de stock, existencias, stock',
    it: 'disponibilità, disponibile, stato magazzino, giacenza',
    pt: 'disponibilidade, disponível, em estoque, estoque, stock',
    nl: 'beschikbaarheid, op voorraad, voorraadstatus, leverbaar, beschikbaar, voorraad',
    pl: 'dostępność, dostępny, dostępne, magazyn, stan',
    cs: 'dostupnost, skladem, sklad, na skladě',
    ru: 'доступность, наличие, в наличии, есть в наличии, статус наличия',
    tr: 'stok durumu, stokta, mevcut, stok, uygunluk, stokta var mı',
    ja: '在庫状況, 在庫状態, 販売状況, 在庫',
    zh: '库存状态, 是否有货, 庫存狀態, 供货状态, 库存',
  },
  weight: {
    en: 'weight, item weight, shipping weight, product weight, net weight, gross weight, unit weight, package weight',
    de: 'gewicht, versandgewicht, artikelgewicht, nettogewicht, bruttogewicht, produktgewicht, paketgewicht',
    fr: 'poids, poids net, poids brut, masse',
    es: 'peso, peso neto, peso bruto',
    it: 'peso, peso netto, peso lordo',
    pt: 'peso, peso líquido, peso bruto',
    nl: 'gewicht, nettogewicht, brutogewicht, verzendgewicht',
    pl: 'waga, masa, ciężar, waga netto, waga brutto',
    cs: 'hmotnost, váha, hmotnost netto, hmotnost brutto',
    ru: 'вес, масса, вес нетто, вес брутто',
    tr: 'ağırlık, kilo, net ağırlık, brüt ağırlık',
    ja: '重量, 重さ, 質量',
    zh: '重量, 净重, 毛重, 淨重',
  },
  visible: {
    en: 'active, visible, published, enabled, online, is active, status, show, visibility, publish, displayed, product status, available online, is visible, is published, live, for sale',
    de: 'aktiv, sichtbar, veröffentlicht, online, status, sichtbarkeit, freigegeben, angezeigt, anzeigen, im shop, freigeschaltet',
    fr: 'actif, visible, publié, en ligne, statut, visibilité, affiché, activé',
    es: 'activo, visible, publicado, en línea, estado, visibilidad, habilitado, mostrar',
    it: 'attivo, visibile, pubblicato, online, stato, visibilità, abilitato',
    pt: 'ativo, visível, publicado, online, estado, status, visibilidade, situação',
    nl: 'actief, zichtbaar, gepubliceerd, online, status, zichtbaarheid',
    pl: 'aktywny, widoczny, opublikowany, status, widoczność, online, aktywne, widoczne',
    cs: 'aktivní, viditelný, zveřejněno, stav, status, viditelnost, zobrazit, viditelnost zboží',
    ru: 'активен, видимость, опубликован, статус, показывать, активность, активный, публикация, отображать, виден',
    tr: 'aktif, görünür, yayında, durum, yayınlandı, aktif mi, görünürlük',
    ja: '公開, 公開状態, 表示, ステータス, 状態, 有効, 公開設定',
    zh: '上架, 状态, 是否上架, 启用, 狀態, 是否显示, 上架状态, 是否啟用',
  },
  hidden: {
    en: 'hidden, inactive, disabled, is hidden, draft, unpublished, archived',
    de: 'versteckt, ausgeblendet, inaktiv, verborgen, gesperrt, deaktiviert',
    fr: 'caché, masqué, inactif, désactivé',
    es: 'oculto, inactivo, deshabilitado',
    it: 'nascosto, inattivo, disabilitato',
    pt: 'oculto, inativo, desativado',
    nl: 'verborgen, inactief, uitgeschakeld',
    pl: 'ukryty, nieaktywny, ukryte',
    cs: 'skrytý, neaktivní, skrýt, skryto',
    ru: 'скрыт, скрытый, неактивен, скрыть',
    tr: 'gizli, pasif',
    ja: '非公開, 非表示',
    zh: '隐藏, 下架, 隱藏',
  },
  size: {
    en: 'size, sizes, clothing size, shoe size',
    de: 'größe, größen, konfektionsgröße, schuhgröße, kleidergröße',
    fr: 'taille, tailles, pointure',
    es: 'talla, tamaño, tallas, número de calzado',
    it: 'taglia, taglie, misura',
    pt: 'tamanho, tamanhos',
    nl: 'maat, maten, schoenmaat',
    pl: 'rozmiar, rozmiary',
    cs: 'velikost, velikosti',
    ru: 'размер, размеры',
    tr: 'beden, numara, boyut',
    ja: 'サイズ',
    zh: '尺码, 尺寸, 尺碼, 码数',
  },
  color: {
    en: 'color, colour, colors, colours, color name, colour name',
    de: 'farbe, farben, farbton, farbname',
    fr: 'couleur, couleurs, coloris, teinte',
    es: 'color, colores',
    it: 'colore, colori, tinta',
    pt: 'cor, cores',
    nl: 'kleur, kleuren',
    pl: 'kolor, kolory, barwa',
    cs: 'barva, barvy',
    ru: 'цвет, цвета',
    tr: 'renk, renkler',
    ja: '色, カラー',
    zh: '颜色, 顏色',
  },
  option: {
    en: 'flavor, flavour, scent, fragrance, variant, variation, option, variant name, volume, length, finish, style name, memory, storage, capacity, pack size, roast, grind',
    de: 'variante, ausführung, geschmack, duft, sorte, geschmacksrichtung, variation, option, länge, füllmenge, inhalt, volumen, variantenname',
    fr: 'variante, déclinaison, goût, parfum, saveur, option, contenance, longueur',
    es: 'variante, sabor, aroma, opción, variación, contenido, capacidad',
    it: 'variante, gusto, profumo, opzione, formato, capacità, aroma',
    pt: 'variante, sabor, aroma, opção, variação, capacidade',
    nl: 'variant, smaak, geur, optie, uitvoering, inhoud',
    pl: 'wariant, smak, zapach, opcja, pojemność',
    cs: 'varianta, příchuť, vůně, provedení, objem',
    ru: 'вариант, вкус, аромат, опция, объем, объём, модификация',
    tr: 'varyant, seçenek, koku, aroma, hacim',
    ja: 'バリエーション, 種類, 味, 香り, 容量',
    zh: '规格, 款式, 口味, 容量, 變體, 規格, 选项',
  },
  material: {
    en: 'material, fabric, composition',
    de: 'material, stoff, materialzusammensetzung',
    fr: 'matière, matériau, composition',
    es: 'material, composición, tejido',
    it: 'materiale, composizione, tessuto',
    pt: 'material, composição, tecido',
    nl: 'materiaal, stof',
    pl: 'materiał, skład, tkanina',
    cs: 'materiál, složení',
    ru: 'материал, состав, ткань',
    tr: 'malzeme, kumaş, materyal',
    ja: '素材, 材質',
    zh: '材质, 面料, 材質, 材料',
  },
  none: {
    en: 'brand, vendor, manufacturer, supplier, tags, keywords, seo title, seo description, meta title, meta description, meta keywords, notes, note, comment, comments, remark, remarks, created, updated, created at, updated at, date, last modified, modified, unit, units, uom, unit of measure, pack, pack quantity, moq, minimum order, minimum order quantity, min order, min qty, min stock, minimum stock, reorder level, reorder point, max stock, dimensions, length mm, width, height, depth, warranty, condition, gender, age group, country of origin, origin, made in, lead time, delivery time, shipping class, gift card, seller, rating, reviews, season, year, language, location, warehouse, bin, shelf, incoming, reserved, on order, ordered, reserved stock, sold, units per carton, case pack, carton quantity, pack unit, image alt text, alt text, image alt, image title, quantity on order, order quantity, new, featured, tax class, expiry date, release date, from date, to date, valid from, valid to, image count, google product category, sold quantity, min order qty, max order quantity, order unit, restock date, image position',
    de: 'marke, hersteller, lieferant, schlagworte, stichworte, seo titel, meta titel, meta beschreibung, bemerkung, bemerkungen, notiz, notizen, kommentar, datum, erstellt, geändert, einheit, me, mengeneinheit, ve, vpe, verpackungseinheit, mindestmenge, mindestbestellmenge, mindestbestand, meldebestand, abmessungen, maße, länge mm, breite, höhe, tiefe, garantie, zustand, geschlecht, herkunftsland, ursprungsland, herkunft, lieferzeit, saison, jahr, sprache, lagerort, lagerplatz, reserviert, bestellt, bestellmenge, stück, stk, anzahl pro ve, bild alt text, alt text, steuerklasse, versandklasse, mhd, erscheinungsdatum, gültig ab, gültig bis, anzahl bilder, verkauft, abnahmemenge, zulauf, wareneingang, inhalt einheit, neu, verpackung, packungsgröße, karton',
    fr: 'marque, fabricant, fournisseur, mots clés, étiquettes, balises, titre seo, méta titre, méta description, remarque, remarques, commentaire, notes, date, unité, colisage, conditionnement, quantité minimum, quantité minimale, stock minimum, seuil, dimensions, largeur, hauteur, profondeur, garantie, état, genre, pays d origine, origine, délai, délai de livraison, saison, année, langue, emplacement, réservé, en commande, par carton, texte alternatif, nouveauté',
    es: 'marca, fabricante, proveedor, etiquetas, palabras clave, título seo, meta título, meta descripción, observaciones, notas, comentario, comentarios, fecha, unidad, unidad de medida, cantidad mínima, pedido mínimo, stock mínimo, dimensiones, ancho, alto, largo, profundidad, garantía, estado del producto, género, país de origen, origen, plazo de entrega, temporada, año, idioma, ubicación, almacén, reservado, unidades por caja, embalaje, novedad',
    it: 'marca, marchio, produttore, fornitore, tag, parole chiave, titolo seo, meta titolo, meta descrizione, note, commento, data, unità, unità di misura, um, u m, quantità minima, ordine minimo, scorta minima, dimensioni, larghezza, altezza, lunghezza, profondità, garanzia, condizione, genere, paese di origine, origine, tempi di consegna, stagione, anno, lingua, ubicazione, pezzi per confezione, confezione, imballo, novità',
    pt: 'marca, fabricante, fornecedor, etiquetas, palavras chave, título seo, observações, notas, comentário, data, unidade, unidade de medida, quantidade mínima, pedido mínimo, estoque mínimo, dimensões, largura, altura, comprimento, profundidade, garantia, condição, género, gênero, país de origem, origem, prazo de entrega, época, ano, idioma, localização, armazém, reservado, unidades por caixa, embalagem',
    nl: 'merk, fabrikant, leverancier, trefwoorden, labels, seo titel, opmerking, opmerkingen, notitie, datum, eenheid, besteleenheid, minimale afname, minimale bestelhoeveelheid, minimumvoorraad, afmetingen, breedte, hoogte, lengte, diepte, garantie, conditie, geslacht, land van herkomst, herkomst, levertijd, seizoen, jaar, taal, locatie, gereserveerd, in bestelling, per doos, verpakking, nieuw',
    pl: 'marka, producent, dostawca, tagi, słowa kluczowe, tytuł seo, uwagi, notatki, komentarz, data, jednostka, jm, j m, jednostka miary, minimalna ilość, minimum zamówienia, minimalny stan, wymiary, szerokość, wysokość, długość, głębokość, gwarancja, stan produktu, płeć, kraj pochodzenia, pochodzenie, czas dostawy, sezon, rok, język, lokalizacja, zarezerwowane, opakowanie, sztuk w opakowaniu, nowość, szt',
    cs: 'značka, výrobce, dodavatel, štítky, klíčová slova, seo titulek, poznámka, poznámky, komentář, datum, jednotka, mj, měrná jednotka, minimální množství, minimální odběr, minimální zásoba, rozměry, šířka, výška, délka, hloubka, záruka, stav zboží, pohlaví, země původu, původ, dodací lhůta, sezóna, rok, jazyk, umístění, rezervováno, balení, kusů v balení, novinka, ks',
    ru: 'бренд, производитель, поставщик, марка, теги, метки, ключевые слова, seo заголовок, примечание, примечания, комментарий, дата, единица, единица измерения, ед изм, ед, минимальный заказ, минимальное количество, минимальный остаток, габариты, ширина, высота, длина, глубина, гарантия, состояние, пол, страна, страна происхождения, страна производства, срок поставки, сезон, год, язык, место хранения, резерв, в резерве, упаковка, в упаковке, новинка, шт, хит',
    tr: 'marka, üretici, tedarikçi, etiketler, anahtar kelimeler, seo başlığı, not, notlar, yorum, tarih, birim, ölçü birimi, minimum sipariş, minimum miktar, asgari stok, boyutlar, genişlik, yükseklik, uzunluk, derinlik, garanti, cinsiyet, menşei, menşe, teslim süresi, sezon, yıl, dil, konum, depo, rezerve, koli adedi, paket, yeni',
    ja: 'ブランド, メーカー, 仕入先, タグ, キーワード, 備考, メモ, コメント, 日付, 単位, 最小注文数, 最低在庫, 寸法, 幅, 高さ, 長さ, 奥行, 保証, 性別, 原産国, 納期, シーズン, 年, 言語, 保管場所, 入数, 発売日, 更新日, 登録日',
    zh: '品牌, 厂家, 供应商, 制造商, 标签, 关键词, 备注, 评论, 日期, 单位, 起订量, 最小起订量, 最低库存, 外形尺寸, 宽度, 高度, 长度, 保修, 性别, 产地, 原产地, 交货期, 季节, 年份, 语言, 仓库, 货位, 装箱数, 供應商, 廠商, 備註, 單位, 產地, 标签词',
  },
} as const satisfies Readonly<Record<string, Words>>;

/** The same for contacts. */
const CONTACT_WORDS = {
  email: {
    en: 'email, e mail, email address, mail, e mail address, mail address, primary email, contact email, email 1, customer email, work email',
    de: 'email, e mail, mail, e mail adresse, mailadresse, emailadresse, kontakt email',
    fr: 'email, e mail, courriel, adresse email, adresse e mail, mail, adresse mail, mél, adresse électronique',
    es: 'email, correo, correo electrónico, e mail, dirección de correo, mail, dirección de correo electrónico',
    it: 'email, e mail, posta elettronica, indirizzo email, mail, indirizzo e mail',
    pt: 'email, e mail, correio eletrónico, correio eletrônico, endereço de email, endereço de e mail',
    nl: 'email, e mail, e mailadres, mailadres, emailadres, mail',
    pl: 'email, e mail, adres email, adres e mail, mail, poczta',
    cs: 'email, e mail, e mailová adresa, emailová adresa, mail',
    ru: 'email, e mail, почта, электронная почта, эл почта, адрес электронной почты, имейл, емейл',
    tr: 'email, e posta, eposta, e posta adresi, eposta adresi, mail',
    ja: 'email, メール, メールアドレス, eメール, 電子メール',
    zh: 'email, 邮箱, 电子邮件, 电子邮箱, 電子郵件, 信箱, 郵箱, 邮件地址',
  },
  firstName: {
    en: 'first name, given name, forename, firstname',
    de: 'vorname',
    fr: 'prénom',
    es: 'nombre de pila, primer nombre',
    it: 'nome di battesimo',
    pt: 'primeiro nome, nome próprio',
    nl: 'voornaam',
    pl: 'imię',
    cs: 'křestní jméno',
    ru: 'имя',
    tr: 'ad, adı',
    ja: '名',
    zh: '名, 名字',
  },
  lastName: {
    en: 'last name, surname, family name, lastname',
    de: 'nachname, familienname, zuname',
    fr: 'nom de famille',
    es: 'apellido, apellidos',
    it: 'cognome',
    pt: 'apelido, sobrenome, último nome',
    nl: 'achternaam, familienaam',
    pl: 'nazwisko',
    cs: 'příjmení',
    ru: 'фамилия',
    tr: 'soyad, soyadı, soyisim',
    ja: '姓, 苗字, 名字',
    zh: '姓, 姓氏',
  },
  name: {
    en: 'name, full name, contact name, customer name, display name, contact',
    de: 'name, vollständiger name, ansprechpartner, kontakt, kundenname, vor und nachname, ganzer name',
    fr: 'nom, nom complet, nom et prénom, nom du contact',
    es: 'nombre, nombre completo, nombre y apellidos, contacto',
    it: 'nome, nome completo, nominativo, nome e cognome',
    pt: 'nome, nome completo, contacto, contato',
    nl: 'naam, volledige naam, contactpersoon',
    pl: 'imię i nazwisko, nazwa, pełna nazwa, kontakt',
    cs: 'jméno, jméno a příjmení, celé jméno',
    ru: 'фио, полное имя, контактное лицо, имя и фамилия',
    tr: 'ad soyad, adı soyadı, isim, isim soyisim, tam ad',
    ja: '氏名, 名前, お名前, 顧客名',
    zh: '姓名, 客户名称, 联系人, 全名, 客戶姓名, 聯絡人',
  },
  phone: {
    en: 'phone, telephone, phone number, tel, telephone number, work phone, home phone, phone 1, contact number',
    de: 'telefon, tel, telefonnummer, rufnummer, festnetz, tel nr, telefon geschäftlich, telefon privat',
    fr: 'téléphone, tél, numéro de téléphone, téléphone fixe',
    es: 'teléfono, tel, número de teléfono, tfno',
    it: 'telefono, tel, numero di telefono',
    pt: 'telefone, tel, número de telefone',
    nl: 'telefoon, tel, telefoonnummer',
    pl: 'telefon, tel, numer telefonu, nr telefonu',
    cs: 'telefon, tel, telefonní číslo',
    ru: 'телефон, тел, номер телефона',
    tr: 'telefon, tel, telefon numarası',
    ja: '電話, 電話番号, tel',
    zh: '电话, 电话号码, 電話, 電話號碼',
  },
  mobile: {
    en: 'mobile, mobile phone, cell, cell phone, mobile number, cellphone',
    de: 'mobil, handy, mobiltelefon, mobilnummer, handynummer',
    fr: 'mobile, portable, téléphone portable, téléphone mobile',
    es: 'móvil, celular, teléfono móvil',
    it: 'cellulare, telefono cellulare',
    pt: 'telemóvel, celular',
    nl: 'mobiel, mobiele telefoon, gsm',
    pl: 'komórka, telefon komórkowy',
    cs: 'mobil, mobilní telefon',
    ru: 'мобильный, мобильный телефон, сотовый',
    tr: 'cep, cep telefonu, gsm',
    ja: '携帯, 携帯電話, 携帯番号',
    zh: '手机, 手机号, 手機, 手机号码',
  },
  companyName: {
    en: 'company, company name, organization, organisation, business, business name',
    de: 'firma, unternehmen, firmenname, organisation',
    fr: 'société, entreprise, raison sociale, organisation',
    es: 'empresa, compañía, razón social, organización',
    it: 'azienda, società, ditta, ragione sociale',
    pt: 'empresa, companhia, razão social, organização',
    nl: 'bedrijf, bedrijfsnaam, organisatie, firma',
    pl: 'firma, nazwa firmy, przedsiębiorstwo',
    cs: 'firma, společnost, název firmy',
    ru: 'компания, организация, фирма, название компании',
    tr: 'şirket, firma, şirket adı, firma adı',
    ja: '会社, 会社名, 企業名',
    zh: '公司, 公司名称, 企业, 公司名稱',
  },
  address: {
    en: 'address, street, street address, address line 1, address 1, address line',
    de: 'straße, adresse, anschrift, straße und hausnummer, straße hausnummer, straße nr, str',
    fr: 'adresse, rue, adresse postale, adresse 1',
    es: 'dirección, calle, domicilio',
    it: 'indirizzo, via',
    pt: 'endereço, morada, rua',
    nl: 'adres, straat, straat en huisnummer, straatnaam',
    pl: 'adres, ulica',
    cs: 'adresa, ulice',
    ru: 'адрес, улица',
    tr: 'adres, sokak, cadde',
    ja: '住所',
    zh: '地址, 街道, 详细地址',
  },
  houseNumber: {
    en: 'house number, street number',
    de: 'hausnummer, hausnr',
    fr: 'numéro de rue',
    nl: 'huisnummer',
    it: 'numero civico, civico',
    cs: 'číslo popisné, čp',
    pl: 'nr domu, numer domu',
    ru: 'дом',
  },
  city: {
    en: 'city, town',
    de: 'ort, stadt, wohnort',
    fr: 'ville, commune, localité',
    es: 'ciudad, población, localidad',
    it: 'città, comune, località',
    pt: 'cidade, localidade',
    nl: 'plaats, stad, woonplaats',
    pl: 'miasto, miejscowość',
    cs: 'město, obec',
    ru: 'город',
    tr: 'şehir, il',
    ja: '市区町村, 都市, 市',
    zh: '城市, 市',
  },
  zip: {
    en: 'zip, zip code, postal code, postcode, post code, zipcode',
    de: 'plz, postleitzahl',
    fr: 'code postal, cp',
    es: 'código postal, cp',
    it: 'cap, codice postale',
    pt: 'código postal, cep',
    nl: 'postcode',
    pl: 'kod pocztowy',
    cs: 'psč',
    ru: 'индекс, почтовый индекс',
    tr: 'posta kodu',
    ja: '郵便番号',
    zh: '邮编, 邮政编码, 郵遞區號',
  },
  state: {
    en: 'state, province, region, county, state province',
    de: 'bundesland, kanton, region',
    fr: 'région, département, province',
    es: 'provincia, estado, región',
    it: 'provincia, regione, prov',
    pt: 'estado, distrito, região, uf',
    nl: 'provincie, regio',
    pl: 'województwo',
    cs: 'kraj',
    ru: 'область, регион, край',
    tr: 'bölge, ilçe',
    ja: '都道府県',
    zh: '省, 省份, 州',
  },
  country: {
    en: 'country, country name',
    de: 'land',
    fr: 'pays',
    es: 'país',
    it: 'paese, nazione',
    pt: 'país',
    nl: 'land',
    pl: 'kraj, państwo',
    cs: 'země, stát',
    ru: 'страна',
    tr: 'ülke',
    ja: '国',
    zh: '国家, 國家',
  },
  note: {
    en: 'note, notes, comment, comments, remarks',
    de: 'notiz, notizen, bemerkung, bemerkungen, kommentar',
    fr: 'note, notes, remarque, remarques, commentaire',
    es: 'nota, notas, observaciones, comentarios',
    it: 'nota, note, commenti',
    pt: 'nota, notas, observações',
    nl: 'notitie, notities, opmerking, opmerkingen',
    pl: 'notatka, notatki, uwagi',
    cs: 'poznámka, poznámky',
    ru: 'примечание, заметка, комментарий',
    tr: 'not, notlar',
    ja: '備考, メモ',
    zh: '备注, 備註',
  },
  tags: {
    en: 'tags, labels, segments, groups, interests',
    de: 'tags, schlagworte, stichworte, gruppen, interessen',
    fr: 'tags, étiquettes, segments, groupes, intérêts',
    es: 'etiquetas, tags, segmentos, grupos, intereses',
    it: 'tag, etichette, gruppi, interessi',
    pt: 'etiquetas, tags, grupos, interesses',
    nl: 'labels, tags, groepen, interesses',
    pl: 'tagi, etykiety, grupy',
    cs: 'štítky, tagy, skupiny',
    ru: 'теги, метки, группы',
    tr: 'etiketler, gruplar',
    ja: 'タグ, ラベル',
    zh: '标签, 標籤',
  },
  subscribed: {
    en: 'newsletter, subscribed, opt in, opted in, accepts marketing, marketing consent, email opt in, newsletter opt in, email consent, subscriber, accepts email marketing, newsletter subscription',
    de: 'newsletter, abonniert, newsletter abonniert, werbeeinwilligung, newsletter anmeldung, newsletter ja nein',
    fr: 'newsletter, abonné, abonné newsletter, inscrit newsletter, infolettre',
    es: 'newsletter, suscrito, boletín, suscrito al boletín, acepta publicidad',
    it: 'newsletter, iscritto, iscritto newsletter, consenso marketing',
    pt: 'newsletter, subscrito, inscrito, assinante',
    nl: 'nieuwsbrief, ingeschreven, geabonneerd, nieuwsbrief ja nee',
    pl: 'newsletter, zapisany, subskrybent, zgoda marketingowa',
    cs: 'newsletter, odběr novinek, přihlášen',
    ru: 'подписка, подписан, рассылка, подписан на рассылку',
    tr: 'bülten, abone, haber bülteni, e bülten',
    ja: 'メルマガ, ニュースレター, メルマガ購読, 購読',
    zh: '订阅, 是否订阅, 訂閱',
  },
  unsubscribed: {
    en: 'unsubscribed, opt out, opted out, do not email, email opt out, no newsletter',
    de: 'abgemeldet, newsletter abgemeldet, kein newsletter',
    fr: 'désabonné, désinscrit',
    es: 'dado de baja, cancelado',
    it: 'disiscritto',
    nl: 'uitgeschreven, afgemeld',
    pl: 'wypisany',
    cs: 'odhlášen',
    ru: 'отписан, отписался',
  },
  none: {
    en: 'id, title, salutation, gender, birthday, birth date, date of birth, created, updated, customer number, customer id, job title, position, department, fax, website, language, total spent, orders, member since',
    de: 'id, anrede, titel, geschlecht, geburtstag, geburtsdatum, erstellt, kundennummer, kunden nr, abteilung, fax, webseite, sprache, umsatz, kunde seit',
    fr: 'id, civilité, titre, sexe, date de naissance, numéro client, fonction, fax, site web, langue',
    es: 'id, tratamiento, sexo, fecha de nacimiento, número de cliente, cargo, fax, sitio web, idioma',
    it: 'id, titolo, sesso, data di nascita, codice cliente, ruolo, fax, sito web, lingua',
    nl: 'id, aanhef, geslacht, geboortedatum, klantnummer, functie, fax, website, taal',
    pl: 'id, tytuł, płeć, data urodzenia, numer klienta, stanowisko, fax, strona, język',
    cs: 'id, titul, pohlaví, datum narození, číslo zákazníka, funkce, fax, web, jazyk',
    ru: 'id, пол, дата рождения, номер клиента, должность, факс, сайт, язык',
  },
} as const satisfies Readonly<Record<string, Words>>;

/** The concepts of a product file. */
export type ProductConcept = keyof typeof PRODUCT_WORDS;
/** The concepts of a contact file. */
export type ContactConcept = keyof typeof CONTACT_WORDS;

/** The parts of a header other than the name of the field. */
export interface Qualifiers {
  /** A code of ISO 4217. */
  readonly currency: string | undefined;
  readonly tax: 'gross' | 'net' | undefined;
  /** A unit of weight, as mappings write it. */
  readonly unit: string | undefined;
  /** Whether an amount is for a measure (per kg), not for the product. */
  readonly isPerMeasure: boolean;
  /** Which of several: Image 2. */
  readonly number: number | undefined;
  /** The language of the content: Name (EN). */
  readonly language: string | undefined;
}

/** One thing that a header may mean. */
export interface Meaning<Concept extends string> {
  readonly concept: Concept;
  /** `exact`: all words of the header are understood; `near`: it may be misspelt. */
  readonly how: 'exact' | 'near';
  /** The languages in which it means that, by name. */
  readonly languages: readonly string[];
}

/** A header as far as it is understood. */
export interface HeaderReading<Concept extends string> {
  /** Of several, the values decide in this order. */
  readonly meanings: readonly Meaning<Concept>[];
  readonly qualifiers: Qualifiers;
  /** What single words of it mean, where the whole is not understood. */
  readonly mentions: ReadonlySet<Concept>;
}

type Index<Concept extends string> = ReadonlyMap<string, ReadonlyMap<Concept, readonly string[]>>;

/** Reads the headers of product files. */
export const readProductHeader = headerReader<ProductConcept>(PRODUCT_WORDS);
/** Reads the headers of contact files. */
export const readContactHeader = headerReader<ContactConcept>(CONTACT_WORDS);

function headerReader<Concept extends string>(
  words: Readonly<Record<Concept, Words>>,
): (header: string) => HeaderReading<Concept> {
  let index: Index<Concept> | undefined;
  return (header) => {
    index ??= indexOf(words);
    return readHeader(header, index);
  };
}

function indexOf<Concept extends string>(words: Readonly<Record<Concept, Words>>): Index<Concept> {
  const index = new Map<string, Map<Concept, string[]>>();
  for (const [concept, byLanguage] of entriesOf(words)) {
    for (const [language, written] of entriesOf(byLanguage)) {
      for (const word of (written ?? '').split(',')) {
        for (const key of spellings(word)) {
          const concepts = index.get(key) ?? new Map<Concept, string[]>();
          const languages = concepts.get(concept) ?? [];
          if (!languages.includes(LANGUAGES[language])) languages.push(LANGUAGES[language]);
          index.set(key, concepts.set(concept, languages));
        }
      }
    }
  }
  return index;
}

function entriesOf<Key extends string, Value>(record: Readonly<Partial<Record<Key, Value>>>) {
  return Object.entries(record) as [Key, Value][]; // Object.entries forgets the type of keys
}

/** A word as it is compared: without accents, and with German umlauts spelled out too. */
function spellings(word: string): readonly string[] {
  const plain = wordsOf(word).join('');
  const spelledOut = wordsOf(word.replaceAll('ä', 'ae').replaceAll('ö', 'oe').replaceAll('ü', 'ue')).join('');
  return plain === spelledOut ? [plain] : [plain, spelledOut];
}

/** The words of a header in lower case, without accents; those of `contactId` and `contact_id` are the same. */
function wordsOf(header: string): string[] {
  const plain = header
    .normalize('NFKC')
    .replaceAll(/mwst/gi, 'mwst')
    .replaceAll('ß', 'ss')
    .replaceAll(/[łŁ]/g, 'l')
    .replaceAll('ı', 'i')
    .replaceAll(/[øØ]/g, 'o')
    .replaceAll(/([\p{Script=Latin}\p{Script=Cyrillic}])\p{M}+/gu, '$1')
    .normalize('NFD')
    .replaceAll(/([\p{Script=Latin}\p{Script=Cyrillic}])\p{M}+/gu, '$1')
    .normalize('NFC')
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2');
  return (
    plain.toLowerCase().match(/\b[a-z]{1,2}\$|(?:(?!\p{N})[\p{L}\p{M}ー])+|\p{Nd}+|\p{Sc}|[#%]/gu) ?? []
  ).filter((word) => word !== '%');
}

const MOST_PATH = 6;

function readHeader<Concept extends string>(header: string, index: Index<Concept>): HeaderReading<Concept> {
  const text = header
    .replaceAll(/[\s\u200b\ufeff]+/g, ' ')
    .trim()
    .replace(/^\p{L}{1,3}:(?=\p{L})/u, '');
  const whole = understood(text, index);
  if (whole.meanings.length > 0) return whole;
  // Paths of JSON and XML: offers[].g:price, price@currency.
  const parts = text
    .split(/\[\]\.?|[.@/>]|\b\p{L}+:(?=\p{L})/u)
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (/\s/.test(text) || parts.length < 2 || parts.length > MOST_PATH) {
    return parts.length === 1 && parts[0] !== text ? understood(parts[0] ?? '', index) : whole;
  }
  const last = parts.at(-1) ?? '';
  const owner = parts.at(-2) ?? '';
  const isValue = VALUE_WORDS.has(wordsOf(last).join(''));
  const ofOwner = understood(owner, index);
  if (isValue && ofOwner.meanings.length > 0) return ofOwner;
  const joined = understood(`${owner} ${last}`, index);
  if (joined.meanings.length > 0) return joined;
  // The name of a brand is not the name of a product.
  const isContainer = wordsOf(owner).every((word) => NOUNS.has(word) || CONTAINERS.has(word));
  return isContainer ? understood(last, index) : whole;
}

/** Words after the name of the field that mean its value. */
const VALUE_WORDS: ReadonlySet<string> = new Set(
  'url src href link value amount text name title content wert valeur valor cdata'.split(' '),
);
const CONTAINERS: ReadonlySet<string> = new Set(
  'offer offers variant variants row entry record node data attributes fields channel'.split(' '),
);

function understood<Concept extends string>(text: string, index: Index<Concept>): HeaderReading<Concept> {
  const plain = wordsOf(text);
  const asItIs = meaningsAt(index, plain.join(''), 'exact');
  if (asItIs.length > 0) return { meanings: asItIs, qualifiers: NO_QUALIFIERS, mentions: new Set() };
  const { words, qualifiers } = qualify(plain);
  const reading = (meanings: readonly Meaning<Concept>[]) => ({
    meanings,
    qualifiers,
    mentions: new Set<Concept>(),
  });
  for (const candidate of candidatesOf(words)) {
    const exact = meaningsAt(index, candidate, 'exact');
    if (exact.length > 0) return reading(exact);
  }
  for (const candidate of candidatesOf(words)) {
    const near = nearestWord(index, candidate);
    if (near !== undefined) return reading(meaningsAt(index, near, 'near'));
  }
  return {
    ...reading([]),
    mentions: new Set(plain.flatMap((word) => [...(index.get(word)?.keys() ?? [])])),
  };
}

function meaningsAt<Concept extends string>(
  index: Index<Concept>,
  key: string,
  how: 'exact' | 'near',
): Meaning<Concept>[] {
  return [...(index.get(key) ?? [])].map(([concept, languages]) => ({ concept, how, languages }));
}

/** The words joined: all of them, without words for product, and without linking words. */
function candidatesOf(words: readonly string[]): readonly string[] {
  // A last letter is a name of its own: Price A.
  const bare = words.filter((word, index) => index === words.length - 1 || !LINKS.has(word));
  const own = bare.filter((word) => !NOUNS.has(word));
  const joined = own.join('');
  const noun = [...NOUNS].find((one) => joined.startsWith(one) && joined.length >= one.length + 3);
  const compound = noun === undefined ? '' : joined.slice(noun.length).replace(/^s(?=\p{L}{4})/u, '');
  return [...new Set([words.join(''), bare.join(''), joined, compound])].filter((word) => word !== '');
}

/** The only known word that a misspelt word can mean; its first letter must be right. */
function nearestWord<Concept extends string>(index: Index<Concept>, word: string): string | undefined {
  const most = word.length >= 9 ? 2 : word.length >= 5 ? 1 : 0;
  if (most === 0 || /\d/.test(word)) return undefined;
  let best: string | undefined;
  let bestDistance = most + 1;
  let rivals = new Set<Concept>();
  for (const [known, concepts] of index) {
    if (known.charAt(0) !== word.charAt(0) || Math.abs(known.length - word.length) > most) continue;
    const apart = distance(known, word);
    if (apart < bestDistance) {
      best = known;
      bestDistance = apart;
      rivals = new Set(concepts.keys());
    } else if (apart === bestDistance) {
      for (const concept of concepts.keys()) rivals.add(concept);
    }
  }
  return best !== undefined && rivals.size === (index.get(best)?.size ?? 0) ? best : undefined;
}

const NO_QUALIFIERS: Qualifiers = {
  currency: undefined,
  tax: undefined,
  unit: undefined,
  isPerMeasure: false,
  number: undefined,
  language: undefined,
};

/** Words that mean the product itself. */
const NOUNS: ReadonlySet<string> = new Set(
  (
    'product products produkt produkte produktu produktes produit produits producto productos prodotto prodotti produto produtos ' +
    'variant variants item items article articles artikel artikels articulo articolo artigo artykul artykulu towar towaru zbozi vyrobek vyrobku ' +
    'товар товара товары продукт urun urunun 商品 製品 产品 產品 ware waren'
  ).split(' '),
);
const LINKS: ReadonlySet<string> = new Set(
  'of the de du des der die das del della di do da dos la le les el los l d van het een for in fur for a as und and et y e i и の 的 ve w'.split(
    ' ',
  ),
);

const VAT = '(?:mwst|ust|vat|tax|taxes|tva|iva|btw|dph|ндс|kdv|gst|steuer|mehrwertsteuer)';
const GROSS = new RegExp(
  `^(?:brutto|bruto|gross|ttc|lordo|bruttopreis|税込|税込み|含税|含稅)$|^(?:incl|inkl|including|inc|inclusive|con|com|avec|mit|s|z|с|met) ${VAT}$|^${VAT} (?:incl|inkl|included|dahil|comprise|incluse|inclusa|incluido|incluida|inclusief|inclusive|inc|inclus)$|^(?:toutes taxes comprises|kdvli)$`,
  'u',
);
const NET = new RegExp(
  `^(?:netto|neto|net|ht|税抜|税抜き|税別|不含税|未税|未稅)$|^(?:excl|exkl|excluding|ex|exc|zzgl|without|ohne|plus|sin|sem|sans|hors|bez|без|senza|esclusa|zonder|exclusief) ${VAT}$|^${VAT} (?:excl|exkl|excluded|haric|esclusa|excluido|exclusive)$|^(?:hors taxes?|kdvsiz)$`,
  'u',
);
const MEASURES =
  '(?:kg|kilo|kilogramm?|g|gr|l|ltr|liter|litre|litro|litr|ml|m|meter|metre|metr|m2|qm|lb|oz|кг|г|л|м)';
const PER = '(?:pro|per|je|par|au|al|por|za|за|prix|/)';
const PER_MEASURE = new RegExp(`^${PER} (?:\\d+ )?${MEASURES}(?: 2)?$`, 'u');
const PER_PIECE =
  /^(?:pro|per|je|par|por|al|za|за|)\s?(?:st|stk|stck|stuck|piece|pc|pcs|each|ea|unit|unite|unidad|unidade|pezzo|pz|ks|szt|sztuke|kus|шт|adet|stuk|個|件)$/u;

const CURRENCIES: Readonly<Record<string, string>> = {
  ...{ '€': 'EUR', euro: 'EUR', euros: 'EUR', $: 'USD', '£': 'GBP', '¥': 'JPY', 円: 'JPY', yen: 'JPY' },
  ...{ zl: 'PLN', kc: 'CZK', '₽': 'RUB', руб: 'RUB', р: 'RUB', '₺': 'TRY', tl: 'TRY', 元: 'CNY', rmb: 'CNY' },
  ...{
    r$: 'BRL',
    us$: 'USD',
    a$: 'AUD',
    au$: 'AUD',
    c$: 'CAD',
    ca$: 'CAD',
    hk$: 'HKD',
    nt$: 'TWD',
    s$: 'SGD',
  },
  ...{ sfr: 'CHF', fr: 'CHF', kr: 'SEK', ft: 'HUF', '₹': 'INR', '₴': 'UAH', грн: 'UAH', '₩': 'KRW' },
};
const CODES: ReadonlySet<string> = new Set(
  'eur usd gbp chf pln czk rub jpy cny cad aud nzd sek nok dkk huf ron bgn inr brl mxn zar aed sar uah krw hkd sgd twd'.split(
    ' ',
  ),
);

/** The currency that a code, a sign or a usual abbreviation names, as a code of ISO 4217. */
export function currencyCode(word: string): string | undefined {
  const key = word.toLowerCase().replace(/\.$/, '').replace('ł', 'l').replace('č', 'c');
  return CODES.has(key) || key === 'try' ? key.toUpperCase() : CURRENCIES[key];
}

const UNITS: Readonly<Record<string, string>> = {
  ...{ kg: 'kg', kgs: 'kg', kilogram: 'kg', kilograms: 'kg', kilogramm: 'kg', kilo: 'kg', кг: 'kg' },
  ...{ g: 'g', gr: 'g', gram: 'g', grams: 'g', gramm: 'g', grammes: 'g', gramos: 'g', г: 'g', гр: 'g' },
  ...{
    lb: 'lb',
    lbs: 'lb',
    pound: 'lb',
    pounds: 'lb',
    oz: 'oz',
    ounce: 'oz',
    ounces: 'oz',
    mg: 'mg',
    мг: 'mg',
  },
  ...{ 公斤: 'kg', 千克: 'kg', 克: 'g', キログラム: 'kg', グラム: 'g' },
};

/** The unit of weight that a word names, as mappings write it. */
export function weightUnit(word: string): string | undefined {
  return UNITS[word.toLowerCase().replace(/\.$/, '')];
}

const CONTENT_LANGUAGES: ReadonlySet<string> = new Set(
  (
    'de en fr es it pt nl pl cs cz ru tr ja jp zh cn uk us at deutsch englisch english german french francais italiano ' +
    'espanol polski cesky hungarian hu sk ro bg gb'
  ).split(' '),
);

/** Whether a header says only that the column is about the product. */
export function isProductWord(header: string): boolean {
  return wordsOf(header).every((word) => NOUNS.has(word));
}

/** Separates the name of a field from its qualifiers. */
function qualify(all: readonly string[]): {
  readonly words: readonly string[];
  readonly qualifiers: Qualifiers;
} {
  let words = [...all];
  const found: { -readonly [Key in keyof Qualifiers]: Qualifiers[Key] } = { ...NO_QUALIFIERS };
  /** Takes the longest run of up to three words that the test accepts. */
  const take = (accepts: (run: string) => boolean): boolean => {
    for (let length = Math.min(3, words.length - 1); length >= 1; length--) {
      for (let from = 0; from + length <= words.length; from++) {
        if (!accepts(words.slice(from, from + length).join(' '))) continue;
        words = [...words.slice(0, from), ...words.slice(from + length)];
        return true;
      }
    }
    return false;
  };
  if (take((run) => NET.test(run))) found.tax = 'net';
  else if (take((run) => GROSS.test(run))) found.tax = 'gross';
  else {
    const [first = '', ...rest] = words;
    const tax = /^(netto|brutto)(?=\p{L}{2})/u.exec(first)?.[1];
    if (tax !== undefined) {
      found.tax = tax === 'netto' ? 'net' : 'gross';
      words = [first.slice(tax.length), ...rest];
    }
    for (const [part, kind] of TAX_PARTS) {
      const last = words.at(-1) ?? '';
      const isEnd = last.endsWith(part);
      if (last.length > part.length && (isEnd || last.startsWith(part))) {
        found.tax = kind;
        words = [...words.slice(0, -1), isEnd ? last.slice(0, -part.length) : last.slice(part.length)];
        break;
      }
    }
  }
  found.isPerMeasure = take((run) => PER_MEASURE.test(run));
  while (take((run) => run !== '' && PER_PIECE.test(run)));
  take((run) => {
    const code = currencyCode(run);
    if (code === undefined || (run === 'fr' && words[0] === run)) return false;
    found.currency = code;
    return true;
  });
  take((run) => {
    const unit = weightUnit(run);
    if (unit !== undefined) found.unit = unit;
    return unit !== undefined;
  });
  for (const [ending, code] of CURRENCY_ENDINGS) {
    const last = words.at(-1) ?? '';
    if (found.currency === undefined && last.length > ending.length && last.endsWith(ending)) {
      found.currency = code;
      words = [...words.slice(0, -1), last.slice(0, -ending.length)];
    }
  }
  const last = words.at(-1) ?? '';
  if (words.length > 1 && CONTENT_LANGUAGES.has(last)) {
    found.language = last;
    words = words.slice(0, -1);
  }
  const number = words.findIndex((word) => /^\d{1,3}$/.test(word));
  if (number >= 0 && words.length > 1) {
    found.number = Number(words[number]);
    words = words.filter((_, index) => index !== number);
  }
  return { words: words.filter((word) => word !== '#'), qualifiers: found };
}

/** For scripts without blanks: qualifiers at the end or the beginning of the word. */
const TAX_PARTS = [
  ...(['税込み', '税込', '含税', '含稅'] as const).map((word) => [word, 'gross'] as const),
  ...(['税抜き', '税抜', '税別', '不含税', '未税'] as const).map((word) => [word, 'net'] as const),
].sort(([a], [b]) => b.length - a.length);
const CURRENCY_ENDINGS = [
  ['円', 'JPY'],
  ['元', 'CNY'],
] as const;
