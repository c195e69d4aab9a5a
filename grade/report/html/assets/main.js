// Which view is shown: the part of the address behind "#".

function views() {
  if (run.mode === "recording") return [["#/", run.trials.length > 1 ? "Sessions" : "Session"], ["#/catalog", "Catalog"]];
  return [["#/", "Run"], ["#/runs", "Executions"], ["#/matrix", "Matrix"], ["#/triage", "Triage"], ["#/catalog", "Catalog"]];
}

function route(first) {
  if (location.hash === "#main" && !first) return; // the way past the navigation
  const parts = location.hash.replace(/^#(main$)?\/?/, "").split("/");
  const n = /^\d{1,7}$/.test(parts[1] || "") ? +parts[1] : -1;
  const view = clear(byId("view"));
  view.removeAttribute("data-waits");
  papers = [];
  const atRun = parts[0] === "";
  byId("glance").hidden = !atRun;
  if (atRun) {
    // A recording of one session is its session: nobody should have to open it twice, or
    // to read its headline twice.
    if (run.mode === "recording" && run.trials.length === 1) {
      byId("glance").hidden = true;
      viewTrial(view, 0);
      const notes = document.querySelector("#glance .notes");
      if (notes) view.prepend(notes.cloneNode(true));
    } else viewRun(view);
  } else if (parts[0] === "case") viewCase(view, n);
  else if (parts[0] === "trial") viewTrial(view, n);
  else if (parts[0] === "runs") viewExecutions(view);
  else if (parts[0] === "matrix") viewMatrix(view);
  else if (parts[0] === "triage") viewTriage(view);
  else if (parts[0] === "catalog") { if (parts.length > 1) viewCatalog(view, n); else viewCatalogs(view); }
  else if (parts[0] === "ab") viewAB(view, n, /^\d{1,7}$/.test(parts[2] || "") ? +parts[2] : -1);
  else lost(view);
  const here = { case: "", trial: "", ab: "", runs: "runs", matrix: "matrix", triage: "triage", catalog: "catalog" }[parts[0]] || "";
  for (const a of byId("nav").querySelectorAll("a")) {
    if (a.getAttribute("href") === "#/" + here) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
  if (first) return;
  const title = view.querySelector("h1");
  window.scrollTo(0, 0);
  (atRun || !title ? byId("main") : title).focus({ preventScroll: true });
  say(title ? title.textContent : "");
}

// The theme is the system's until somebody chooses; the choice is kept where the browser
// lets a file keep one.
function theme() {
  const button = byId("theme"), root = document.documentElement;
  let now = "";
  try { now = localStorage.getItem("sixlink-theme") || ""; } catch (e) { now = ""; }
  const dark = () => now ? now === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const draw = () => {
    if (now) root.setAttribute("data-theme", now); else root.removeAttribute("data-theme");
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", "Use " + (dark() ? "light" : "dark") + " colours");
  };
  button.addEventListener("click", () => {
    now = dark() ? "light" : "dark";
    try { localStorage.setItem("sixlink-theme", now); } catch (e) { say(""); }
    draw();
  });
  button.hidden = false;
  draw();
}

put(byId("nav"), views().map(([href, text]) => h("a", { href }, text)));
theme();
addEventListener("hashchange", () => route(false));
document.addEventListener("keydown", (e) => {
  if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) return;
  const search = document.querySelector("#view [data-search]");
  if (search) { search.focus(); e.preventDefault(); }
});
// On paper there is nothing to press: what can be opened is open, as far as it is made.
addEventListener("beforeprint", () => {
  for (const p of papers) p.make();
  for (const d of document.querySelectorAll("details")) d.open = true;
});
route(true);
// A view that had to wait for the rest of the file is made when that is there.
document.addEventListener("DOMContentLoaded", () => { if (byId("view").hasAttribute("data-waits") || run.mode === "recording") route(true); });
document.documentElement.setAttribute("data-ready", "");
