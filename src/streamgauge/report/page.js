// Draws every figure of #figures; colours are CSS variables, read again when light turns dark or the page is printed.
(() => {
  const source = document.getElementById("figures").textContent;
  const touch = matchMedia("(pointer: coarse)").matches;
  const config = {
    responsive: true,
    displaylogo: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
  };

  function draw() {
    const style = getComputedStyle(document.documentElement);
    const colored = (key, value) =>
      key.endsWith("color") && String(value).startsWith("--") ? style.getPropertyValue(value).trim() : value;
    for (const [name, figure] of Object.entries(JSON.parse(source, colored))) {
      // A finger that drags over a figure means to scroll the page.
      figure.layout.dragmode = touch ? false : "zoom";
      Plotly.react(`figure-${name}`, figure.data, figure.layout, config);
    }
  }

  if (window.Plotly) {
    draw();
    for (const setting of ["(prefers-color-scheme: dark)", "print"]) {
      matchMedia(setting).addEventListener("change", draw);
    }
  }
})();
