// The listing works without this script. With it, times are local, the filter works while
// you type, and the columns are sorted without a request if the page has the whole folder.
(() => {
  'use strict';
  document.documentElement.classList.add('js');
  const status = document.getElementById('status');
  const filter = document.getElementById('filter');
  const input = document.getElementById('q');
  const short = new Intl.DateTimeFormat(undefined, { year: 'numeric', month: 'short', day: '2-digit', hour: '2-digit', minute: '2-digit' });
  const long = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });
  let list, rows, summary, nothing; // of the listing that is shown
  let loading = null; // the AbortController of the request for another one
  let timer = 0;

  const say = (text) => { status.textContent = text; };
  const params = () => new URLSearchParams(location.search);
  const key = () => params().get('sort') ?? 'name';
  const desc = () => params().get('order') === 'desc';

  // address returns the address of this folder with the changed parameters, without those
  // that are empty.
  function address(changes) {
    const p = params();
    for (const name in changes) {
      p.delete(name);
      if (changes[name]) p.set(name, changes[name]);
    }
    const query = p.toString();
    return location.pathname + (query && '?' + query);
  }

  function show(element) {
    list = element;
    list.querySelectorAll('.utc').forEach((e) => e.remove());
    for (const time of list.querySelectorAll('time')) {
      time.textContent = short.format(new Date(time.dateTime));
    }
    summary = list.querySelector('#summary');
    summary.dataset.text = summary.textContent;
    nothing = null;
    rows = [...list.querySelectorAll('tbody tr')].map((row) => {
      const name = row.querySelector('bdi').textContent;
      const size = row.querySelector('.s').dataset.size;
      return { row, name, lower: name.toLowerCase(), folder: size === undefined, size: Number(size ?? 0), time: row.querySelector('time').dateTime };
    });
  }

  // load replaces the listing by that of another address.
  async function load(url) {
    loading?.abort();
    const request = loading = new AbortController();
    try {
      const answer = await fetch(url, { headers: { Accept: 'text/html' }, signal: request.signal });
      if (!answer.ok) throw new Error('The server answered ' + answer.status + '.');
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById('list');
      if (!page) throw new Error('The answer is no listing.');
      if (request.signal.aborted) return;
      history.replaceState(null, '', url);
      list.replaceWith(document.adoptNode(page));
      show(page);
      say(summary.textContent);
    } catch (err) {
      if (!request.signal.aborted) say('The list could not be loaded. ' + (err instanceof TypeError ? 'Is the server still running?' : err.message));
    }
  }

  // narrow shows the rows that have the text of the filter.
  function narrow() {
    const text = input.value.toLowerCase();
    let found = 0;
    for (const r of rows) {
      r.row.hidden = !r.lower.includes(text);
      if (!r.row.hidden) found++;
    }
    summary.textContent = text ? found + ' of ' + rows.length + ' match' : summary.dataset.text;
    const table = list.querySelector('table');
    if (table) table.hidden = found === 0;
    if (!nothing && rows.length) {
      nothing = document.createElement('p');
      nothing.className = 'nothing';
      nothing.textContent = 'No name contains this text.';
      list.append(nothing);
    }
    if (nothing) nothing.hidden = found > 0;
    say(text ? summary.textContent : '');
  }

  function changed() {
    clearTimeout(timer);
    timer = 0;
    const url = address({ q: input.value, page: '' });
    if ('whole' in list.dataset) {
      history.replaceState(null, '', url);
      narrow();
    } else {
      timer = setTimeout(() => { timer = 0; load(url); }, 150);
    }
  }

  // compareNames orders as the server does: numbers by their value, letters without regard
  // to case.
  const tokens = (name) => name.toLowerCase().match(/[0-9]+|[^0-9]/gu) ?? [];
  const digit = (token) => token >= '0' && token <= '9';
  const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  function compareNames(a, b) {
    const x = a.tokens ??= tokens(a.name);
    const y = b.tokens ??= tokens(b.name);
    for (let i = 0; i < x.length && i < y.length; i++) {
      let c;
      if (digit(x[i][0]) && digit(y[i][0])) {
        const m = x[i].replace(/^0+/, '');
        const n = y[i].replace(/^0+/, '');
        c = m.length - n.length || order(m, n);
      } else {
        c = x[i].codePointAt(0) - y[i].codePointAt(0);
      }
      if (c) return c;
    }
    return x.length - y.length || order(a.name, b.name);
  }

  function sort(by, down) {
    const sign = down ? -1 : 1;
    rows.sort((a, b) => {
      if (a.folder !== b.folder) return a.folder ? -1 : 1;
      const c = by === 'size' ? a.size - b.size : by === 'time' ? order(a.time, b.time) : compareNames(a, b);
      return sign * c || compareNames(a, b);
    });
    list.querySelector('tbody').append(...rows.map((r) => r.row));
    history.replaceState(null, '', address({ sort: by === 'name' && !down ? '' : by, order: down ? 'desc' : '' }));
    for (const th of list.querySelectorAll('thead th')) {
      const mine = th.dataset.sort === by;
      th.setAttribute('aria-sort', mine ? (down ? 'descending' : 'ascending') : 'none');
      const next = mine ? !down : th.dataset.sort !== 'name';
      th.firstElementChild.href = address({ sort: th.dataset.sort === 'name' && !next ? '' : th.dataset.sort, order: next ? 'desc' : '' });
    }
    say('Sorted by ' + by + ', ' + (down ? 'descending' : 'ascending'));
  }

  // move sets the focus to the row that is n rows after that of element, or to the first one.
  function move(element, n) {
    const visible = rows.filter((r) => !r.row.hidden);
    const at = visible.findIndex((r) => r.row.contains(element));
    if (at + n < 0) input.focus();
    else visible[at + n]?.row.querySelector('a').focus();
  }

  filter.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (timer) {
      clearTimeout(timer);
      timer = 0;
      await load(address({ q: input.value, page: '' }));
    }
    move(null, 1);
  });
  input.addEventListener('input', changed);
  document.addEventListener('click', (event) => {
    const th = event.target.closest?.('thead th');
    if (!th || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const by = th.dataset.sort;
    const down = key() === by ? !desc() : by !== 'name';
    if ('whole' in list.dataset) sort(by, down);
    else load(address({ sort: by === 'name' && !down ? '' : by, order: down ? 'desc' : '', page: '' }));
  });
  // Exact times and sizes are shown where the mouse is.
  document.addEventListener('mouseover', ({ target }) => {
    if (target.title) return;
    if (target.dateTime) target.title = long.format(new Date(target.dateTime));
    else if (target.dataset?.size) target.title = Number(target.dataset.size).toLocaleString() + ' bytes';
  });
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const target = event.target;
    if (event.key === '/' && !target.closest('input, textarea, select')) {
      event.preventDefault();
      input.select();
    } else if (event.key === 'Escape' && target === input) {
      event.preventDefault();
      if (!input.value) return input.blur();
      input.value = '';
      changed();
    } else if (event.key === 'ArrowDown' && (target === input || target.closest('tbody'))) {
      event.preventDefault();
      move(target, 1);
    } else if (event.key === 'ArrowUp' && target.closest('tbody')) {
      event.preventDefault();
      move(target, -1);
    }
  });
  // The upload script says that there are new files.
  document.addEventListener('galechange', () => load(location.href).then(() => { if ('whole' in list.dataset && input.value) narrow(); }));

  show(document.getElementById('list'));
  // A browser may have kept what was typed before.
  if (input.value !== (params().get('q') ?? '')) changed();
})();
