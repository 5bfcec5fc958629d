-- Health of every kind of nodrop.dev for Argo CD. A Benchmark is Healthy when it passed and
-- Degraded when it ended otherwise; the other kinds are Healthy when they are ready.
local health = {status = "Progressing", message = "waiting for the operator"}
local status = obj.status
if obj.metadata.deletionTimestamp ~= nil then
  health.message = "is being deleted"
  return health
end
if obj.kind == "TrafficProfile" then -- It has no status: it is read when a benchmark needs it.
  return {status = "Healthy", message = ""}
end
if obj.spec ~= nil and obj.spec.suspend == true then
  return {status = "Suspended", message = "spec.suspend is set"}
end
if status == nil or status.observedGeneration == nil or status.observedGeneration ~= obj.metadata.generation then
  return health
end
local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end
local stalled, reconciling = conditions["Stalled"], conditions["Reconciling"]
if stalled ~= nil and stalled.status == "True" then
  return {status = "Degraded", message = stalled.reason .. ": " .. stalled.message}
end
if reconciling ~= nil and reconciling.status == "True" then
  health.message = reconciling.reason .. ": " .. reconciling.message
  return health
end
local names = {Benchmark = "Succeeded", TestBed = "Ready", BenchmarkSchedule = "Ready", NotificationSink = "Ready", Reservation = "Accepted"}
local settled = conditions[names[obj.kind] or "Ready"]
if settled == nil then
  return health
end
health.message = settled.message
if settled.status == "True" then
  health.status = "Healthy"
elseif settled.status == "False" then
  health.status = "Degraded"
end
return health
