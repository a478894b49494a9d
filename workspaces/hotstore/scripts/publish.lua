#!lua flags=allow-oom
-- Put a newer entry and lift the writer's own marker (WM-20).
-- KEYS: entry, marker, token. ARGV: writer, change, entry ('' removes it), life in milliseconds.
-- Without its marker (a flush, or a repair after its deadline) a writer cannot know what came after it: it puts
-- nothing, takes away what is older than its own change and what could fill in something older, and leaves word for
-- the writers who are at work.
local change = ARGV[2]
local stored = redis.call('GET', KEYS[2])
local marker = stored and cmsgpack.unpack(stored)
local held = redis.call('GETRANGE', KEYS[1], 0, 15)
if not (marker and marker.writers[ARGV[1]]) then
  redis.call('DEL', KEYS[3])
  if held ~= '' and held < change then
    redis.call('DEL', KEYS[1])
  end
  if marker and marker.newest < change then
    marker.newest = change
    redis.call('SET', KEYS[2], cmsgpack.pack(marker))
  end
  return 0
end
marker.writers[ARGV[1]] = nil
if held < change and marker.newest <= change then
  if ARGV[3] == '' then
    redis.call('DEL', KEYS[1])
  else
    redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
  end
  marker.newest = change
elseif held < marker.newest then
  redis.call('DEL', KEYS[1])
end
if next(marker.writers) == nil then
  redis.call('DEL', KEYS[2])
else
  redis.call('SET', KEYS[2], cmsgpack.pack(marker))
end
return 1
