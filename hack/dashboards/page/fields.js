// What Grafana does to frames before a panel draws them: transformations, units, overrides.
import {
  Registry, applyFieldOverrides, displayNameOverrideProcessor, identityOverrideProcessor, standardTransformers,
  standardTransformersRegistry, transformDataFrame, getFieldDisplayName,
} from '@grafana/data';

// Some of them have two names.
const transformers = new Map(Object.values(standardTransformers).map((t) => [t.id, t]));
standardTransformersRegistry.setInit(() => [...transformers.values()].map((t) => ({
  id: t.id, name: t.name, transformation: () => Promise.resolve(t),
})));

const option = (path, isCustom, process = identityOverrideProcessor) => ({
  id: isCustom ? `custom.${path}` : path, path, name: path, isCustom, process, shouldApply: () => true, settings: { expandTemplateVars: true },
});
const registry = new Registry(() => [
  option('displayName', false, displayNameOverrideProcessor),
  ...['unit', 'decimals', 'min', 'max', 'color', 'mappings', 'thresholds', 'noValue', 'links'].map((p) => option(p, false)),
  ...['width', 'hidden', 'cellOptions', 'align', 'drawStyle', 'fillOpacity', 'lineWidth', 'lineStyle', 'showPoints', 'pointSize', 'stacking',
    'spanNulls', 'insertNulls', 'lineInterpolation', 'axisLabel', 'axisPlacement', 'axisSoftMin', 'axisSoftMax', 'hideFrom'].map((p) => option(p, true)),
]);

// label resolves what a display name takes from the labels of its series.
const label = (text, scoped) => text.replace(/\$\{__field\.labels\.(\w+)\}/g, (all, name) => scoped.__dataContext.value.field.labels?.[name] ?? '');

// prepare arranges the frames of a panel, and gives each field its name, unit and colour.
export async function prepare(panel, frames, theme) {
  const transformed = await new Promise((next, error) => {
    transformDataFrame(panel.transformations ?? [], frames).subscribe({ next, error });
  });
  const fieldConfig = structuredClone(panel.fieldConfig);
  // Grafana restores minus infinity, which JSON cannot carry, when it loads a dashboard.
  for (const { properties } of fieldConfig.overrides ?? []) {
    for (const p of properties) if (p.id === 'thresholds') p.value.steps[0].value ??= -Infinity;
  }
  fieldConfig.defaults.color ??= { mode: 'palette-classic' };
  const all = applyFieldOverrides({
    data: transformed, fieldConfig, fieldConfigRegistry: registry, replaceVariables: label, theme, timeZone: 'utc',
  });
  for (const frame of all) for (const field of frame.fields) getFieldDisplayName(field, frame, all);
  return all;
}
