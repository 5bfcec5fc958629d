// The panel table: columns are equally wide unless they say otherwise, and long texts end in dots.
import { FieldType } from '@grafana/data';
import { text } from './axes.js';

const NARROWEST = 100;

// cell is a value with its color, where the column colors values, and whether it has links.
function cell(field, value) {
  const colored = field.config.custom?.cellOptions?.type === 'color-text' && value != null;
  return { content: text(field, value), color: colored ? field.display(value).color : '', linked: field.config.links?.length > 0 && value != null };
}

export function table(into, panel, all) {
  if (all.length !== 1) throw new Error(`a table of ${all.length} frames: Grafana shows one of them`);
  const fields = all[0].fields.filter((f) => !f.config.custom?.hidden);
  if (!fields.length || !fields[0].values.length) throw new Error('no rows to show');
  const taken = fields.reduce((sum, f) => sum + (f.config.custom?.width ?? 0), 0);
  const rest = fields.filter((f) => !f.config.custom?.width).length;
  const share = Math.max(NARROWEST, (into.clientWidth - taken) / (rest || 1));
  const grid = document.createElement('table');
  const row = (kind, cells) => {
    const tr = document.createElement('tr');
    cells.forEach(({ content, color, linked }, i) => {
      const cell = document.createElement(kind);
      cell.textContent = content;
      if (color) cell.style.color = color;
      if (linked) cell.classList.add('link');
      cell.style.width = `${fields[i].config.custom?.width ?? share}px`;
      if (fields[i].type === FieldType.number) cell.classList.add('number');
      tr.append(cell);
    });
    grid.append(tr);
  };
  grid.style.width = `${fields.reduce((sum, f) => sum + (f.config.custom?.width ?? share), 0)}px`;
  row('th', fields.map((f) => ({ content: f.state.displayName })));
  for (let i = 0; i < Math.min(all[0].length, 40); i++) row('td', fields.map((f) => cell(f, f.values[i])));
  into.append(grid);
}
