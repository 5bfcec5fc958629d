// The panel heatmap with calculated buckets: how many values there were of which size.
import { FieldType } from '@grafana/data';
import { plainAxis, plot, timeAxis, valueAxis } from './axes.js';

const COLUMNS = 60, ROWS = 16;

export function heatmap(into, panel, all, { theme, from, to }) {
  if (!panel.options.calculate) throw new Error('buckets are not calculated');
  const points = all.flatMap((frame) => {
    const time = frame.fields.find((f) => f.type === FieldType.time);
    return frame.fields.filter((f) => f.type === FieldType.number).flatMap((f) => f.values.map((v, i) => [time.values[i], v]));
  }).filter(([, v]) => v != null);
  if (!points.length) throw new Error('no numbers to draw');
  const step = nice((Math.max(...points.map((p) => p[1])) - Math.min(...points.map((p) => p[1]))) / ROWS);
  const width = (to - from) / COLUMNS, cells = new Map();
  for (const [time, value] of points) {
    const key = `${Math.floor((time - from) / width)} ${Math.floor(value / step)}`;
    cells.set(key, (cells.get(key) ?? 0) + 1);
  }
  const most = Math.max(...cells.values());
  const low = Math.min(...points.map((p) => Math.floor(p[1] / step))) * step;
  const high = (Math.max(...points.map((p) => Math.floor(p[1] / step))) + 1) * step;
  const field = all[0].fields.find((f) => f.type === FieldType.number);
  const fill = (u) => {
    for (const [key, count] of cells) {
      const [column, row] = key.split(' ').map(Number);
      const x = u.valToPos((from + column * width) / 1e3, 'x', true), y = u.valToPos((row + 1) * step, 'y', true);
      u.ctx.fillStyle = shade(count / most);
      u.ctx.fillRect(x, y, u.valToPos((from + (column + 1) * width) / 1e3, 'x', true) - x - 1, u.valToPos(row * step, 'y', true) - y - 1);
    }
  };
  plot(into, {
    scales: { x: { time: true, range: [from / 1e3, to / 1e3] }, y: { range: [low, high] } },
    axes: [{ ...plainAxis(theme), ...timeAxis(to - from) }, valueAxis(field, theme)], hooks: { draw: [fill] },
    series: [{}, { scale: 'y', paths: () => null, points: { show: false } }],
  }, [points.map((p) => p[0] / 1e3), points.map((p) => p[1])], [{ name: '1', color: shade(1 / most) }, { name: String(most), color: shade(1) }]);
}

function nice(step) {
  const power = 10 ** Math.floor(Math.log10(step || 1));
  return [1, 2, 5, 10].find((f) => f * power >= step) * power;
}

// shade of Grafana's scheme Oranges, from few to many.
function shade(share) {
  const [a, b] = [[254, 237, 222], [166, 54, 3]];
  return `rgb(${a.map((v, i) => Math.round(v + (b[i] - v) * share)).join(',')})`;
}
