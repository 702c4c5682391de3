// Functions that the test calls; what they return is a value for JSON.

// look tells what the page shows.
function look() {
  return {
    images: [...document.images].filter((i) => i.complete && i.naturalWidth === 64).length,
    background: getComputedStyle(document.body).backgroundColor,
    protocol: performance.getEntriesByType("navigation")[0].nextHopProtocol,
  };
}

// once resolves with the next event of that name, and rejects with an error of the element.
function once(element, name) {
  return new Promise((resolve, reject) => {
    element.addEventListener(name, resolve, { once: true });
    element.addEventListener("error", () => reject(new Error(element.error.message)), { once: true });
  });
}

// seek loads a video and shows it at parts of its length, one after the other.
async function seek(src, parts) {
  const video = document.getElementById("video");
  const loaded = once(video, "loadeddata");
  video.src = src;
  await loaded;
  const times = [];
  for (const part of parts) {
    const seeked = once(video, "seeked");
    video.currentTime = part * video.duration;
    await seeked;
    times.push(video.currentTime / video.duration);
  }
  return { duration: video.duration, times };
}

// upload posts n bytes and returns what the echo says of them.
async function upload(path, n) {
  const response = await fetch(path, { method: "POST", body: new Uint8Array(n).fill(120) });
  const echo = await response.json();
  return { status: response.status, method: echo.method, length: echo.body_len };
}

// abort begins downloads and gives each up once its first bytes are there.
async function abort(path, times) {
  for (let i = 0; i < times; i++) {
    const controller = new AbortController();
    const response = await fetch(path + "?abort=" + i, { signal: controller.signal, cache: "no-store" });
    await response.body.getReader().read();
    controller.abort();
  }
  return times;
}

// cross reads a file of another origin with a field that needs a preflight.
async function cross(url) {
  const response = await fetch(url, { headers: { Range: "bytes=1-3", "If-None-Match": '"none"' }, cache: "no-store" });
  return { status: response.status, range: response.headers.get("Content-Range"), text: await response.text() };
}
