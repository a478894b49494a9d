#!lua flags=allow-oom
-- Settle what a reader was told by the database, before it tells anybody (WM-20): fill a missing entry when the token
-- still holds; else see to it that nothing older is served from now on. After a flush the marker of a writer at work
-- is gone, and another reader may have filled in what that writer has replaced.
-- KEYS: entry, marker, token. ARGV: token ('' without one), change, entry, life in milliseconds.
local change = ARGV[2]
local stored = redis.call('GET', KEYS[2])
if stored then
  local marker = cmsgpack.unpack(stored)
  if marker.newest < change then
    marker.newest = change
    redis.call('SET', KEYS[2], cmsgpack.pack(marker))
  end
  return 0
end
local held = redis.call('GETRANGE', KEYS[1], 0, 15)
if held ~= '' and held >= change then
  return 0
end
local is_given = held == '' and ARGV[1] ~= '' and redis.call('GET', KEYS[3]) == ARGV[1]
redis.call('DEL', KEYS[1], KEYS[3])
if is_given then
  redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
  return 1
end
return 0
