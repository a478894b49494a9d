-- Put a writer's marker on an entry and make every fill token void (WM-20).
-- KEYS: entry, marker, token, and more to look at. ARGV: writer, its life in milliseconds.
-- Gives how many other writers are at work, the entry, and the rest.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local stored = redis.call('GET', KEYS[2])
local marker = stored and cmsgpack.unpack(stored) or {writers = {}, newest = ''}
local others = 0
for _, deadline in pairs(marker.writers) do
  if deadline > now then
    others = others + 1
  end
end
marker.writers[ARGV[1]] = now + tonumber(ARGV[2])
redis.call('SET', KEYS[2], cmsgpack.pack(marker))
redis.call('DEL', KEYS[3])
local rest = {}
if #KEYS > 3 then
  rest = redis.call('MGET', unpack(KEYS, 4))
end
return {others, redis.call('GET', KEYS[1]), rest}
