#!lua flags=allow-oom
-- Lift one marker that is past its deadline, with the entry that was read under the row's lock (WM-20).
-- KEYS: entry, marker. ARGV: writer, change, entry, life in milliseconds.
-- What was read replaces an entry of the same number: some things have no numbers, and theirs may be of before the change.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local stored = redis.call('GET', KEYS[2])
local marker = stored and cmsgpack.unpack(stored)
local deadline = marker and marker.writers[ARGV[1]]
if not deadline or deadline > now then
  return 0
end
marker.writers[ARGV[1]] = nil
if redis.call('GETRANGE', KEYS[1], 0, 15) <= ARGV[2] and marker.newest <= ARGV[2] then
  redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
  marker.newest = ARGV[2]
elseif redis.call('GETRANGE', KEYS[1], 0, 15) < marker.newest then
  redis.call('DEL', KEYS[1])
end
if next(marker.writers) == nil then
  redis.call('DEL', KEYS[2])
else
  redis.call('SET', KEYS[2], cmsgpack.pack(marker))
end
return 1
