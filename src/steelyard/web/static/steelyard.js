// Keeps a page alive: takes the place of its elements by what the server sends, and counts what goes on.
// Every page works without it.

const body = document.body;
const link = document.getElementById("link");
let source = null, seen = body.dataset.after, heard = Date.now();

const pad = (number) => String(Math.floor(number)).padStart(2, "0");
const span = (seconds) => {
  if (seconds < 60) return `${Math.max(0, Math.floor(seconds))} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${pad(seconds % 60)}`;
  return `${Math.floor(seconds / 3600)}:${pad((seconds % 3600) / 60)}:${pad(seconds % 60)}`;
};

function tick() {
  for (const each of document.querySelectorAll("time[data-since]"))
    each.textContent = span(Date.now() / 1000 - each.dataset.since);
  for (const each of document.querySelectorAll("time[data-at]:empty"))
    each.textContent = each.dataset.at > 0 ? new Date(each.dataset.at * 1000).toLocaleString() : "–";
  if (!link.hidden) link.querySelector("[data-age]").textContent = span((Date.now() - heard) / 1000);
}

// A row has no meaning outside a table, so a template parses what is sent; a tick in a row stays.
function replace(id, html) {
  const old = document.getElementById(id);
  if (!old) return;
  const holder = document.createElement("template");
  holder.innerHTML = html.trim();
  const fresh = holder.content.firstElementChild;
  if (!fresh || fresh.id !== id) return;
  const ticked = new Set([...old.querySelectorAll("input:checked")].map((each) => each.value));
  for (const each of fresh.querySelectorAll("input[type=checkbox]")) each.checked = ticked.has(each.value);
  const focused = old.contains(document.activeElement) && document.activeElement;
  old.replaceWith(fresh);
  if (focused?.href) [...fresh.querySelectorAll("a")].find((each) => each.href === focused.href)?.focus();
  if (focused?.value) [...fresh.querySelectorAll("input")].find((each) => each.value === focused.value)?.focus();
}

function take(event) {
  heard = Date.now();
  link.hidden = true;
  seen = event.lastEventId || seen;
  for (const [id, html] of Object.entries(JSON.parse(event.data))) replace(id, html);
  tick();
  body.dataset.seen = seen;
}

function open() {
  if (source || !body.dataset.events) return;
  const url = new URL(body.dataset.events, location.href);
  url.searchParams.set("after", seen);
  source = new EventSource(url);
  source.onopen = () => { heard = Date.now(); link.hidden = true; };
  source.onerror = () => { link.hidden = false; if (source?.readyState === 2) { close(); setTimeout(open, 2000); } };
  source.addEventListener("parts", take);
  source.addEventListener("over", (event) => { take(event); close(); delete body.dataset.events; setTimeout(() => location.reload(), 500); });
}

function close() {
  source?.close();
  source = null;
}

// A draft is checked as one types: its problems, its plan and its form are parts like any other.
function follow(form) {
  const text = form.elements.text, gutter = form.querySelector(".gutter");
  let timer = 0, asked = 0;
  const number = () => {
    const bad = new Set([...form.querySelectorAll("[data-line]")].map((each) => Number(each.dataset.line)));
    gutter.replaceChildren(...text.value.split("\n").map((_, at) => {
      const line = document.createElement("div");
      line.textContent = at + 1;
      if (bad.has(at + 1)) line.className = "bad";
      return line;
    }));
    gutter.scrollTop = text.scrollTop;
  };
  const check = async () => {
    const mine = ++asked, fields = new URLSearchParams(new FormData(form));
    fields.set("do", "check");
    const answer = await fetch("new?as=parts", {method: "POST", body: fields});
    if (mine !== asked || !answer.ok) return;
    const inForm = document.activeElement?.closest("#fields");
    for (const [id, html] of Object.entries(await answer.json())) if (!(id === "fields" && inForm)) replace(id, html);
    number();
  };
  text.addEventListener("input", () => { number(); clearTimeout(timer); timer = setTimeout(check, 400); });
  text.addEventListener("scroll", () => { gutter.scrollTop = text.scrollTop; });
  form.addEventListener("click", (event) => {
    const to = event.target.closest("[data-line]");
    if (!to) return;
    event.preventDefault();
    const before = text.value.split("\n").slice(0, to.dataset.line - 1).join("\n");
    const at = before.length + (before ? 1 : 0) + Math.max(0, to.dataset.column - 1);
    text.focus();
    text.setSelectionRange(at, at);
  });
  number();
}

// A browser opens six connections to a server at most: the seventh page that listens would stall all others.
document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
addEventListener("pagehide", close);
addEventListener("pageshow", () => document.hidden || open());
setInterval(tick, 1000);
tick();
if (document.getElementById("draft")) follow(document.getElementById("draft"));
if (!document.hidden) open();
document.documentElement.dataset.ready = "yes";
