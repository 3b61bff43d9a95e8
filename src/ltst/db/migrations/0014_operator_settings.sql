-- What an operator sets for the whole database. They stand among the preferences of `system`, as numbers, and are
-- nobody's wish: no prompt, profile or list of defaults shows them.
ALTER TABLE user_preferences ADD CONSTRAINT operator_settings_are_numbers CHECK (
    user_id <> 'system'
    OR CASE preference_key
        WHEN 'memory_retention_days' THEN preference_value ~ '^[1-9][0-9]{0,4}$'
        WHEN 'max_context_length' THEN preference_value ~ '^[1-9][0-9]{0,8}$'
        WHEN 'relevance_threshold' THEN preference_value ~ '^(0(\.[0-9]{1,6})?|1(\.0{1,6})?)$'
        WHEN 'cache_ttl_hours' THEN preference_value ~ '^[0-9]{1,5}(\.[0-9]{1,6})?$'
        ELSE true END);
INSERT INTO user_preferences (user_id, preference_key, preference_value, preference_type) VALUES
    ('system', 'memory_retention_days', '30', 'general'),
    ('system', 'max_context_length', '10000', 'general'),
    ('system', 'relevance_threshold', '0.7', 'general'),
    ('system', 'cache_ttl_hours', '1', 'general');

-- How long a retrieval is kept, also one that is written by hand.
CREATE FUNCTION ltst_cache_ttl() RETURNS INTERVAL LANGUAGE sql STABLE AS $$
    SELECT make_interval(secs => 3600 * coalesce(
        (SELECT preference_value::float FROM user_preferences
         WHERE user_id = 'system' AND preference_key = 'cache_ttl_hours'), 1));
$$;
ALTER TABLE memory_retrieval_cache ALTER COLUMN expires_at SET DEFAULT now() + ltst_cache_ttl();
