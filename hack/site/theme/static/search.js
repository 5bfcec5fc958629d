// The search of the site. The index is a script next to this one, so that it also loads from a folder on disk.
"use strict";

// words returns the words of a text in lower case.
function words(text) {
  return text.toLowerCase().match(/[a-z0-9\u00b5-\uffff]+/g) || [];
}

// weigh returns how well a text has a word: a whole word counts more than the beginning of one.
function weigh(text, word) {
  let best = 0;
  for (const w of words(text)) {
    if (w === word) return 1;
    if (w.startsWith(word)) best = 0.5;
  }
  return best;
}

// find returns the sections of the index that have all words of the query, the best one first, and few of one page.
function find(index, query, limit) {
  const wanted = words(query);
  if (wanted.length === 0) return [];
  const found = [];
  for (const section of index) {
    let score = 0;
    for (const word of wanted) {
      const inText = section.text.toLowerCase().includes(word) ? weigh(section.text, word) : 0;
      const s = 8 * weigh(section.page, word) + 6 * weigh(section.heading, word) + inText;
      if (s === 0) {
        score = 0;
        break;
      }
      score += s;
    }
    if (score > 0) found.push({ section, score: score * section.weight });
  }
  found.sort((a, b) => b.score - a.score || a.section.url.localeCompare(b.section.url));
  const perPage = {};
  return found.filter(f => {
    const page = f.section.url.split("#")[0];
    perPage[page] = (perPage[page] || 0) + 1;
    return perPage[page] <= 3;
  }).slice(0, limit).map(f => f.section);
}

// excerpt returns the text around the first of the words.
function excerpt(text, query) {
  const lower = text.toLowerCase();
  let at = -1;
  for (const word of words(query)) {
    at = lower.indexOf(word);
    if (at >= 0) break;
  }
  const from = Math.max(0, at - 50);
  return (from > 0 ? "…" : "") + text.slice(from, from + 140) + (text.length > from + 140 ? "…" : "");
}

if (typeof document !== "undefined") {
  const root = new URL(".", document.currentScript.src);
  const input = document.getElementById("search");
  const list = document.getElementById("found");

  const load = () => {
    if (window.searchIndex || document.getElementById("index")) return;
    const script = document.createElement("script");
    script.id = "index";
    script.src = new URL("search-index.js", root).href;
    script.onload = show;
    document.head.append(script);
  };

  const show = () => {
    list.replaceChildren();
    list.hidden = input.value.trim() === "";
    if (list.hidden || !window.searchIndex) return;
    const sections = find(window.searchIndex, input.value, 15);
    for (const s of sections) {
      const link = document.createElement("a");
      link.href = new URL(s.url, root).href;
      const title = document.createElement("b");
      title.textContent = s.heading === s.page ? s.page : s.page + " › " + s.heading;
      const text = document.createElement("span");
      text.textContent = excerpt(s.text, input.value);
      link.append(title, text);
      const item = document.createElement("li");
      item.append(link);
      list.append(item);
    }
    if (sections.length === 0) {
      const item = document.createElement("li");
      item.textContent = "No page has all of these words.";
      list.append(item);
    }
  };

  input.addEventListener("focus", load);
  input.addEventListener("input", () => { load(); show(); });
  input.addEventListener("keydown", e => {
    if (e.key === "Escape") { input.value = ""; show(); }
    if (e.key === "Enter" && list.querySelector("a")) list.querySelector("a").click();
    if (e.key === "ArrowDown" && list.querySelector("a")) list.querySelector("a").focus();
  });
  list.addEventListener("click", () => { list.hidden = true; });
}
