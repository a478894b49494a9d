#!lua flags=allow-oom
-- Lift the marker of a writer that changed nothing.
-- KEYS: marker. ARGV: writer.
local stored = redis.call('GET', KEYS[1])
if not stored then
  return 0
end
local marker = cmsgpack.unpack(stored)
marker.writers[ARGV[1]] = nil
if next(marker.writers) == nil then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], cmsgpack.pack(marker))
end
return 1
