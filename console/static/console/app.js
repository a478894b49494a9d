// Every page, form and dialog works without this file; it only upgrades them.
(() => {
  "use strict";

  const root = document.documentElement;
  const dialog = document.getElementById("dlg");
  const side = document.getElementById("side");
  const page = document.getElementById("page");
  const live = document.getElementById("live");
  const typing = "input, textarea, select, [contenteditable]";
  const returnKey = "lastro.focus";
  let opener = null;

  // A status region speaks only when its text changes.
  function say(text) {
    if (!live || !text) return;
    live.textContent = "";
    requestAnimationFrame(() => { live.textContent = text; });
  }

  // --- copy ---------------------------------------------------------------

  // The clipboard interface exists only on https and localhost.
  function copyBySelection(text) {
    const box = document.createElement("textarea");
    box.value = text;
    box.className = "sr";
    box.setAttribute("aria-hidden", "true");
    (dialog?.open ? dialog : document.body).append(box);
    box.select();
    const copied = document.execCommand("copy");
    box.remove();
    return copied;
  }

  async function copy(button) {
    const text = button.dataset.copy;
    let copied = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      copied = copyBySelection(text);
      button.focus();
    }
    say(copied ? button.dataset.copied : button.dataset.failed);
    if (!copied) return;
    button.classList.add("ok");
    setTimeout(() => button.classList.remove("ok"), 1200);
  }

  // --- theme --------------------------------------------------------------

  const themes = ["auto", "light", "dark"];

  function labelTheme(button, theme) {
    button.setAttribute("aria-label", button.dataset[theme]);
    button.title = button.dataset[theme];
    button.value = themes[(themes.indexOf(theme) + 1) % themes.length];
  }

  function changeTheme(event) {
    event.preventDefault();
    const button = event.target.querySelector("button");
    const theme = button.value;
    const secure = location.protocol === "https:" ? ";secure" : "";
    document.cookie = `theme=${theme};path=/;max-age=31536000;samesite=lax${secure}`;
    root.dataset.theme = theme;
    labelTheme(button, theme);
    say(button.dataset[theme]);
  }

  // --- drawer -------------------------------------------------------------

  const narrow = matchMedia("(max-width: 860px)");
  const menuButton = document.querySelector("[data-menu]");

  function openDrawer() {
    side.classList.add("open");
    page.inert = true;
    menuButton.setAttribute("aria-expanded", "true");
    side.querySelector("[data-menu-close]").focus();
  }

  function closeDrawer() {
    if (!side?.classList.contains("open")) return;
    side.classList.remove("open");
    page.inert = false;
    menuButton.setAttribute("aria-expanded", "false");
    menuButton.focus();
  }

  narrow.addEventListener("change", closeDrawer);

  // --- dialog -------------------------------------------------------------

  function openDialog(source) {
    opener = source;
    dialog.showModal();
    dialog.scrollTop = 0;
  }

  function settleDialog() {
    const invalid = dialog.querySelector("[aria-invalid='true']");
    const first = dialog.querySelector("[autofocus], textarea, input:not([type='hidden']), select");
    (invalid || first || dialog.querySelector("a, button"))?.focus();
  }

  function fillDialog(content) {
    dialog.replaceChildren(content);
    if (!dialog.open) openDialog(document.activeElement);
    settleDialog();
  }

  function showFailure() {
    fillDialog(document.getElementById("dlg-failed").content.cloneNode(true));
  }

  function dialogClosed() {
    dialog.replaceChildren();
    if (opener?.isConnected) opener.focus();
    opener = null;
  }

  // After a change the page is loaded again: give focus back to what opened the dialog.
  function rememberOpener() {
    if (dialog?.open && opener?.id) sessionStorage.setItem(returnKey, opener.id);
  }

  function restoreOpener() {
    const id = sessionStorage.getItem(returnKey);
    sessionStorage.removeItem(returnKey);
    if (id) document.getElementById(id)?.focus();
  }

  // --- tables -------------------------------------------------------------

  // A table that can be scrolled sideways must be reachable with the keyboard; one that cannot is no stop.
  function markScrollers() {
    for (const box of document.querySelectorAll(".wrap")) {
      const scrolls = box.scrollWidth > box.clientWidth + 1;
      box.toggleAttribute("tabindex", scrolls);
      if (scrolls) box.tabIndex = 0;
      if (scrolls) box.setAttribute("role", "group");
      else box.removeAttribute("role");
    }
  }

  function moveInRows(step) {
    const links = [...document.querySelectorAll("[data-rows] tbody tr [data-row]")];
    if (!links.length) return false;
    const at = links.findIndex((link) => link.closest("tr").contains(document.activeElement));
    links[Math.min(Math.max(at + step, 0), links.length - 1)].focus();
    return true;
  }

  function moveInObjects(step) {
    document.querySelector(step > 0 ? "a[rel='next']" : "a[rel='prev']")?.click();
  }

  // --- idle ---------------------------------------------------------------

  const idle = document.getElementById("idle");
  const warningSeconds = 120;
  const idleSeconds = Number(idle?.dataset.idleSeconds);
  const tabs = idle && "BroadcastChannel" in window ? new BroadcastChannel("lastro.session") : null;
  let endsAt = Infinity;

  function leaveIdle() {
    const seen = encodeURIComponent(location.pathname + location.search);
    location.assign(`${idle.dataset.away}?next=${seen}&ended=1`);
  }

  // Whatever reaches the server keeps the session, in whichever tab.
  function keepSession() {
    endsAt = Date.now() + idleSeconds * 1000;
    if (idle.open) idle.close();
  }

  function sessionKept() {
    keepSession();
    tabs?.postMessage("kept");
  }

  // Not a countdown of timers: a laptop that slept knows only what time it is.
  function watchIdle() {
    const left = Math.ceil((endsAt - Date.now()) / 1000);
    if (left <= 0) return leaveIdle();
    if (left > warningSeconds) return;
    idle.querySelector("[data-idle-left]").textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
    if (!idle.open) idle.showModal();
  }

  async function stay(event) {
    if (event.submitter?.matches("[data-sign-out]")) return;
    event.preventDefault();
    const form = event.target;
    try {
      const answer = await fetch(form.action, { method: "POST", body: new FormData(form), redirect: "manual" });
      if (answer.ok) sessionKept();
      else leaveIdle();
    } catch {
      // The server cannot be reached now: the dialog stays, and the button with it.
    }
  }

  function startIdle() {
    if (!idle) return;
    sessionKept();
    tabs?.addEventListener("message", keepSession);
    idle.addEventListener("submit", stay);
    document.addEventListener("htmx:afterRequest", sessionKept);
    document.addEventListener("visibilitychange", watchIdle);
    setInterval(watchIdle, 1000);
  }

  // --- events -------------------------------------------------------------

  function closeMenus(except) {
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (menu !== except) menu.open = false;
    }
  }

  function closeOpenMenu() {
    const menu = document.querySelector("details.menu[open]");
    if (!menu) return false;
    menu.open = false;
    menu.querySelector("summary").focus();
    return true;
  }

  document.addEventListener("click", (event) => {
    const target = event.target;
    closeMenus(target.closest("details.menu"));
    const copier = target.closest("[data-copy]");
    if (copier) return copy(copier);
    if (target.closest("[data-close]") && dialog?.open) {
      event.preventDefault();
      return dialog.close();
    }
    if (target.closest("[data-menu]")) {
      event.preventDefault();
      return openDrawer();
    }
    const outside = side?.classList.contains("open") && !side.contains(target);
    if (target.closest("[data-menu-close]") || outside) {
      event.preventDefault();
      closeDrawer();
    }
  });

  function shortcut(event) {
    if (event.key === "/") {
      const find = document.getElementById("find");
      if (find) event.preventDefault();
      find?.focus();
    }
    const step = { j: 1, k: -1 }[event.key];
    if (step && !moveInRows(step)) moveInObjects(step);
  }

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return closeOpenMenu() || closeDrawer();
    const busy = event.metaKey || event.ctrlKey || event.altKey || dialog?.open;
    if (!busy && !event.target.matches(typing)) shortcut(event);
  });

  document.addEventListener("submit", (event) => {
    if (event.target.matches("[data-theme-form]")) changeTheme(event);
  });

  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-autosubmit]");
    if (form && event.target.matches("select, input[type='date']")) form.requestSubmit();
  });

  // A filter that is not set has no place in the address.
  document.addEventListener("formdata", (event) => {
    if (event.target.method !== "get") return;
    for (const [name, value] of [...event.formData]) if (!value) event.formData.delete(name);
  });

  dialog?.addEventListener("close", dialogClosed);
  addEventListener("pagehide", rememberOpener);
  addEventListener("resize", markScrollers);

  // --- htmx ---------------------------------------------------------------

  // A refused form comes back with its errors; any other failure is said instead of shown as a page.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr, target } = event.detail;
    if ([409, 422].includes(xhr.status)) {
      event.detail.shouldSwap = true;
      event.detail.isError = false;
    } else if (target === dialog && xhr.status >= 400) {
      event.detail.shouldSwap = false;
      showFailure();
    }
  });

  document.addEventListener("htmx:sendError", (event) => {
    if (event.detail.target === dialog) showFailure();
  });

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.detail.target === dialog && !dialog.open) opener = event.detail.elt;
  });

  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target === dialog) {
      if (!dialog.open) openDialog(opener);
      settleDialog();
    }
    if (event.detail.target.id === "results") {
      markScrollers();
      say(document.getElementById("results-count")?.textContent.trim());
    }
  });

  // --- start --------------------------------------------------------------

  startIdle();
  markScrollers();
  restoreOpener();
  say([...document.querySelectorAll("[data-toast]")].map((toast) => toast.textContent.trim()).join(" "));
  document.querySelector("main [aria-invalid='true']")?.focus();
})();
