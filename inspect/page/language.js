// The page speaks English and Chinese. The sources hold the English texts as t`layer ${n}`; chinese.js translates them. The language is the one
// of the URL, else that of `inspect page --language`, else the browser's.
const usualLanguage = document.documentElement.dataset.language || (navigator.language.startsWith('zh') ? 'zh' : 'en');
const language = ['en', 'zh'].find((one) => one === new URLSearchParams(location.hash.slice(1)).get('language')) ?? usualLanguage;
const isChinese = language === 'zh', allTexts = isChinese && {...chinese, ...chineseViews, ...programChinese};

// Returns a text in the page's language: t`step ${step}`. A value may be an element; then it returns a list of children for el().
function t(strings, ...values) {
  const name = strings.join('{}'), translation = isChinese ? allTexts[name] : undefined;
  const parts = translation === undefined ? strings.flatMap((text, i) => i < values.length ? [text, values[i]] : [text]) :
      translation.split(/\{(\d)\}/).map((text, i) => i % 2 === 0 ? text : values[Number(text)]);
  const shown = parts.filter((part) => part !== '' && part !== null && part !== undefined);
  return shown.some((part) => typeof part === 'object') ? shown.flat(Infinity) : tight(shown.join(''));
}

// Chinese marks bring their own space.
const tight = (text) => isChinese ? text.replace(/([，。；：？（）]) (?=\S)/g, '$1') : text;

// Returns a text that the program wrote, in the page's language: the format of chinese.js that it has, with its values translated, too.
function said(text) {
  if (!isChinese || typeof text !== 'string') return text;
  if (Object.hasOwn(allTexts, text)) return allTexts[text];
  programFormats ??= Object.entries(programChinese).filter(([format]) => format.includes('{}')).map(([format, translation]) => ({
    pattern: new RegExp(`^${format.split('{}').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('(.+)')}$`, 's'), translation
  }));
  for (const {pattern, translation} of programFormats) {
    const found = pattern.exec(text);
    if (found) return tight(translation.replace(/\{(\d)\}/g, (_, n) => said(found[Number(n) + 1])));
  }
  return text;
}
let programFormats = null;  // [{pattern, translation}], made when used

// Returns a count with its noun: counted(2, 'head') is "2 heads".
const counted = (count, what) => said(`${count} ${what}${count === 1 ? '' : 's'}`);

// Joins a list with its last two by "and", or by another word.
const listed = (items, last = 'and') => isChinese || items.length < 2 ? items.join('、') : `${items.slice(0, -1).join(', ')} ${last} ${items.at(-1)}`;

// Joins sentences to a paragraph.
const paragraphOf = (texts) => texts.join(isChinese ? '' : ' ');

// Opens the page anew in the other language, at the same view.
function switchLanguage() {
  const other = isChinese ? 'en' : 'zh', parts = new URLSearchParams(addressNow().all.slice(1));
  other === usualLanguage ? parts.delete('language') : parts.set('language', other);
  history.replaceState(null, '', urlWith(`#${parts}`));
  location.reload();
}
