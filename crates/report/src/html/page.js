// What happens when the page is opened.

function switchTheme(button) {
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const name = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Switch to light colours" : "Switch to dark colours");
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    name();
  });
  name();
}

function start() {
  switchTheme(document.getElementById("theme"));
  const data = JSON.parse(document.getElementById("data").textContent);
  const chart = document.getElementById("chart");
  if (chart) new Chart(data.timeline, chart, document.getElementById("legend"));
  if (document.getElementById("flame-graph")) new FlameView(new Flame(data.flame, data.strings), data.per);
}

start();
