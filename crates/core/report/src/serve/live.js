"use strict";
// Adds a row for each trial as it is kept; without this the page is loaded again by hand.
const follow = document.getElementById("follow");
const rows = document.getElementById("rows");
const count = document.getElementById("count");
const share = document.getElementById("share");
const state = document.getElementById("state");
const source = new EventSource(follow.dataset.events);

source.addEventListener("trial", (event) => {
  const trial = JSON.parse(event.data);
  const row = document.createElement("tr");
  for (const [name, left] of [["number", 0], ["block", 0], ["cell", 1], ["outcome", 1]]) {
    const cell = document.createElement("td");
    if (left) cell.className = "left";
    cell.textContent = trial[name];
    row.append(cell);
  }
  rows.prepend(row);
  const kept = Number(count.textContent) + 1;
  count.textContent = kept;
  share.value = kept;
});

source.addEventListener("ended", (event) => {
  state.textContent = event.data;
  source.close();
});
