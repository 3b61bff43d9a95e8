-- Whether callers over the network must show a key. The first key writes the row, and nothing but `ltst keys open`
-- removes it: neither a key that is revoked nor a user who is erased may open a server to everybody.
CREATE TABLE key_requirement (
    one_row BOOLEAN PRIMARY KEY DEFAULT true CHECK (one_row),
    since   TIMESTAMPTZ NOT NULL DEFAULT now()
);
ALTER TABLE key_requirement ENABLE ROW LEVEL SECURITY;
ALTER TABLE key_requirement FORCE ROW LEVEL SECURITY;
CREATE POLICY all_rows ON key_requirement TO ltst_keeper USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON key_requirement TO ltst_keeper;

-- A trigger, so that a key counts however it came: by a verb, by hand or by another version of the program. It locks the
-- row that is there, so that nobody removes it while a key is being made.
CREATE FUNCTION ltst_require_keys() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO key_requirement DEFAULT VALUES ON CONFLICT (one_row) DO UPDATE SET since = key_requirement.since;
    RETURN NULL;
END $$;
CREATE TRIGGER require_keys_trigger AFTER INSERT ON api_keys
    FOR EACH STATEMENT EXECUTE FUNCTION ltst_require_keys();

-- Databases that had keys before this table. The ledger remembers those that are gone: each was told when it was made,
-- and an erasure tells how many it removed. Read as the keeper, since policies hide the rows from the owner.
SET LOCAL ROLE ltst_keeper;
INSERT INTO key_requirement (since)
SELECT now() WHERE EXISTS (SELECT FROM api_keys) OR EXISTS (
    SELECT FROM event_ledger
    WHERE noun = 'key' OR (action = 'erase' AND noun = 'user' AND details #>> '{removed,api_keys}' <> '0'));
RESET ROLE;
