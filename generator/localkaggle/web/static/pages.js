// The pages work without this; with it, what still moves moves without reloading the page.
"use strict";

const PAUSE = 1500; // milliseconds between two looks
const LONGEST_PAUSE = 15000; // while the server does not answer
const LONGEST_LOG = 2000000; // characters kept on the page

// Replaces every part marked data-live by its state on the server, for as long as there is one.
async function followParts() {
  let pause = PAUSE;
  while (document.querySelector("[data-live]")) {
    await new Promise((wake) => setTimeout(wake, pause));
    if (document.hidden) continue;
    try {
      const answer = await fetch(location.href, { credentials: "same-origin" });
      if (!answer.ok) throw new Error(String(answer.status));
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of document.querySelectorAll("[data-live]")) {
        const next = part.id && fresh.getElementById(part.id);
        if (!next) return location.reload();
        if (next.outerHTML !== part.outerHTML) part.replaceWith(document.adoptNode(next));
      }
      pause = PAUSE;
    } catch {
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    }
  }
}

// Appends to a log what the session has printed since; shows the finished page when it has ended.
async function followLog(log) {
  let pause = 300;
  for (;;) {
    await new Promise((wake) => setTimeout(wake, pause));
    if (document.hidden) continue;
    try {
      const address = new URL(log.dataset.log, location.href);
      address.searchParams.set("from", log.dataset.next);
      const answer = await fetch(address, { credentials: "same-origin" });
      if (!answer.ok) throw new Error(String(answer.status));
      const news = await answer.json();
      const isAtEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 40;
      if (news.text) log.textContent = (log.textContent + news.text).slice(-LONGEST_LOG);
      log.dataset.next = String(news.next);
      if (news.text && isAtEnd) log.scrollTop = log.scrollHeight;
      if (news.is_final || news.state !== log.dataset.state) return location.reload();
      const elapsed = document.getElementById("elapsed");
      if (elapsed && news.elapsed) elapsed.textContent = news.elapsed;
      pause = PAUSE;
    } catch {
      pause = Math.min(Math.max(pause, PAUSE) * 2, LONGEST_PAUSE);
    }
  }
}

for (const log of document.querySelectorAll("[data-log]")) {
  log.scrollTop = log.scrollHeight;
  followLog(log);
}
followParts();

// On a phone the bars are wider than the page.
for (const current of document.querySelectorAll("nav [aria-current]")) {
  current.parentElement.scrollLeft = current.offsetLeft - current.parentElement.offsetLeft - 24;
}

// A form is sent once, however often its button is pressed.
addEventListener("submit", (event) => {
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "yes";
});
addEventListener("pageshow", () => document.querySelectorAll("form").forEach((form) => delete form.dataset.sent));
