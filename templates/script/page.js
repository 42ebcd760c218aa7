// Conveniences only: the page reads, links and prints, answers included, without this file.
(function () {
  "use strict";
  var doc = document, root = doc.documentElement;
  function one(selector, within) { return (within || doc).querySelector(selector); }
  function all(selector, within) { return Array.from((within || doc).querySelectorAll(selector)); }
  function remembered(key) { try { return localStorage.getItem("assay-" + key); } catch (error) { return null; } }
  function remember(key, value) { try { localStorage.setItem("assay-" + key, value); } catch (error) { /* storage is off */ } }
  function say(text) { one("#live").textContent = text; }

  // Theme: the system's until chosen.
  var themes = all("input[name=theme]");
  function setTheme(name) {
    if (name === "auto") delete root.dataset.theme; else root.dataset.theme = name;
    remember("theme", name);
    themes.forEach(function (input) { input.checked = input.value === name; });
  }
  themes.forEach(function (input) {
    input.checked = input.value === (root.dataset.theme || "auto");
    input.addEventListener("change", function () { setTheme(input.value); });
  });

  // Contents: opened where there is room, with the section being read.
  var links = all(".toc a"), contents = one(".toc details"), roomy = matchMedia("(min-width: 80rem)");
  var heads = links.map(function (link) { return doc.getElementById(link.hash.slice(1)); });
  var here = -2, waiting = false;
  function fitContents() { if (roomy.matches) contents.open = true; }
  function markSection() {
    waiting = false;
    var found = -1;
    heads.forEach(function (head, n) { if (head && head.getBoundingClientRect().top < 130) found = n; });
    if (found === here) return;
    here = found;
    links.forEach(function (link, n) { if (n === found) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current"); });
  }
  if (contents) {
    fitContents();
    roomy.addEventListener("change", fitContents);
    addEventListener("scroll", function () { if (!waiting) { waiting = true; requestAnimationFrame(markSection); } }, { passive: true });
    markSection();
  }

  // Copy code, or the TeX of a formula.
  function copy(text, button, source) {
    navigator.clipboard.writeText(text).then(function () {
      var words = button.textContent;
      button.textContent = "Copied";
      say("Copied");
      setTimeout(function () { button.textContent = words; }, 1600);
    }, function () { getSelection().selectAllChildren(source); say("Selected; copy it with your keyboard"); });
  }
  all("[data-copy]").forEach(function (button) {
    button.addEventListener("click", function () {
      var source = doc.getElementById(button.dataset.copy);
      copy(source.textContent, button, source);
    });
  });
  all("math[data-tex]").forEach(function (formula) {
    formula.addEventListener("copy", function (event) {
      event.clipboardData.setData("text/plain", formula.dataset.tex);
      event.preventDefault();
    });
  });

  // Save data that the page carries: between local files, links ignore the download attribute.
  all("[data-save]").forEach(function (button) {
    button.addEventListener("click", function () {
      var link = doc.createElement("a"), text = doc.getElementById(button.dataset.save).textContent;
      link.href = URL.createObjectURL(new Blob([text], { type: "application/octet-stream" }));
      link.download = button.dataset.name;
      doc.body.append(link);
      link.click();
      link.remove();
      setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
    });
  });

  // Self-check: hash the data that the page carries, and compare with the hash printed beside it.
  var verdicts = {
    match: "Self-check: the data inside this page matches the hash printed in this page. It shows accidental damage only.",
    mismatch: "Self-check failed: the data inside this page does not match its hash. Do not rely on the numbers here.",
    unable: "Self-check not run: this browser lacks a needed function."
  };
  all("[data-verify]").forEach(function (button) {
    var verdict = button.nextElementSibling;
    function tell(found) { verdict.textContent = verdicts[found]; verdict.classList.toggle("wrong", found === "mismatch"); }
    button.addEventListener("click", function () {
      if (!window.crypto || !crypto.subtle) { tell("unable"); return; }
      var text = doc.getElementById(button.dataset.verify).textContent;
      crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)).then(function (digest) {
        var hex = Array.from(new Uint8Array(digest), function (byte) { return byte.toString(16).padStart(2, "0"); }).join("");
        tell(hex === button.dataset.sha ? "match" : "mismatch");
      }, function () { tell("unable"); });
    });
  });

  // Predictions are kept, and shown beside the answer.
  all(".check[data-id]").forEach(function (check) {
    var key = "check-" + location.pathname.split("/").pop() + "-" + check.dataset.id;
    var kept = remembered(key), answer = one("details", check);
    function show() {
      var chosen = one("input:checked", check);
      if (chosen) one(".yours", check).textContent = "You predicted: " + chosen.parentNode.textContent.trim();
    }
    all("input", check).forEach(function (input) {
      input.checked = input.value === kept;
      input.addEventListener("change", function () { remember(key, input.value); show(); });
    });
    answer.addEventListener("toggle", show);
  });

  // A term's definition, or the formula behind its number, on hover and focus; Escape dismisses it.
  var card = one("#card"), closing;
  function hideCard() { card.hidden = true; all("[aria-describedby=card]").forEach(function (link) { link.removeAttribute("aria-describedby"); }); }
  all(".term, .ref[href^='#eq-']").forEach(function (term) {
    var entry = doc.getElementById(term.hash.slice(1));
    var shown = entry && (entry.matches(".eq") ? entry.firstElementChild : entry.nextElementSibling);
    if (!shown) return;
    function show() {
      clearTimeout(closing);
      hideCard();
      card.replaceChildren.apply(card, Array.from(shown.childNodes, function (node) { return node.cloneNode(true); }));
      all("[id]", card).forEach(function (node) { node.removeAttribute("id"); });
      card.hidden = false;
      var at = term.getBoundingClientRect();
      card.style.left = scrollX + Math.max(12, Math.min(at.left, innerWidth - card.offsetWidth - 12)) + "px";
      card.style.top = scrollY + at.bottom + 8 + "px";
      term.setAttribute("aria-describedby", "card");
    }
    function hide() { closing = setTimeout(hideCard, 160); }
    term.addEventListener("mouseenter", show);
    term.addEventListener("focus", show);
    term.addEventListener("mouseleave", hide);
    term.addEventListener("blur", hide);
  });
  card.addEventListener("mouseenter", function () { clearTimeout(closing); });
  card.addEventListener("mouseleave", hideCard);
  addEventListener("keydown", function (event) { if (event.key === "Escape") hideCard(); });

  // Live figures: the drawing of the page stays until a reader touches a control.
  function load(address) {
    return new Promise(function (done, failed) {
      var script = doc.createElement("script");
      script.src = address;
      script.onload = done;
      script.onerror = failed;
      doc.head.append(script);
    });
  }
  var runtime;
  all("[data-live]").forEach(function (figure) {
    var inputs = all("[data-signal]", figure), stage = one(".stage", figure), words = one(".say", figure);
    var view, starting;
    function value(input) { return input.tagName === "SELECT" ? input.value : "log2" in input.dataset ? Math.pow(2, +input.value) : +input.value; }
    function label(input) {
      if (input.tagName === "SELECT") return;
      var text = value(input).toLocaleString("en-US") + (input.dataset.unit ? " " + input.dataset.unit : "");
      input.setAttribute("aria-valuetext", text);
      one("output", input.parentNode).textContent = text;
    }
    function draw() {
      inputs.forEach(function (input) { view.signal(input.dataset.signal, value(input)); });
      return view.runAsync().then(function () {
        words.textContent = view.signal("summary");
        one("svg", stage).setAttribute("aria-label", words.textContent);
      });
    }
    function start() {
      if (starting) return starting;
      var narrow = stage.getBoundingClientRect().width <= 576, name = figure.dataset.live + (narrow ? "-narrow" : "");
      runtime = runtime || load(figure.dataset.runtime);
      starting = runtime.then(function () { return load(narrow ? figure.dataset.narrow : figure.dataset.wide); }).then(function () {
        var box = doc.createElement("div");
        return window.assayVega.embed(box, window.assaySpecs[name], { mode: "vega", ast: true, renderer: "svg", actions: false, defaultStyle: false, tooltip: false }).then(function (result) {
          var drawing = one("svg", box);
          view = result.view;
          drawing.setAttribute("class", "chart");
          drawing.setAttribute("role", "img");
          stage.replaceChildren(box);
          figure.dataset.state = "live";
          return draw();
        });
      });
      starting.catch(function () { words.textContent = "The live view did not load; the drawing shows the recorded state."; });
      return starting;
    }
    inputs.forEach(function (input) {
      input.addEventListener("input", function () { label(input); if (view) draw(); else start(); });
      input.addEventListener("focus", start, { once: true });
      input.addEventListener("pointerenter", start, { once: true });
    });
  });

  // Keys: single letters, which can be switched off.
  var keys = one("#keys"), enabled = one("#keys-on");
  enabled.checked = remembered("keys") !== "off";
  enabled.addEventListener("change", function () { remember("keys", enabled.checked ? "on" : "off"); });
  all("[data-open]").forEach(function (button) { button.addEventListener("click", function () { doc.getElementById(button.dataset.open).showModal(); }); });
  function step(by) { if (links.length) location.hash = links[Math.max(0, Math.min(links.length - 1, here + by))].hash; }
  addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || keys.open) return;
    if (event.key === "?") { keys.showModal(); return; }
    if (!enabled.checked) return;
    if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (event.key === "t") setTheme(root.dataset.theme === "dark" ? "light" : root.dataset.theme === "light" ? "auto" : "dark");
    else if (event.key === "a") all("main details").forEach(function (details) { details.open = !details.open; });
    else if (event.key === "/") { var search = one(".site a[href$='search.html']"); if (search) { event.preventDefault(); location.href = search.href; } }
  });
}());
