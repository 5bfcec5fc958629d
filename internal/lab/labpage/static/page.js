// Fetches the page again from time to time and replaces what changed, without moving the
// focus. Everything works without it.
"use strict";
(() => {
  const seconds = Number(document.body.dataset.refresh);
  for (const t of document.querySelectorAll("time")) local(t);
  if (!seconds) return;

  const button = document.getElementById("pause");
  let paused = false;
  button.hidden = false;
  button.addEventListener("click", () => {
    paused = !paused;
    button.setAttribute("aria-pressed", String(paused));
    if (!paused) refresh();
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
  setInterval(refresh, seconds * 1000);

  const was = new Map(); // what each part was made of last
  let busy = false;
  async function refresh() {
    if (paused || busy || document.hidden) return;
    busy = true;
    try {
      const answer = await fetch(location.href, { credentials: "same-origin", redirect: "error", cache: "no-store" });
      if (!answer.ok) throw new Error(String(answer.status));
      const next = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of document.querySelectorAll("[data-live]")) {
        const other = next.querySelector(`[data-live="${part.dataset.live}"]`);
        if (other && other.innerHTML !== was.get(part)) replace(part, other);
      }
      document.body.classList.remove("stale");
    } catch {
      document.body.classList.add("stale");
    } finally {
      busy = false;
    }
  }

  // replace puts new content in place of a part. An element with the focus keeps it, where
  // there still is one of its kind; a part in which somebody selects text is left alone.
  function replace(part, other) {
    const selection = getSelection();
    if (selection && !selection.isCollapsed && part.contains(selection.anchorNode)) return;
    const focus = part.contains(document.activeElement) ? document.activeElement : null;
    const open = [...part.querySelectorAll("details")].map((d) => d.open);
    const href = focus && focus.getAttribute("href");
    const name = focus && focus.localName;
    was.set(part, other.innerHTML);
    part.replaceChildren(...other.childNodes);
    for (const t of part.querySelectorAll("time")) local(t);
    part.querySelectorAll("details").forEach((d, i) => { d.open = Boolean(open[i]); });
    if (!focus) return;
    const same = [...part.querySelectorAll(name)].find((e) => e.getAttribute("href") === href);
    if (same) same.focus({ preventScroll: true });
  }

  // local shows a time in the zone of the browser when it is pointed at.
  function local(t) {
    t.title = new Date(t.dateTime).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  }
})();
