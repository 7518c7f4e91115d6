/* Find pages for a question in plain words: not every word must be on the page, rare words and headings count most.
 * Sphinx's own search asks for all words and ranks by one of them. Its index is used as it is. */
if (typeof Search !== "undefined") {
  // A page that answers comes before a page that records how something was built or measured.
  const WEIGHTS = [
    [/^(how-to|start|understand|faq|glossary|reference\/(troubleshooting|cite|programs))/, 1],
    [/^reference\/(generated|commands|changelog)/, 0.5],
    [/^(design|evidence)\//, 0.3],
    [/^(gallery\/|reference\/)/, 0.8],
  ];
  const weight = (name) => (WEIGHTS.find(([pattern]) => pattern.test(name)) || [null, 0.7])[1];

  Search.performTermsSearch = (searchTerms, excludedTerms) => {
    const { terms, titleterms, docnames, filenames, titles, alltitles } = Search._index;
    const stemmer = new Stemmer();
    const places = (index, word) => (Object.hasOwn(index, word) ? [index[word]].flat() : []);
    const starts = (index, word) => Object.keys(index).filter((term) => word.length > 3 && term.startsWith(word));
    const holds = (word) => {
      const exact = new Set([...places(terms, word), ...places(titleterms, word)]);
      if (exact.size) return exact;
      return new Set([terms, titleterms].flatMap((index) => starts(index, word).flatMap((term) => places(index, term))));
    };
    const known = new Map([...searchTerms].filter((word) => word.length > 1).map((word) => [word, holds(word)]));
    const rarity = (word) => Math.log(1 + docnames.length / (1 + known.get(word).size));
    const total = [...known.keys()].reduce((sum, word) => sum + rarity(word), 0);
    if (!total) return [];
    const excluded = new Set([...excludedTerms].flatMap((word) => [...holds(word)]));

    const found = new Map();
    for (const [word, files] of known) {
      for (const file of files) found.set(file, (found.get(file) || 0) + rarity(word) / total);
    }
    const best = new Map();
    for (const [heading, where] of Object.entries(alltitles)) {
      const words = splitQuery(heading.toLowerCase()).filter((word) => !stopwords.has(word));
      const stems = new Set(words.map((word) => stemmer.stemWord(word)));
      const met = [...known.keys()].filter((word) => stems.has(word));
      const share = met.reduce((sum, word) => sum + rarity(word) / total, 0);
      const value = share * (0.6 + (0.4 * met.length) / Math.max(stems.size, 1));
      for (const [file, id] of where) {
        if (met.length && value > (best.get(file)?.value || 0)) best.set(file, { value, heading, id });
      }
    }
    const results = [...found].filter(([file]) => !excluded.has(file)).map(([file, share]) => {
      const { value = 0, heading, id } = best.get(file) || {};
      const inside = id && value > 0.5 && heading !== titles[file];
      const score = 40 * weight(docnames[file]) * (share ** 2 + 1.5 * value);
      const title = inside ? `${titles[file]} > ${heading}` : titles[file];
      return [docnames[file], title, inside ? `#${id}` : "", null, score, filenames[file], SearchResultKind.text];
    });
    const least = 0.2 * Math.max(...results.map((result) => result[4]));
    return results.filter((result) => result[4] >= least);
  };
}
