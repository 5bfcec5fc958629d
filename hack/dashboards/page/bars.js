// The panel barchart: a group of bars for each value of a column.
import { FieldType } from '@grafana/data';
import uPlot from 'uplot';
import { colour, plainAxis, plot, text, valueAxis } from './axes.js';

export function barchart(into, panel, all, { theme }) {
  if (all.length !== 1) throw new Error(`a bar chart of ${all.length} frames`);
  const x = all[0].fields.find((f) => f.name === panel.options.xField);
  if (!x || x.type !== FieldType.string) throw new Error(`the bars have no text in ${panel.options.xField}`);
  const fields = all[0].fields.filter((f) => f !== x && f.type === FieldType.number);
  if (!fields.length) throw new Error('no bars to draw');
  const places = x.values.map((_, i) => i);
  const disp = (group) => ({
    x0: { unit: 2, values: () => places.map((i) => (i + 0.1 + 0.8 * group / fields.length + 0.1 / fields.length) / places.length) },
    size: { unit: 2, values: () => places.map(() => 0.8 * 0.8 / fields.length / places.length) },
  });
  plot(into, {
    scales: { x: { time: false, range: [-0.5, places.length - 0.5] }, y: { range: (u, low, high) => uPlot.rangeNum(Math.min(0, low ?? 0), Math.max(0, high ?? 1) || 1, 0.1, true) } },
    axes: [
      { ...plainAxis(theme), splits: () => places, values: () => x.values, grid: { show: false } },
      valueAxis(fields[0], theme),
    ],
    series: [{}, ...fields.map((f, group) => ({
      scale: 'y', stroke: colour(f, theme), fill: colour(f, theme) + 'cc', width: 1, points: { show: false },
      paths: uPlot.paths.bars({ disp: { ...disp(group), ...colored(all[0], panel, theme) }, each: (u, series, i, left, top, width) => label(u, text(f, f.values[i]), left + width / 2, top, theme) }),
    }))],
  }, [places, ...fields.map((f) => f.values)], panel.options?.legend?.showLegend === false ? [] : fields.map((f) => ({ name: f.state.displayName, color: colour(f, theme) })));
}

// colored are the colors of bars where a field has them.
function colored(frame, panel, theme) {
  const by = frame.fields.find((f) => f.name === panel.options.colorByField);
  if (!by) return {};
  const colors = () => by.values.map((v) => theme.visualization.getColorByName(by.display(v).color));
  return { fill: { unit: 3, values: () => colors().map((c) => c + 'cc') }, stroke: { unit: 3, values: colors } };
}

function label(u, value, x, y, theme) {
  const { ctx } = u;
  ctx.save();
  ctx.font = '12px Inter, Helvetica, Arial, sans-serif';
  ctx.fillStyle = theme.colors.text.primary;
  ctx.textAlign = 'center';
  ctx.textBaseline = 'bottom';
  ctx.fillText(value, x, y - 2);
  ctx.restore();
}
