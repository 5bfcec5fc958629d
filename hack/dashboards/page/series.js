// The panels timeseries and trend.
import {
  FieldType, applyNullInsertThreshold, colorManipulator, fieldMatchers, FieldMatcherID, outerJoinDataFrames,
} from '@grafana/data';
import uPlot from 'uplot';
import { colour, plainAxis, plot, timeAxis, valueAxis } from './axes.js';

// joined are the numbers of all frames over one column.
function joined(all, x) {
  const graphable = all.filter((f) => f.fields.includes(x(f)) && f.fields.some((field) => field.type === FieldType.number && field !== x(f)))
    .map((f) => broken({ ...f, fields: [x(f), ...f.fields.filter((field) => field.type === FieldType.number && field !== x(f))] }));
  if (graphable.length === 0) throw new Error('no numbers to draw');
  if (graphable.length === 1) return graphable[0];
  return outerJoinDataFrames({ frames: graphable, joinBy: fieldMatchers.get(FieldMatcherID.firstTimeField).get({}), keepDisplayNames: true });
}

// broken ends lines where the panel says that the gap is too long.
function broken(frame) {
  const gaps = frame.fields.some((f) => f.config.custom?.insertNulls);
  return gaps ? applyNullInsertThreshold({ frame }) : frame;
}

// timeseries is drawn over the time that is shown.
export function timeseries(into, panel, all, { theme, from, to, marks }) {
  const frame = joined(all, (f) => f.fields.find((field) => field.type === FieldType.time));
  draw(into, panel, frame, {
    theme, scale: { time: true, range: [from / 1e3, to / 1e3] }, factor: 1e-3, axis: timeAxis(to - from),
    hooks: { drawAxes: [(u) => annotate(u, marks, theme)] },
  });
}

export function trend(into, panel, all, { theme }) {
  if (all.length !== 1) throw new Error(`a trend of ${all.length} frames`);
  const frame = joined(all, (f) => f.fields.find((field) => field.name === panel.options.xField));
  const [x] = frame.fields;
  if (x.values.some((v, i) => i > 0 && v < x.values[i - 1])) throw new Error(`${x.name} does not ascend`);
  draw(into, panel, frame, {
    theme, scale: { time: false }, factor: 1, hooks: {},
    axis: { ...valueAxis(x, theme, 2), scale: 'x', size: 28 },
  });
}

function draw(into, panel, frame, { theme, scale, factor, axis, hooks }) {
  const [x, ...fields] = frame.fields;
  const shown = fields.filter((f) => !f.config.custom?.hideFrom?.viz);
  const data = [x.values.map((v) => v * factor), ...stacked(shown)];
  const series = shown.map((field) => {
    const c = field.config.custom ?? {}, color = colour(field, theme), bars = c.drawStyle === 'bars';
    const points = c.drawStyle === 'points' || c.showPoints === 'always';
    return {
      scale: 'y', stroke: color, width: c.drawStyle === 'points' ? 0 : c.lineWidth ?? 1, spanGaps: c.spanNulls === true,
      fill: c.fillOpacity ? color + Math.round(c.fillOpacity * 2.55).toString(16).padStart(2, '0') : undefined,
      dash: c.lineStyle?.fill === 'dash' ? c.lineStyle.dash ?? [10, 10] : undefined,
      paths: bars ? uPlot.paths.bars({ size: [0.6, 200] }) : c.lineInterpolation === 'stepAfter' ? uPlot.paths.stepped({ align: 1 }) : c.drawStyle === 'points' ? () => null : uPlot.paths.linear(),
      points: { show: !bars, size: c.pointSize ?? 5, fill: color, stroke: color, ...(points ? {} : { filter: () => lone(field.values) }) },
    };
  });
  // What is stacked on others is drawn behind them.
  const order = shown.map((_, i) => i);
  if (shown[0].config.custom?.stacking?.mode === 'normal') order.reverse();
  plot(into, {
    scales: { x: scale, y: { range: limits(shown) } }, hooks,
    axes: [{ ...plainAxis(theme), ...axis }, valueAxis(shown[0], theme)],
    series: [{}, ...order.map((i) => series[i])],
  }, [data[0], ...order.map((i) => data[i + 1])],
  panel.options?.legend?.showLegend === false ? [] : shown.map((f) => ({ name: f.state.displayName, color: colour(f, theme), look: look(f.config.custom ?? {}) })));
}

// look of a series in the legend.
const look = (c) => (c.drawStyle === 'points' ? 'points' : c.lineStyle?.fill === 'dash' ? 'dash' : '');

// lone are the places of values without a neighbour, to which no line leads.
function lone(values) {
  const next = (i, step) => {
    do i += step; while (values[i] === undefined && i >= 0 && i < values.length);
    return values[i];
  };
  return values.flatMap((v, i) => (v != null && next(i, -1) == null && next(i, 1) == null ? [i] : []));
}

// limits are those of the field, and otherwise leave room around the values.
function limits(fields) {
  const { min, max } = fields[0].config;
  return (u, low, high) => {
    const range = uPlot.rangeNum(Math.min(low ?? 0, min ?? Infinity), Math.max(high ?? 1, max ?? -Infinity), 0.1, true);
    return [min ?? range[0], max ?? range[1]];
  };
}

function stacked(fields) {
  const sum = [];
  return fields.map((field) => {
    if (field.config.custom?.stacking?.mode !== 'normal') return field.values;
    return field.values.map((v, i) => (v == null ? null : (sum[i] = (sum[i] ?? 0) + v)));
  });
}

// annotate draws a line for each annotation, and shades those that have an end.
function annotate(u, marks, theme) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  const edge = (t) => {
    const at = Math.round(u.valToPos(t / 1e3, 'x', true));
    ctx.beginPath();
    ctx.moveTo(at, bbox.top);
    ctx.lineTo(at, bbox.top + bbox.height);
    ctx.stroke();
    return at;
  };
  ctx.setLineDash([5, 5]);
  for (const { color, time, timeEnd } of marks) {
    ctx.strokeStyle = theme.visualization.getColorByName(color);
    const begin = edge(time);
    if (timeEnd > time) {
      ctx.fillStyle = colorManipulator.alpha(ctx.strokeStyle, 0.1);
      ctx.fillRect(begin, bbox.top, edge(timeEnd) - begin, bbox.height);
    }
  }
  ctx.restore();
}
