// The search page is one for all languages: it is in Chinese for a Chinese query, and in a Chinese browser.
if (document.getElementById('search-results')) {
  const query = new URLSearchParams(location.search).get('q') ?? '';
  if (/\p{Script=Han}/u.test(query) || (query === '' && navigator.language.startsWith('zh'))) {
    const found = (count) => `搜索完成，找到 ${count} 个页面。`;
    const texts = {
      'Search Results': '搜索结果',
      'Searching': '正在搜索',
      'Preparing search...': '正在准备搜索……',
      ', in ': '，见 ',
      'Your search did not match any documents. Please make sure that all words are spelled correctly and that you\'ve selected enough categories.':
          '没有找到匹配的页面。请换一个词试试。',
      'Search finished, found one page matching the search query.': [found('${resultCount}')],
      'Search finished, found ${resultCount} page(s) matching the search query.': found('${resultCount}'),
    };
    // Older versions of Sphinx ask for the sentence with its number.
    Documentation.TRANSLATIONS = new Proxy(texts, {get: (all, name) => all[name] ?? (/^Search finished, found (\d+) page/.exec(name) ?? []).slice(1).map(found)[0]});
    Documentation.PLURAL_EXPR = () => 0;
    Documentation.LOCALE = 'zh_CN';
    document.documentElement.lang = 'zh-CN';
    document.title = '搜索 - heed';
    document.querySelectorAll('.sidebar-search').forEach((field) => { field.placeholder = field.ariaLabel = '搜索'; });
  }
}
