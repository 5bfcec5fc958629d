// What charts have in common: axes as Grafana labels them, and the legend below.
import { dateTimeFormat, formattedValueToString, getFieldSeriesColor } from '@grafana/data';
import uPlot from 'uplot';

const FONT = '12px Inter, Helvetica, Arial, sans-serif';

// decimals that values a step apart need.
function decimals(step) {
  const text = String(Number(step.toPrecision(6)));
  return text.includes('.') ? text.split('.')[1].length : 0;
}

// valueAxis is labelled with the unit of a field.
export function valueAxis(field, theme, side = 3) {
  return {
    ...plainAxis(theme), side, scale: 'y',
    ...(field.config.decimals === 0 ? { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000] } : {}),
    ...(field.config.unit === 'bytes' ? { incrs: Array.from({ length: 50 }, (_, i) => 2 ** i) } : {}),
    values: (u, splits, axis, space, step) => splits.map((v) => text(field, v, decimals(step) || undefined)),
    size: (u, values) => {
      u.ctx.save();
      u.ctx.font = FONT;
      const width = Math.max(0, ...(values ?? []).map((v) => u.ctx.measureText(v ?? '').width));
      u.ctx.restore();
      return Math.ceil(width) + 18;
    },
  };
}

export function plainAxis(theme) {
  return {
    font: FONT, stroke: theme.colors.text.primary, gap: 5, size: 30,
    grid: { stroke: theme.isDark ? 'rgba(240,250,255,0.09)' : 'rgba(0,10,23,0.09)', width: 1 },
    ticks: { stroke: theme.isDark ? 'rgba(240,250,255,0.09)' : 'rgba(0,10,23,0.09)', width: 1, size: 4 },
  };
}

// timeAxis says the time in the zone UTC, as far as it differs within what is shown.
export function timeAxis(shown) {
  const format = shown > 5 * 86_400_000 ? 'MM/DD' : shown > 86_400_000 ? 'MM/DD HH:mm' : shown > 600_000 ? 'HH:mm' : 'HH:mm:ss';
  return { values: (u, splits) => splits.map((t) => dateTimeFormat(t * 1e3, { format, timeZone: 'utc' })), space: 70 };
}

export const text = (field, value, places) => (value == null ? '' : formattedValueToString(field.display(value, places)));

export const colour = (field, theme) => getFieldSeriesColor(field, theme).color;

export function legend(into, items) {
  const list = document.createElement('div');
  list.className = 'legend';
  for (const { name, color, look } of items) {
    const item = document.createElement('span');
    const mark = document.createElement('i');
    mark.style.background = look === 'dash' ? `repeating-linear-gradient(90deg, ${color} 0 4px, transparent 4px 6px)` : color;
    if (look === 'points') mark.className = 'point';
    item.append(mark, name);
    list.append(item);
  }
  into.append(list);
}

// plot draws into the room that is left above the legend.
export function plot(into, options, data, items) {
  const body = document.createElement('div');
  body.className = 'chart';
  into.append(body);
  if (items.length) legend(into, items);
  new uPlot({
    width: body.clientWidth, height: body.clientHeight, pxAlign: true, legend: { show: false }, cursor: { show: false },
    padding: [8, 28, 4, 0], tzDate: (ts) => uPlot.tzDate(new Date(ts * 1e3), 'Etc/UTC'), ...options,
  }, data, body);
}
