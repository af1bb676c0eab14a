// Draws every figure of #figures; colours are CSS variables, read again when light turns dark or the page is printed.
(() => {
  const source = document.getElementById("figures").textContent;
  const touch = matchMedia("(pointer: coarse)").matches;
  const config = { responsive: true, displaylogo: false, displayModeBar: false };
  const hidden = {};

  function figures() {
    const style = getComputedStyle(document.documentElement);
    const one = (value) => (String(value).startsWith("--") ? style.getPropertyValue(value).trim() : value);
    const resolved = (value) => (Array.isArray(value) ? value.map(one) : one(value));
    const read = (key, value) =>
      key === "colorscale" ? value.map(([at, color]) => [at, resolved(color)]) : key.endsWith("color") ? resolved(value) : value;
    return JSON.parse(source, read);
  }

  function draw() {
    for (const [name, figure] of Object.entries(figures())) {
      // A finger that drags over a figure means to scroll the page.
      const layout = { ...figure.layout, showlegend: false, dragmode: touch ? false : "zoom" };
      const data = figure.data.map((trace) => ({ ...trace, visible: !hidden[name]?.has(trace.name) }));
      Plotly.react(`figure-${name}`, data, layout, config);
    }
  }

  function save(name, kind, content, format) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type: kind }));
    link.download = `${name}.${format}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function text(markup) {
    return new DOMParser().parseFromString(String(markup ?? ""), "text/html").body.textContent;
  }

  // One row per point: the name of the series, x and y by the titles of their axes.
  function csv({ data, layout }) {
    const quoted = (value) => (/[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
    const row = (cells) => cells.map((cell) => quoted(String(cell ?? ""))).join(",");
    const columns = layout.meta ?? {};
    const head = [
      "series", text(columns.x ?? layout.xaxis.title?.text ?? "x"), text(columns.y ?? layout.yaxis.title?.text ?? "y"),
      ...(columns.z ? [columns.z] : []), ...(columns.customdata ? [columns.customdata] : []),
    ];
    const rows = [row(head)];
    for (const trace of data.filter((trace) => trace.meta !== "not data")) {
      const name = text(trace.name);
      if (trace.type === "heatmap") {
        trace.z.forEach((line, j) => line.forEach((z, i) => z && rows.push(row([name, trace.x[i], trace.y[j], z]))));
      } else if (trace.type === "box") {
        for (const level of ["lowerfence", "q1", "median", "q3", "upperfence"]) {
          trace.x.forEach((x, i) => rows.push(row([`${name} ${level}`, text(x), trace[level][i]])));
        }
      } else {
        const more = (i) => (columns.customdata ? [trace.customdata?.[i]] : []);
        trace.x.forEach((x, i) => rows.push(row([name, text(x), text(trace.y[i]), ...more(i)])));
      }
    }
    return rows.join("\n") + "\n";
  }

  async function svg(figure) {
    const surface = getComputedStyle(document.documentElement).getPropertyValue("--surface").trim();
    const legend = { orientation: "h", x: 0, y: -0.25, yanchor: "top" };
    const layout = { ...figure.layout, legend, paper_bgcolor: surface, width: 960, height: 480 };
    const address = await Plotly.toImage({ data: figure.data, layout }, { format: "svg", width: 960, height: 480 });
    return decodeURIComponent(address.slice(address.indexOf(",") + 1));
  }

  async function clicked({ target }) {
    const button = target.closest("button");
    if (button?.dataset.save) {
      const { save: name, format } = button.dataset;
      const figure = figures()[name];
      if (format === "csv") save(name, "text/csv", csv(figure), format);
      else save(name, "image/svg+xml", await svg(figure), format);
    } else if (button?.dataset.toggle) {
      const { toggle: name } = button.dataset;
      const shown = button.getAttribute("aria-pressed") === "true";
      button.setAttribute("aria-pressed", String(!shown));
      const names = (hidden[name] ??= new Set());
      const mine = figures()[name].data.map((trace) => trace.name).find((one) => text(one) === button.textContent.trim());
      names[shown ? "add" : "delete"](mine);
      draw();
    }
  }

  if (window.Plotly) {
    draw();
    document.addEventListener("click", clicked);
    for (const setting of ["(prefers-color-scheme: dark)", "print"]) {
      matchMedia(setting).addEventListener("change", draw);
    }
  }
})();
