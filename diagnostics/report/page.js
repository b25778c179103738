"use strict";
// Choosing topics, ranking words by relevance, sorting tables, light and dark. Words are only ever inserted as text.
(() => {
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (tag, classes, text) => {
    const element = document.createElement(tag);
    if (classes) element.className = classes;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
  const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
  const amount = (value) => (value < 10000 ? whole : compact).format(value);
  const percent = (share) => {
    const value = 100 * share;
    return (value === 0 || value >= 99.95 ? value.toFixed(0) : value >= 1 ? value.toFixed(1) : value.toPrecision(1)) + "%";
  };

  // More digits, since intervals of large corpora are narrow.
  const fine = (share) => (share === 0 || share === 1 ? percent(share) : (100 * share).toPrecision(3) + "%");

  function theme() {
    const button = one("#theme");
    const dark = matchMedia("(prefers-color-scheme: dark)");
    // Some browsers store nothing for pages that are files.
    const stored = () => { try { return localStorage.getItem("ppl-topics-theme"); } catch { return null; } };
    const current = () => document.documentElement.dataset.theme || (dark.matches ? "dark" : "light");
    const label = () => { button.textContent = current() === "dark" ? "Light" : "Dark"; };
    const chosen = stored();
    if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
    button.setAttribute("aria-description", "Switch between light and dark");
    button.hidden = false;
    button.addEventListener("click", () => {
      const next = current() === "dark" ? "light" : "dark";
      document.documentElement.dataset.theme = next;
      try { localStorage.setItem("ppl-topics-theme", next); } catch { /* for this visit only */ }
      label();
    });
    dark.addEventListener("change", label);
    label();
  }

  function sorting(table) {
    const heads = all("thead th", table);
    heads.forEach((head, column) => one("button", head).addEventListener("click", () => {
      const body = table.tBodies[0];
      const rows = [...body.rows];
      const value = (row) => {
        const cell = row.cells[column];
        return cell.dataset.v === undefined ? cell.textContent.trim() : Number(cell.dataset.v);
      };
      const numbers = rows.some((row) => typeof value(row) === "number");
      // Numbers are first sorted from the largest, words from A.
      const sign = head.getAttribute("aria-sort") === (numbers ? "descending" : "ascending") ? -1 : 1;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", (sign === 1) === numbers ? "descending" : "ascending");
      const known = (row) => !numbers || typeof value(row) === "number";
      rows.sort((a, b) => {
        if (!known(a) || !known(b)) return Number(known(b)) - Number(known(a));
        const order = numbers ? value(b) - value(a) : value(a).localeCompare(value(b));
        return sign * order;
      });
      body.append(...rows);
    }));
  }

  function copying(button) {
    button.addEventListener("click", async () => {
      const code = one("code", button.parentElement);
      const before = button.textContent;
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = before; }, 1500);
    });
  }

  function browser(data) {
    const slider = one("#lambda");
    const maps = all(".map");
    const lists = all(".topic-list");
    const tokens = data.tokens;
    // Up to a constant, which does not change the order.
    const logP = data.counts.map((count) => Math.log(count));
    let view = 0;
    let topic = 0;

    const options = () => all("[role=option]", one("#browser")).filter((option) => !option.closest("[hidden]"));
    const topics = () => data.views[view].topics;

    // The words of the topic on the page by decreasing relevance; ties keep their order.
    function ranked() {
      const weight = 1 - Number(slider.value);
      const { words, phi } = topics()[topic];
      const scores = words.map((word, i) => [Math.log(phi[i]) - weight * logP[word], i]);
      return scores.sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, data.n_words).map(([, i]) => [words[i], phi[i]]);
    }

    function showWords() {
      const { share } = topics()[topic];
      const rows = ranked();
      const size = tokens === null ? 1 : tokens;
      const part = share === null ? 1 / topics().length : share;
      const most = Math.max(...rows.map(([word]) => data.counts[word]), ...rows.map(([, phi]) => phi * part * size));
      const lambda = Number(slider.value).toFixed(2);
      one("#lambda-value").textContent = lambda;
      slider.setAttribute("aria-valuetext", "lambda " + lambda);
      one("#words-caption").textContent = rows.length
        ? `The ${rows.length} most relevant words of topic ${topic}`
        : `Topic ${topic} has no words.`;
      one("#words tbody").replaceChildren(...rows.map(([word, phi]) => {
        const row = make("tr");
        const name = make("th");
        name.scope = "row";
        name.append(make("bdi", "", data.words[word]));
        const track = make("div", "track");
        const bars = [["of", data.counts[word]], ["in", phi * part * size]];
        for (const [kind, value] of bars) {
          const bar = make("span", kind);
          bar.style.width = `${Math.min(100, (100 * value) / most)}%`;
          track.append(bar);
        }
        const cell = make("td");
        cell.append(track);
        const text = tokens === null
          ? phi.toPrecision(2)
          : `${amount(bars[1][1])} of ${amount(data.counts[word])}`;
        row.append(name, cell, make("td", "n", text));
        return row;
      }));
    }

    function counted(words, tag) {
      return words.flatMap(([word, count]) => {
        const item = make(tag);
        item.append(make("bdi", "", word));
        if (count > 1) item.append(make("span", "times", ` ×${whole.format(count)}`));
        return [item, " "];
      });
    }

    function showDocuments() {
      const found = topics()[topic].documents;
      one("#basis").textContent = data.views[view].topics.some((each) => each.documents.length)
        ? `${data.views[view].basis} Words assigned to the topic at the last draw are marked; the trace does not keep the order of the text.`
        : "The trace does not hold the topics of documents.";
      one("#documents").replaceChildren(...found.map((each) => {
        const item = make("li");
        const head = make("p", "head");
        head.append(make("bdi", "id", each.id));
        if (each.label) head.append(make("bdi", "label", each.label));
        const length = each.n === undefined ? "" : ` of ${whole.format(each.n)} ${each.n === 1 ? "token" : "tokens"}`;
        head.append(make("span", "amount", percent(each.share) + length));
        item.append(head);
        if (each.topic_words) {
          const text = make("p", "text");
          text.append(...counted(each.topic_words, "mark"), ...counted(each.other_words, "span"));
          item.append(text);
        }
        return item;
      }));
    }

    function choose(next, { focus = false, scroll = true } = {}) {
      topic = Math.min(Math.max(0, next), topics().length - 1);
      for (const option of options()) {
        const chosen = Number(option.dataset.topic) === topic;
        option.setAttribute("aria-selected", String(chosen));
        option.tabIndex = chosen ? 0 : -1;
        // The chosen circle is drawn on top.
        if (chosen && option instanceof SVGElement) option.parentElement.append(option);
        if (chosen && scroll && option.matches("li")) {
          const list = option.parentElement;
          const above = option.offsetTop - list.offsetTop;
          if (above < list.scrollTop || above + option.offsetHeight > list.scrollTop + list.clientHeight) {
            list.scrollTop = above - list.clientHeight / 2;
          }
        }
      }
      if (focus) one(`[data-topic="${topic}"]`, focus).focus({ preventScroll: focus.matches("ul") });
      const { name, share, low, high } = topics()[topic];
      const response = data.views[view].response;
      one("#topic-name").textContent = `Topic ${topic}` + (name ? `: ${name}` : "") + (response ? ` of ${response}` : "");
      one("#topic-share").textContent = share === null
        ? "Its share of the tokens was not recorded."
        : `${fine(share)} of the tokens` + (low === null ? "" : ` (90% interval ${fine(low)} to ${fine(high)})`);
      one("#topic").hidden = false;
      showWords();
      showDocuments();
    }

    function show(next) {
      view = next;
      maps.forEach((map, i) => { map.toggleAttribute("hidden", i !== view); });
      lists.forEach((list, i) => { list.hidden = i !== view; });
      if (one("#view")) one("#view").value = String(view);
      search();
    }

    function search() {
      const asked = one("#search").value.trim().toLowerCase();
      const fits = topics().map((each, k) => !asked || String(k) === asked
        || each.words.some((word) => data.words[word].toLowerCase().startsWith(asked)));
      for (const option of options()) {
        const fit = fits[Number(option.dataset.topic)];
        option.classList.toggle("dim", !fit);
        if (option.matches("li")) option.hidden = !fit;
      }
      const n = fits.filter(Boolean).length;
      one("#found").textContent = asked ? `${n} of ${fits.length} ${fits.length === 1 ? "topic" : "topics"} match` : "";
      return fits;
    }

    // Arrow keys go to the next topic in the list, or by number in the map, among the matches.
    function step(event) {
      const forward = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
      const container = event.currentTarget;
      const items = all("[role=option]", container).filter((item) => !item.hidden && !item.classList.contains("dim"));
      if (container.matches("svg")) items.sort((a, b) => a.dataset.topic - b.dataset.topic);
      if (!items.length) return;
      const place = items.findIndex((item) => Number(item.dataset.topic) === topic);
      let next = null;
      if (forward) next = place < 0 ? 0 : (place + forward + items.length) % items.length;
      if (event.key === "Home") next = 0;
      if (event.key === "End") next = items.length - 1;
      if (next === null) return;
      event.preventDefault();
      choose(Number(items[next].dataset.topic), { focus: container });
      remember();
    }

    function remember() {
      try { history.replaceState(null, "", `#topic-${view}-${topic}`); } catch { /* some browsers, for files */ }
    }

    function follow() {
      const found = /^#topic-(\d+)-(\d+)$/.exec(location.hash);
      if (!found || Number(found[1]) >= data.views.length) return false;
      show(Number(found[1]));
      choose(Number(found[2]));
      one("#topics").scrollIntoView();
      return true;
    }

    for (const container of [...maps, ...lists]) {
      container.addEventListener("click", (event) => {
        const option = event.target.closest("[role=option]");
        if (!option) return;
        choose(Number(option.dataset.topic), { focus: container, scroll: container.matches("svg") });
        remember();
      });
      container.addEventListener("keydown", step);
    }
    slider.addEventListener("input", showWords);
    one("#search").addEventListener("input", () => {
      const fits = search();
      if (!fits[topic] && fits.includes(true)) {
        const first = options().find((option) => option.matches("li") && !option.hidden);
        choose(Number(first.dataset.topic));
      }
    });
    if (one("#view")) one("#view").addEventListener("change", (event) => {
      show(Number(event.target.value));
      choose(largest());
    });
    one("#previous").addEventListener("click", () => { choose((topic - 1 + topics().length) % topics().length); remember(); });
    one("#next").addEventListener("click", () => { choose((topic + 1) % topics().length); remember(); });
    addEventListener("hashchange", follow);
    all(".topic-link").forEach((link) => link.addEventListener("click", () => {
      if (link.hash === location.hash) follow();
    }));
    const largest = () => Number(one("li", lists[view]).dataset.topic);
    if (!follow()) {
      show(0);
      choose(largest(), { scroll: false });
    }
  }

  theme();
  all("table.sortable").forEach(sorting);
  all(".copy").forEach(copying);
  const data = JSON.parse(one("#data").textContent);
  if (data) browser(data);
})();
