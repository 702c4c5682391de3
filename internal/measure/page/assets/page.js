(() => {
  'use strict';
  const root = document.documentElement;
  root.classList.add('js');

  // Numbers: the same text as in the tables of the page, which package figures writes.
  const group = (v) => Math.round(v).toString().replace(/\B(?=(\d{3})+$)/g, ',');
  const three = (v) => {
    const abs = Math.abs(v);
    if (abs >= 99.95 || v === 0) return v.toFixed(0);
    if (abs >= 9.995) return v.toFixed(1);
    if (abs >= 0.01) return v.toFixed(2);
    return String(Number(v.toPrecision(2)));
  };
  const digits = (v) => (Math.abs(v) >= 99.95 || Number.isInteger(v) ? group(v) : three(v));
  const scaled = (v, base, names) => {
    let i = 0;
    while (Math.abs(v) >= 999.5 && i < names.length - 1) {
      v /= base;
      i++;
    }
    return (i ? three(v) : Math.round(v)) + ' ' + names[i];
  };
  const formats = {
    ns: (v) => scaled(v, 1000, ['ns', 'µs', 'ms', 's']),
    bytes: (v) => scaled(v, 1000, ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB']),
    cores: (v) => (Math.abs(v) < 0.1 ? String(Number(v.toPrecision(2))) : v.toFixed(2)),
    ratio: (v) => v.toFixed(2) + '×',
  };
  const format = (unit, v) => (v == null ? '–' : (formats[unit] || digits)(v));
  const short = (s) => s.replace(/(\.\d*?)0+(?!\d)/, '$1').replace(/\.(?!\d)/, '');
  const pad = (n) => String(n).padStart(2, '0');
  const seconds = (s) => {
    if (Math.abs(s) < 120) return digits(Math.round(s * 1000) / 1000) + ' s';
    const sign = s < 0 ? '-' : '';
    s = Math.round(Math.abs(s));
    const h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60;
    return sign + (h ? h + ':' + pad(m) : m) + ':' + pad(s % 60);
  };
  // 100 is p99: one of 100 is slower.
  const percentile = (n) => 'p' + String(Number((100 - 100 / n).toFixed(Math.max(0, Math.ceil(Math.log10(n)) - 1))));

  // Lines differ in colour or dashes: no two of 16 have both alike.
  const colourCount = 8;
  const dashes = [[], [6, 3], [2, 3], [8, 3, 2, 3]];
  const charts = [];
  let colours = {};
  const colour = (name) => (colours[name] ??= getComputedStyle(root).getPropertyValue('--' + name).trim());

  // The marks of an axis with a log scale: 1, 2 and 5 of each power of ten, or 1 alone.
  const marks = (min, max) => {
    const all = [], whole = [];
    for (let e = Math.floor(Math.log10(min)); e <= Math.log10(max); e++) {
      for (const m of [1, 2, 5]) {
        const v = Number(m + 'e' + e);
        if (v < min * 0.999 || v > max * 1.001) continue;
        all.push(v);
        if (m === 1) whole.push(v);
      }
    }
    return all.length > 8 && whole.length > 1 ? whole : all;
  };
  const floor125 = (v) => {
    const power = Number('1e' + Math.floor(Math.log10(v) + 1e-9));
    return power * [5, 2, 1].find((m) => v >= power * m * 0.999 || m === 1);
  };
  const ceil125 = (v) => {
    const power = Number('1e' + Math.floor(Math.log10(v) + 1e-9));
    return power * [1, 2, 5, 10].find((m) => v <= power * m * 1.001 || m === 10);
  };
  const logRange = (u, min, max) => {
    if (!(min > 0)) return [1, 10];
    const from = floor125(min), to = ceil125(max);
    return from < to ? [from, to] : [from, to * 2];
  };
  const linearRange = (u, min, max) => [0, max > 0 ? uPlot.rangeNum(0, max, 0.1, true)[1] : 1];
  // Points stand in the middle of their intervals.
  const timeRange = (u, min, max) => {
    const x = u.data[0], last = x.length - 1;
    if (last === 0) return x[0] > 0 ? [0, 2 * x[0]] : [x[0] - 1, x[0] + 1];
    if (min > x[0] || max < x[last]) return [min, max];
    return [x[0] - (x[1] - x[0]) / 2, x[last] + (x[last] - x[last - 1]) / 2];
  };

  // What isn't the counted time, which begins at 0, is shaded, and so are marked stretches.
  const shade = (end, marked) => (u) => {
    const { min, max } = u.scales.x;
    const part = (from, to, name = 'line', alpha = 0.6) => {
      if (from >= to) return;
      const left = u.valToPos(from, 'x', true);
      u.ctx.save();
      u.ctx.fillStyle = colour(name);
      u.ctx.globalAlpha = alpha;
      u.ctx.fillRect(left, u.bbox.top, u.valToPos(to, 'x', true) - left, u.bbox.height);
      u.ctx.restore();
    };
    if (u.data[0][0] < 0) part(min, Math.min(0, max)); // the warm-up
    if (end) part(Math.max(end, min), max); // the last responses
    for (const [from, to] of marked) part(Math.max(from, min), Math.min(to, max), 'bad', 0.15);
  };

  const axis = (more) => ({
    stroke: () => colour('quiet'),
    font: '12px system-ui, sans-serif',
    size: 32,
    grid: { stroke: () => colour('line'), width: 1 },
    ticks: { stroke: () => colour('line'), width: 1, size: 4 },
    gap: 4,
    ...more,
  });

  const draw = (data) => {
    const plot = document.getElementById(data.id);
    const figure = plot.closest('figure');
    const keys = figure.querySelector('.keys');
    const status = figure.querySelector('[role=status]');
    const overTime = data.axis === 'time';
    const dense = data.x.length > 200 && overTime;
    const place = overTime ? seconds : percentile;
    const dashOf = (line, n) => (line.dashed ? [4, 4] : dense ? [] : dashes[Math.floor(n / 3) % dashes.length]);
    const sample = (n, line) => {
      const span = document.createElement('span');
      span.className = 'line c' + n % colourCount;
      span.innerHTML = '<svg viewBox="0 0 22 8" aria-hidden="true"><line x1="0" y1="4" x2="22" y2="4"/></svg>';
      span.querySelector('line').setAttribute('stroke-dasharray', dashOf(line, n).join(' ') || 'none');
      return span;
    };
    const box = document.createElement('div'), at = document.createElement('div');
    const rows = data.lines.map((line, n) => {
      const row = document.createElement('div'), name = document.createElement('span'), value = document.createElement('b');
      name.textContent = line.name;
      row.append(sample(n, line), name, value);
      return { row, value };
    });
    box.className = 'values';
    box.setAttribute('aria-hidden', 'true'); // the status says the same
    box.append(at, ...rows.map(({ row }) => row));

    // The box with the values stands beside the cursor.
    const show = (u) => {
      const i = u.cursor.idx;
      box.hidden = i == null || !(u.cursor.left >= 0);
      if (box.hidden) return;
      at.textContent = place(u.data[0][i]);
      rows.forEach(({ row, value }, n) => {
        row.hidden = !u.series[n + 1].show;
        value.textContent = format(data.unit, data.lines[n].values[i]);
      });
      const left = u.cursor.left > u.over.clientWidth / 2;
      box.style.left = left ? '' : u.cursor.left + 12 + 'px';
      box.style.right = left ? u.over.clientWidth - u.cursor.left + 12 + 'px' : '';
    };
    const options = {
      width: width(plot),
      height: overTime ? 240 : 320,
      legend: { show: false },
      cursor: { y: false, sync: overTime ? { key: 'time', setSeries: false } : undefined, points: { size: 8, width: 0, fill: (u, i) => colour('c' + (i - 1) % colourCount) } },
      scales: {
        x: { time: false, distr: overTime ? 1 : 3, range: overTime ? timeRange : (u, min, max) => [min, max] },
        y: { distr: data.log ? 3 : 1, range: data.log ? logRange : linearRange },
      },
      axes: [
        overTime
          ? axis({ values: (u, list) => list.map((v) => short(seconds(v))), incrs: [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 3600, 7200, 14400], space: 60 })
          : axis({ splits: (u, i, min, max) => [2, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7].filter((v) => v >= min && v <= max), filter: (u, list) => list, values: (u, list) => list.map(percentile) }),
        axis({
          values: (u, list) => list.map((v) => short(format(data.unit, v))),
          size: 68, // for the longest text, so that all charts over time begin at the same place
          ...(data.log ? { splits: (u, i, min, max) => marks(min, max), filter: (u, list) => list } : {}),
        }),
      ],
      series: [{}].concat(data.lines.map((line, n) => ({
        label: line.name,
        stroke: () => colour('c' + n % colourCount),
        dash: dashOf(line, n),
        width: dense ? 1.25 : 2,
        spanGaps: !overTime,
        points: overTime ? { size: 6, space: 14, fill: () => colour('back') } : { show: false },
      }))),
      padding: [10, 28, 0, 0],
      hooks: { setCursor: [show], drawClear: overTime ? [shade(data.end, data.marks || [])] : [] },
    };
    const u = new uPlot(options, [data.x].concat(data.lines.map((line) => line.values)), plot);
    charts.push({ u, plot, height: u.height });
    box.hidden = true;
    u.over.append(box);

    data.lines.forEach((line, n) => {
      const key = document.createElement('button');
      key.type = 'button';
      key.setAttribute('aria-pressed', 'true');
      key.append(sample(n, line), line.name);
      key.addEventListener('click', () => {
        const on = key.getAttribute('aria-pressed') !== 'true';
        key.setAttribute('aria-pressed', String(on));
        u.setSeries(n + 1, { show: on });
      });
      keys.append(key);
    });
    plot.tabIndex = 0;
    plot.setAttribute('role', 'application');
    plot.setAttribute('aria-roledescription', 'chart');
    plot.setAttribute('aria-labelledby', data.id + '-name');
    if (document.getElementById(data.id + '-tip')) plot.setAttribute('aria-describedby', data.id + '-tip');
    let current = null;
    const moveTo = (i) => {
      current = Math.max(0, Math.min(data.x.length - 1, i));
      const x = data.x[current];
      if (x < u.scales.x.min || x > u.scales.x.max) u.setScale('x', { min: data.x[0], max: data.x.at(-1) });
      u.setCursor({ left: u.valToPos(x, 'x'), top: u.over.clientHeight / 2 });
      status.textContent = place(x) + ': ' + data.lines.map((line) => line.name + ' ' + format(data.unit, line.values[current])).join(', ');
    };
    plot.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const last = data.x.length - 1, page = Math.max(1, Math.round(last / 10));
      const target = {
        ArrowRight: current == null ? 0 : current + 1,
        ArrowLeft: current == null ? last : current - 1,
        PageDown: (current ?? 0) + page,
        PageUp: (current ?? last) - page,
        Home: 0,
        End: last,
      }[event.key];
      if (target == null) return;
      event.preventDefault();
      moveTo(target);
    });
    plot.addEventListener('blur', () => {
      current = null;
      status.textContent = '';
      u.setCursor({ left: -10, top: -10 });
    });
  };

  // On paper, charts have the width of the page, less height, and the colours for light.
  const paperWidth = 660, paperHeight = 200;
  let paper = false;
  const width = (plot) => (paper ? paperWidth : Math.max(240, plot.clientWidth));
  const refresh = () => {
    colours = {};
    for (const { u, plot, height } of charts) {
      const size = { width: width(plot), height: paper ? paperHeight : height };
      if (size.width !== u.width || size.height !== u.height) u.setSize(size);
      else u.redraw(false, true);
    }
  };
  const setPaper = (on) => {
    if (paper === on) return;
    paper = on;
    root.classList.toggle('paper', on);
    for (const d of document.querySelectorAll('figure details')) {
      if (on) d.dataset.was = String(d.open);
      d.open = on || d.dataset.was === 'true';
    }
    refresh();
  };

  for (const data of JSON.parse(document.getElementById('charts').textContent)) draw(data);
  let frame = 0;
  new ResizeObserver(() => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      if (charts.some(({ u, plot }) => width(plot) !== u.width)) refresh();
    });
  }).observe(document.querySelector('main'));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', refresh);
  addEventListener('beforeprint', () => setPaper(true));
  addEventListener('afterprint', () => setPaper(false));

  for (const button of document.querySelectorAll('.copy')) {
    const text = button.parentElement.querySelector('pre');
    const done = () => {
      button.textContent = 'Copied';
      setTimeout(() => { button.textContent = 'Copy'; }, 2000);
    };
    const select = () => {
      getSelection().selectAllChildren(text);
      if (document.execCommand('copy')) done();
    };
    button.addEventListener('click', () => {
      if (navigator.clipboard) navigator.clipboard.writeText(text.textContent).then(done, select);
      else select();
    });
  }

  document.getElementById('save')?.addEventListener('click', (event) => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([document.getElementById('data').textContent], { type: 'application/json' }));
    link.download = event.currentTarget.dataset.name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });
})();
