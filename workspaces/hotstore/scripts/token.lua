-- Give the token that allows to fill a missing entry, unless a writer is at work (WM-20).
-- KEYS: entry, marker, token. ARGV: a new token, its life in milliseconds.
if redis.call('EXISTS', KEYS[1], KEYS[2]) > 0 then
  return false
end
redis.call('SET', KEYS[3], ARGV[1], 'NX', 'PX', ARGV[2])
return redis.call('GET', KEYS[3])
