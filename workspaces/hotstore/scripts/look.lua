#!lua flags=allow-oom
-- Take one token from each bucket (PL-5), then give some values.
-- KEYS: the buckets, then the values. ARGV: how many buckets, then for each its interval and its depth in microseconds.
-- Gives how long to wait, and of the bucket that is nearest to empty what is left, when it is full again, and its number.
-- A bucket is the moment at which it is full again (generic cell rate algorithm).
local buckets = tonumber(ARGV[1])
local least, wait, full, nearest = -1, 0, 0, 0
local moments, now = {}, 0
if buckets > 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
for i = 1, buckets do
  local interval, depth = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  local moment = math.max(tonumber(redis.call('GET', KEYS[i]) or 0), now) + interval
  moments[i] = moment
  local left = math.floor((depth - (moment - now)) / interval)
  local missing = math.max(moment - now - depth, 0)
  if missing > wait or (wait == 0 and (nearest == 0 or left < least)) then
    nearest, least, wait = i, left, missing
    full = missing > 0 and moment - interval - now or moment - now
  end
end
if wait > 0 then
  return {math.ceil(wait / 1000), 0, math.ceil(full / 1000), nearest}
end
for i = 1, buckets do
  redis.call('SET', KEYS[i], string.format('%.0f', moments[i]), 'PX', math.ceil((moments[i] - now) / 1000))
end
local values = {}
if #KEYS > buckets then
  values = redis.call('MGET', unpack(KEYS, buckets + 1))
end
return {0, least, math.ceil(full / 1000), nearest, values}
