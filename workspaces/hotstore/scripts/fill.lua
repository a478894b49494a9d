-- Fill a missing entry with what was read after the token was taken (WM-20).
-- KEYS: entry, marker, token. ARGV: token, entry, life in milliseconds.
if redis.call('GET', KEYS[3]) ~= ARGV[1] or redis.call('EXISTS', KEYS[1], KEYS[2]) > 0 then
  return 0
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
redis.call('DEL', KEYS[3])
return 1
