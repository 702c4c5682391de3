// Uploads: files are chosen with the button or dropped anywhere on the page. Each is sent by
// PUT, two at a time.
(() => {
  'use strict';
  const form = document.getElementById('upload');
  const files = document.getElementById('files');
  const section = document.getElementById('uploads');
  const items = section.querySelector('ul');
  const forget = document.getElementById('forget');
  const target = document.getElementById('drop');
  const status = document.getElementById('status');
  const waiting = [];
  let running = 0, done = 0, failed = 0;

  const reasons = {
    403: 'The server refused the upload because it seems to come from another site.',
    404: 'This folder does not exist any more.',
    405: 'The server does not take uploads.',
    409: 'A file with this name is already there.',
    412: 'A file with this name is already there.',
    413: 'The file is larger than the server allows.',
    507: 'The server has no more space for uploads.',
  };
  const again = (code) => code === 0 || code >= 500;

  function readable(n) {
    let i = 0;
    for (; n >= 999.5 && i < 5; i++) n /= 1000;
    return (i && n < 9.95 ? n.toFixed(1) : Math.round(n)) + ' ' + ['B', 'kB', 'MB', 'GB', 'TB', 'PB'][i];
  }

  function make(tag, className, text) {
    const e = document.createElement(tag);
    e.className = className;
    e.textContent = text ?? '';
    return e;
  }

  // add puts a file into the list and sends it. With a reason it isn't sent.
  function add(file, reason) {
    const u = { file, name: file.name, number: 1, taken: false, request: null, item: make('li', ''), state: make('span', 'state', 'Waiting') };
    u.title = make('bdi', '', file.name);
    u.bar = make('progress', '');
    u.bar.max = 1;
    u.bar.value = 0;
    u.bar.setAttribute('aria-label', file.name);
    u.button = make('button', '', 'Cancel');
    u.button.type = 'button';
    u.button.setAttribute('aria-label', 'Cancel ' + file.name);
    u.button.addEventListener('click', () => act(u));
    const ends = make('span', 'ends');
    ends.append(u.button);
    u.item.append(u.title, u.bar, u.state, ends);
    items.append(u.item);
    section.hidden = false;
    if (reason) fail(u, reason);
    else enqueue(u);
  }

  function enqueue(u) {
    u.item.className = '';
    u.bar.hidden = u.button.hidden = false;
    u.bar.value = 0;
    u.state.textContent = 'Waiting';
    label(u, 'Cancel');
    waiting.push(u);
    next();
  }

  function label(u, text) {
    u.button.textContent = text;
    u.button.setAttribute('aria-label', text + ' ' + u.name);
  }

  // act is what the button of u does: cancel, or try again.
  function act(u) {
    if (u.item.className === 'failed') {
      failed--;
      if (u.taken) rename(u);
      enqueue(u);
    } else if (u.request) {
      u.request.abort();
    } else {
      waiting.splice(waiting.indexOf(u), 1);
      fail(u, 'Cancelled', true);
    }
  }

  // rename gives u the next name that may be free: "photo (2).jpg".
  function rename(u) {
    const [, base, end] = u.file.name.match(/^(.+?)(\.[^.]*)?$/s);
    u.number++;
    u.name = base + ' (' + u.number + ')' + (end ?? '');
    u.title.textContent = u.name;
    u.bar.setAttribute('aria-label', u.name);
  }

  function next() {
    while (running < 2 && waiting.length) send(waiting.shift());
    if (running || waiting.length) return;
    forget.hidden = false;
    if (!done && !failed) return;
    status.textContent = done + (done === 1 ? ' file was' : ' files were') + ' uploaded' + (failed ? ', ' + failed + ' failed' : '');
    if (done) document.dispatchEvent(new Event('galechange'));
    done = 0;
  }

  function send(u) {
    const request = u.request = new XMLHttpRequest();
    running++;
    u.state.textContent = 'Starting';
    request.open('PUT', './' + encodeURIComponent(u.name));
    request.setRequestHeader('Accept', 'application/json');
    request.setRequestHeader('If-None-Match', '*'); // never overwrite
    request.upload.addEventListener('progress', (event) => {
      u.bar.value = event.total ? event.loaded / event.total : 1;
      u.state.textContent = Math.floor(100 * u.bar.value) + '% of ' + readable(event.total);
    });
    request.addEventListener('load', () => {
      if (request.status >= 200 && request.status < 300) return succeed(u);
      let reason = reasons[request.status] ?? 'The server answered ' + request.status + '.';
      try {
        reason = JSON.parse(request.responseText).error || reason;
      } catch { /* not by our server */ }
      u.taken = request.status === 409 || request.status === 412;
      fail(u, reason, u.taken || again(request.status));
    });
    request.addEventListener('error', () => fail(u, 'The connection broke. The server may have ended, or the file may be too large for it.', true));
    request.addEventListener('abort', () => fail(u, 'Cancelled', true));
    request.addEventListener('loadend', () => { running--; u.request = null; next(); });
    request.send(u.file);
  }

  function succeed(u) {
    done++;
    u.item.className = 'done';
    u.bar.hidden = u.button.hidden = true;
    u.state.textContent = 'Uploaded, ' + readable(u.file.size);
    status.textContent = u.name + ' was uploaded';
  }

  function fail(u, reason, retry) {
    failed++;
    u.item.className = 'failed';
    u.bar.hidden = true;
    u.state.textContent = reason;
    status.textContent = u.name + ': ' + reason;
    if (retry) label(u, u.taken ? 'Keep both' : 'Try again');
    else u.button.hidden = true;
    forget.hidden = running > 0;
  }

  document.getElementById('choose').addEventListener('click', () => files.click());
  files.addEventListener('change', () => {
    for (const file of files.files) add(file);
    form.reset();
  });
  forget.addEventListener('click', () => {
    items.querySelectorAll('.done, .failed').forEach((e) => e.remove());
    failed = 0;
    section.hidden = !items.firstElementChild;
    forget.hidden = true;
    document.getElementById('choose').focus();
  });

  const hasFiles = (event) => event.dataTransfer?.types.includes('Files');
  document.addEventListener('dragenter', (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    target.hidden = false;
  });
  document.addEventListener('dragover', (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = 'copy';
  });
  document.addEventListener('dragleave', (event) => {
    if (!event.relatedTarget) target.hidden = true;
  });
  document.addEventListener('drop', (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    target.hidden = true;
    for (const item of event.dataTransfer.items) {
      if (item.kind !== 'file') continue;
      const entry = item.webkitGetAsEntry?.();
      if (entry?.isDirectory) add({ name: entry.name }, 'Folders can’t be uploaded. Drop the files that are in it.');
      else if (item.getAsFile()) add(item.getAsFile());
    }
  });
  addEventListener('beforeunload', (event) => {
    if (running || waiting.length) event.preventDefault();
  });
})();
