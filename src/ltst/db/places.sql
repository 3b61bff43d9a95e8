-- The statements of places.py and distribute.py.

-- name: distributed
SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass('conversation_sessions'))

-- name: coordinator
SELECT groupid = 0 FROM pg_dist_local_group

-- Each place with the users' hashes that it holds, and the node that it is on.
-- name: places
SELECT shardid, shardminvalue::bigint, groupid, nodename, nodeport
FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node USING (groupid)
WHERE logicalrelid = to_regclass('conversation_sessions') AND noderole = 'primary'
ORDER BY shardminvalue::bigint
