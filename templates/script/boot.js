// Runs before paint: says that scripts run, and applies a remembered theme.
(function () {
  "use strict";
  var root = document.documentElement, theme = null;
  root.classList.add("js");
  try { theme = localStorage.getItem("assay-theme"); } catch (error) { /* storage is off */ }
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
}());
