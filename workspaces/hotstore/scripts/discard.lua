#!lua flags=allow-oom
-- Take away an entry that counts for nothing, unless it is another by now. A missing entry is never wrong (WM-20).
-- KEYS: entry. ARGV: the entry.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
