// Answers of InfluxDB, in annotated CSV, as the data frames that Grafana makes of them.
import { FieldType, toDataFrame } from '@grafana/data';

// records reads CSV with quoted values.
function records(text) {
  const all = [];
  let record = [], value = '', quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c !== '"') value += c;
      else if (text[i + 1] === '"') value += text[++i];
      else quoted = false;
    } else if (c === '"') quoted = true;
    else if (c === ',') { record.push(value); value = ''; }
    else if (c === '\n') { all.push([...record, value]); record = []; value = ''; }
    else if (c !== '\r') value += c;
  }
  return all;
}

// tables are the tables of an answer, each with its columns and their values.
function tables(text) {
  const all = [];
  let types = [], defaults = [], names = null;
  for (const record of records(text)) {
    if (record[0] === '#datatype') { types = record; names = null; continue; }
    if (record[0] === '#default') { defaults = record; continue; }
    if (record[0].startsWith('#') || record.length < 2) continue;
    if (!names) { names = record; continue; }
    const number = record[names.indexOf('table')];
    let last = all.at(-1);
    if (!last || last.names !== names || last.number !== number) all.push(last = { names, types, number, rows: [] });
    last.rows.push(record.map((value, i) => read(value || defaults[i], types[i])));
  }
  return all;
}

function read(text, type) {
  if (text === '' || text === undefined) return null;
  switch (type) {
    case 'long': case 'unsignedLong': case 'double': return Number(text);
    case 'boolean': return text === 'true';
    case 'dateTime:RFC3339': case 'dateTime:RFC3339Nano': return Date.parse(text);
    default: return text;
  }
}

function fieldType(type) {
  switch (type) {
    case 'long': case 'unsignedLong': case 'double': return FieldType.number;
    case 'boolean': return FieldType.boolean;
    case 'dateTime:RFC3339': case 'dateTime:RFC3339Nano': return FieldType.time;
    default: return FieldType.string;
  }
}

// frames of the answer to one query. A table with _value and a time is a series, whose labels
// are its other columns without an underscore; any other table is shown as it is.
export function frames(text, refId) {
  return tables(text).map(({ names, types, rows }) => {
    const column = (i) => rows.map((r) => r[i]);
    const value = names.indexOf('_value');
    let time = names.indexOf('_time');
    if (time < 0) time = types.findIndex((t) => fieldType(t) === FieldType.time);
    if (value >= 0 && time >= 0) {
      const labels = {};
      names.forEach((name, i) => {
        if (name && name !== 'result' && name !== 'table' && !name.startsWith('_')) labels[name] = rows[0][i];
      });
      const field = names.includes('_field') ? rows[0][names.indexOf('_field')] : '';
      return toDataFrame({ refId, fields: [
        { name: names[time] === '_time' ? 'Time' : names[time], type: FieldType.time, values: column(time) },
        { name: field, type: fieldType(types[value]), values: column(value), labels },
      ] });
    }
    const fields = names.map((name, i) => ({ name, type: fieldType(types[i]), values: column(i) }));
    return toDataFrame({ refId, fields: fields.filter((f) => f.name && f.name !== 'result' && f.name !== 'table') });
  });
}

// rows of an answer as objects.
export function rows(text) {
  return tables(text).flatMap((t) => t.rows.map((r) => Object.fromEntries(t.names.map((name, i) => [name, r[i]]))));
}
