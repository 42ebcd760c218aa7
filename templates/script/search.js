// Search over the text of the site, which search-text.js carries: every word must begin a word of
// an entry; a page's title counts before a heading, a heading before the text.
(function () {
  "use strict";
  var box = document.getElementById("search-box"), list = document.getElementById("search-found");
  var count = document.getElementById("search-count"), entries = window.assaySearchText;
  function fold(text) { return text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase(); }
  var folded = entries.map(function (entry) { return [fold(entry.page), fold(entry.heading), fold(entry.text)]; });
  function starts(text, word) {
    for (var at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
      if (at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1])) return at;
    }
    return -1;
  }
  function score(fields, words) {
    var total = 0;
    for (var word of words) {
      var best = 0;
      if (starts(fields[0], word) >= 0) best = 4;
      if (starts(fields[1], word) >= 0) best += 3;
      if (starts(fields[2], word) >= 0) best += 1;
      if (!best) return 0;
      total += best;
    }
    return total;
  }
  function snippet(text, words) {
    var low = fold(text), at = Math.max(0, starts(low, words[0])), begin = Math.max(0, text.lastIndexOf(" ", Math.max(0, at - 60)) + 1);
    var part = document.createElement("p"), end = begin + 200 < text.length ? text.lastIndexOf(" ", begin + 200) : text.length;
    var shown = text.slice(begin, end);
    if (low.length !== text.length) { part.textContent = shown; return part; }
    var cuts = [];
    words.forEach(function (word) { var found = starts(fold(shown), word); if (found >= 0) cuts.push([found, found + word.length]); });
    cuts.sort(function (a, b) { return a[0] - b[0]; });
    part.append(begin ? "… " : "");
    var last = 0;
    cuts.forEach(function (cut) {
      if (cut[0] < last) return;
      var mark = document.createElement("mark");
      mark.textContent = shown.slice(cut[0], cut[1]);
      part.append(shown.slice(last, cut[0]), mark);
      last = cut[1];
    });
    part.append(shown.slice(last), text.length > end ? " …" : "");
    return part;
  }
  function search() {
    var words = fold(box.value).split(/\s+/).filter(Boolean), found = [];
    if (words.length) folded.forEach(function (fields, n) { var points = score(fields, words); if (points) found.push([points, n]); });
    found.sort(function (a, b) { return b[0] - a[0] || a[1] - b[1]; });
    list.replaceChildren.apply(list, found.slice(0, 40).map(function (hit) {
      var entry = entries[hit[1]], item = document.createElement("li"), link = document.createElement("a");
      link.href = entry.href;
      link.textContent = entry.heading === entry.page ? entry.page : entry.page + " · " + entry.heading;
      item.append(link, snippet(entry.text, words));
      return item;
    }));
    count.textContent = words.length ? found.length + (found.length === 1 ? " place" : " places") : "";
    try { history.replaceState(null, "", box.value ? "#q=" + encodeURIComponent(box.value) : location.pathname); } catch (error) { /* not from this address */ }
  }
  box.addEventListener("input", search);
  if (location.hash.startsWith("#q=")) { box.value = decodeURIComponent(location.hash.slice(3)); search(); }
  box.focus();
}());
