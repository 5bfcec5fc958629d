// Draws window.drawing, a dashboard with the answers to its queries, and says in the log how
// many panels it drew. What cannot be drawn is an error there.
import { createTheme, dateTimeFormat } from '@grafana/data';
import { barchart } from './bars.js';
import { prepare } from './fields.js';
import { frames, rows } from './frames.js';
import { heatmap } from './heat.js';
import { timeseries, trend } from './series.js';
import { table } from './table.js';
import './page.css';
import 'uplot/dist/uPlot.min.css';

const kinds = { barchart, heatmap, table, timeseries, trend };
const CELL = 30, GAP = 8;

async function draw({ dashboard, from, to, variables, panels, marks }, theme) {
  const style = document.documentElement.style;
  for (const [name, value] of Object.entries({
    canvas: theme.colors.background.canvas, panel: theme.colors.background.primary, text: theme.colors.text.primary,
    faint: theme.colors.text.secondary, line: theme.colors.border.weak, control: theme.components.input.background,
    edge: theme.components.input.borderColor, link: theme.colors.text.link,
  })) style.setProperty(`--${name}`, value);
  const time = (t) => dateTimeFormat(t, { timeZone: 'utc' });
  header(dashboard, variables, `${time(from)} to ${time(to)} UTC`, dashboard.annotations?.list ?? [], theme);

  const chosen = new Map(variables.map((v) => [v.name, v.values.join(' + ')]));
  const replace = (text) => text.replace(/\$(\w+)|\$\{(\w+)\}/g, (all, a, b) => chosen.get(a ?? b) ?? all);
  const annotations = (marks ?? []).flatMap((text, i) => rows(text).map((r) => ({
    color: dashboard.annotations.list[i].iconColor, time: r._time, timeEnd: r.timeEnd,
  })));
  const place = document.createElement('main');
  place.style.height = `${Math.max(...dashboard.panels.map((p) => p.gridPos.y + p.gridPos.h)) * (CELL + GAP)}px`;
  document.body.append(place);
  let drawn = 0;
  for (const [i, panel] of dashboard.panels.entries()) {
    const into = frame(place, panel, replace(panel.title));
    try {
      const all = panels[i].flatMap((text, j) => frames(text, panel.targets[j].refId));
      const kind = kinds[panel.type];
      if (!kind) throw new Error(`no such panel: ${panel.type}`);
      kind(into, panel, await prepare(panel, all, theme), { theme, from, to, marks: annotations });
      drawn++;
    } catch (error) {
      into.append(`${error}`);
      console.error(`panel "${panel.title}": ${error.stack}`);
    }
  }
  console.log(`drawn: ${drawn} of ${dashboard.panels.length} panels`);
}

function add(to, kind, className, text) {
  const made = document.createElement(kind);
  made.className = className;
  if (text !== undefined) made.textContent = text;
  to.append(made);
  return made;
}

function header(dashboard, variables, range, annotations, theme) {
  const head = add(document.body, 'header', '');
  const top = add(head, 'div', 'row');
  add(top, 'h1', '', dashboard.title);
  add(top, 'span', 'control', range);
  const choices = add(head, 'div', 'row');
  for (const v of variables) {
    const choice = add(choices, 'label', '');
    add(choice, 'b', '', v.label);
    add(choice, 'span', 'control', v.values.join(' + '));
  }
  for (const a of annotations.filter((a) => a.iconColor)) {
    const choice = add(choices, 'label', 'mark');
    add(choice, 'i', '').style.background = theme.visualization.getColorByName(a.iconColor);
    add(choice, 'span', '', a.name);
  }
}

function frame(place, panel, title) {
  const box = add(place, 'section', '');
  const { x, y, w, h } = panel.gridPos;
  Object.assign(box.style, {
    left: `calc(${x} * (100% + ${GAP}px) / 24)`, width: `calc(${w} * (100% + ${GAP}px) / 24 - ${GAP}px)`,
    top: `${y * (CELL + GAP)}px`, height: `${h * (CELL + GAP) - GAP}px`,
  });
  add(box, 'h2', '', title);
  return add(box, 'div', `content ${panel.type}`);
}

const asked = new URLSearchParams(location.search);
const script = document.createElement('script');
script.src = `${asked.get('dashboard')}.js`;
script.onload = async () => {
  await document.fonts.load('12px Inter');
  await draw(window.drawing, createTheme({ colors: { mode: asked.get('theme') } }));
};
document.head.append(script);
